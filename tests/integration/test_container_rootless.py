"""Engine ``container`` on a Podman that a user without privileges runs: the same record, files of that user, nothing left."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from support.podman import CONFIGURATION, IMAGE, STORAGE, needed, root_of_busybox
from support.tree import ROOT

#: A user of every system, who has no subordinate user ids: the container has one user.
USER = 65534
RUN = """
import json, sys
from pathlib import Path
from anubis.engines.container import ContainerEngine, ContainerSettings
from anubis.model.run import Seen
from anubis.testing import a_run
from anubis.testing.contracts.engine import start
from support.engines import facts_of, folders, record_of, seen, stdout_of

engine = ContainerEngine(ContainerSettings(**folders(Path(sys.argv[1])), min_free_bytes=0, network="none"))
placement = start(engine, a_run(engine="container"), ("sh", "-c", "id -u; touch /anubis/agent/x"), image=sys.argv[2])
observation = seen(engine, placement, Seen.ENDED)
engine._tool.wait()
print(json.dumps({
    "stdout": stdout_of(placement),
    "code": observation.exit_code,
    "user": engine._tool.user,
    "owners": sorted({path.stat().st_uid for path in record_of(placement).iterdir()}),
    "container": facts_of(placement)["container"],
}))
"""


@pytest.fixture
def as_user():
    """``as_user(*words)``: the output of a command of that user, in a separate folder and storage."""
    if os.geteuid():
        pytest.skip("needs the right to become another user")
    folder = Path(tempfile.mkdtemp(prefix="rl-", dir="/tmp"))
    os.chown(folder, USER, USER)
    (folder / "containers.conf").write_text(CONFIGURATION)
    (folder / "storage.conf").write_text(STORAGE.format(driver="vfs", folder=folder))
    (folder / "busybox.tar").write_bytes(root_of_busybox())
    libraries = [ROOT / "src", ROOT / "tests", *(path for path in sys.path if path.endswith("-packages"))]
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "XDG_RUNTIME_DIR": str(folder),
        "TMPDIR": str(folder),
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        "PYTHONPATH": ":".join(map(str, libraries)),
        "PYTHONDONTWRITEBYTECODE": "1",
    }

    def call(*words, code=0):
        done = subprocess.run(
            list(map(str, words)),
            cwd=folder,
            env=environment,
            user=USER,
            group=USER,
            extra_groups=[],
            capture_output=True,
            text=True,
            check=False,
        )
        assert code is None or done.returncode == code, done.stderr
        return done if code is None else done.stdout

    call.folder = folder
    yield call
    call("podman", "unshare", "rm", "-rf", folder / "storage", folder / "run", code=None)
    call("podman", "system", "migrate", code=None)  # ends the process that keeps the user namespace
    shutil.rmtree(folder)


@pytest.fixture
def python(as_user):
    """A Python of this version that the user may execute: that of the tests may be in a private folder."""
    minor = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for program in filter(None, (sys.executable, f"/usr/bin/{minor}", f"/usr/local/bin/{minor}")):
        try:
            if as_user(program, "-c", "import anubis, pytest, support", code=None).returncode == 0:
                return program
        except OSError:
            continue
    pytest.skip("needs a Python and a source tree that other users can read")


def test_a_run_in_a_container_of_a_user_without_privileges(as_user, python):
    podman = needed("podman", "podman runc")
    as_user(podman, "import", "--change", "ENV PATH=/bin", as_user.folder / "busybox.tar", IMAGE)
    found = json.loads(as_user(python, "-c", RUN, as_user.folder / "home", IMAGE))
    assert found == {
        "stdout": "0\n",
        "code": 1,  # the folder of the agent is read-only
        "user": "0:0",
        "owners": [USER],
        "container": "podman",
    }
    assert as_user(podman, "ps", "--all", "--quiet") == ""
