"""A service without work has not loaded the libraries that only judging and searching need."""

import subprocess
import sys

IDLE = """
import sys
from contextlib import closing

import anubis.web.app
from anubis.client.embedded.driving import reconciler
from anubis.settings import Settings
from anubis.wiring import build

with closing(build(Settings.from_env({"ANUBIS_HOME": sys.argv[1]}))) as installation:
    driver = reconciler(installation, keeps_schedules=True)
    try:
        for _ in range(20):
            driver.turn()
    finally:
        driver.close()
print(*sorted({"numpy", "scipy", "pyarrow", "botocore", "mcp"} & set(sys.modules)))
"""


def test_an_idle_service_has_no_numerical_libraries_in_memory(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-c", IDLE, str(tmp_path / "home")],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert ended.stdout.split() == []
