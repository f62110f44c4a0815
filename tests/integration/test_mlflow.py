"""A real MLflow tracking server, installed once into a virtual environment in the cache of the user."""

import json
import os
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from support.command import Command
from support.processes import until

VERSION = "3.17.2"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anubis-tests"
PATIENCE_S = 120
#: The installation takes minutes.
pytestmark = pytest.mark.timeout(900)
FILL = """
import json, mlflow, sys
mlflow.set_tracking_uri(sys.argv[1])
ids = []
for number in range(1, 6):
    mlflow.set_experiment(f"train-{number % 2}")
    with mlflow.start_run(tags={"mlflow.source.git.commit": f"{number:040x}"}) as run:
        mlflow.log_param("lr", 0.1)
        for step in range(3):
            mlflow.log_metric("loss", number / (step + 1), step=step)
        mlflow.log_metric("accuracy", float("nan") if number == 3 else number / 8)
    ids.append(run.info.run_id)
failed = mlflow.start_run()
mlflow.log_metric("loss", 1.0)
mlflow.end_run("FAILED")
print(json.dumps(ids))
"""


@pytest.fixture(scope="module")
def mlflow():
    """The program ``mlflow``."""
    folder = CACHE / f"mlflow-{VERSION}-{sys.version_info[0]}.{sys.version_info[1]}"
    installed = folder / "installed"
    if not installed.exists():
        shutil.rmtree(folder, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [folder / "bin" / "pip", "install", "--quiet", f"mlflow=={VERSION}"]
        done = subprocess.run(pip, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"needs mlflow {VERSION} from PyPI: {done.stderr.strip().splitlines()[-1]}")
        installed.touch()
    return folder / "bin" / "mlflow"


@pytest.fixture
def server(mlflow, tmp_path):
    """The address of a running server, and its database."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    database = tmp_path / "mlflow.db"
    words = ["server", "--backend-store-uri", f"sqlite:///{database}", "--host", "127.0.0.1", "--port", port]
    with (tmp_path / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [mlflow, *map(str, words), "--workers", "1"],
            cwd=tmp_path,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        address = f"http://127.0.0.1:{port}"
        try:
            until(lambda: _answers(address, process), "the server answers", patience_s=PATIENCE_S)
            yield address, database
        finally:
            os.killpg(process.pid, 15)
            process.wait()


def _answers(address, process):
    assert process.poll() is None, "the server ended: see server.log"
    try:
        urllib.request.urlopen(f"{address}/health", timeout=5).close()
    except (OSError, urllib.error.URLError):
        return False
    return True


def test_a_real_server_gives_what_its_database_gives(mlflow, server, tmp_path):
    address, database = server
    fill = [mlflow.with_name("python"), "-c", FILL, address]
    done = subprocess.run(fill, capture_output=True, text=True, check=True, cwd=tmp_path)
    ids = json.loads(done.stdout.splitlines()[-1])
    (tmp_path / "work").mkdir()
    anubis = Command(tmp_path / "home", tmp_path / "work")
    answer = anubis.json("import", "mlflow", address)
    assert (answer["runs"], answer["values"], answer["missing"]) == (len(ids), 2 * len(ids) - 1, 1)
    assert answer["benchmarks"] == ["train-0", "train-1"]
    assert len(answer["problems"]) == 1, "one run failed"
    rows = {row["subject"]: row for row in anubis.json("history")}
    assert rows[f"{4:040x}"]["metrics"]["loss"]["value"] == pytest.approx(4 / 3)
    assert rows[f"{4:040x}"]["labels"]["lr"] == "0.1"
    again = anubis.json("import", database)
    assert (again["runs"], again["stored_values"]) == (len(ids), 0), "the same runs, stored once"
