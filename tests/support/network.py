"""A network namespace without any network: one forwarded port leads to a service of this machine, and can be cut.

The forwarder is two processes with a Unix socket between them, so no address outside of loopback is used.
"""

import os
import shutil
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from support.processes import until


class Namespace:
    """The namespace, and the way into it."""

    def __init__(self, folder):
        self.name = f"anubis-test-{os.getpid()}"
        self._socket = Path(folder) / "way"
        self._processes = []

    @property
    def words(self):
        """Before a command that runs in the namespace."""
        return ("ip", "netns", "exec", self.name)

    def make(self):
        done = subprocess.run(["ip", "netns", "add", self.name], check=False, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"needs the right to make a network namespace: {done.stderr.strip()}")
        self.heal()

    def forward(self, url):
        """Forward the port of a service."""
        port = urlsplit(url).port
        self._start("socat", f"UNIX-LISTEN:{self._socket},fork", f"TCP:127.0.0.1:{port}")
        until(self._socket.exists, "the forwarder listens")
        self._start(
            *self.words,
            "socat",
            f"TCP-LISTEN:{port},bind=127.0.0.1,fork,reuseaddr",
            f"UNIX-CONNECT:{self._socket}",
        )
        probe = [*self.words, "socat", "-u", "OPEN:/dev/null", f"TCP:127.0.0.1:{port}"]
        until(lambda: subprocess.run(probe, check=False, capture_output=True).returncode == 0, "it forwards")

    def cut(self):
        """Drop all packets; connections are not closed."""
        self._link("down")

    def heal(self):
        self._link("up")

    def remove(self):
        for process in self._processes:
            process.terminate()
        for process in self._processes:
            process.wait(60)
        subprocess.run(["ip", "netns", "delete", self.name], check=False, capture_output=True)

    def _link(self, state):
        subprocess.run([*self.words, "ip", "link", "set", "lo", state], check=True, capture_output=True)

    def _start(self, *words):
        self._processes.append(subprocess.Popen(words, stdin=subprocess.DEVNULL))


@pytest.fixture
def namespace(tmp_path):
    """A new network namespace."""
    for program in ("ip", "socat"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    made = Namespace(tmp_path)
    made.make()
    yield made
    made.remove()
