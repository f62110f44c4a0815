"""A private Docker daemon for a test session, which can be killed and started again. Fixture ``docker``.

It has no bridge and changes no firewall rules, so containers have the network ``none`` or ``host``.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import pytest

from support.podman import IMAGE, needed, root_of_busybox
from support.processes import until

QUIET = ("--bridge=none", "--iptables=false", "--ip6tables=false", "--ip-forward=false", "--ip-masq=false")


class Docker:
    def __init__(self, folder):
        self.folder = folder
        self.address = f"unix://{folder}/socket"

    def __call__(self, *words, code=0, **options):
        """What a command printed; it must end with ``code``."""
        ended = subprocess.run(["docker", *words], check=False, capture_output=True, **options)
        assert ended.returncode == code, ended.stderr.decode()
        return ended.stdout.decode()

    def start(self):
        folders = [f"--data-root={self.folder}/data", f"--exec-root={self.folder}/exec"]
        words = ["dockerd", *folders, f"--pidfile={self.folder}/pid", f"--host={self.address}", *QUIET]
        with (self.folder / "log").open("ab") as log:
            self._daemon = subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)
        until(self._responds, f"dockerd responds: see {self.folder}/log")

    def kill(self):
        """End the daemon and its containerd at once, without the containers."""
        self._daemon.kill()
        self._daemon.wait()
        pid = self.folder / "exec" / "containerd" / "containerd.pid"
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):
            os.kill(int(pid.read_text()), signal.SIGKILL)
        pid.unlink(missing_ok=True)  # the next daemon would wait for this process

    def stop(self):
        self._daemon.terminate()
        self._daemon.wait()

    def _responds(self):
        assert self._daemon.poll() is None, (self.folder / "log").read_text()
        return subprocess.run(["docker", "version"], check=False, capture_output=True).returncode == 0


@pytest.fixture(scope="session")
def docker():
    needed("dockerd", "docker.io")
    if os.geteuid():
        pytest.skip("needs the right to run dockerd")
    # Not below pytest's own folder: the path of a socket may have 107 bytes only.
    made = Docker(Path(tempfile.mkdtemp(prefix="dk-", dir="/tmp")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", made.address)
        made.start()
        try:
            made("import", "--change", "ENV PATH=/bin", "-", IMAGE, input=root_of_busybox())
            yield made
        finally:
            made.stop()
    subprocess.run(["umount", "--lazy", made.folder / "data"], check=False, stderr=subprocess.DEVNULL)
    shutil.rmtree(made.folder)
