"""A real service on a loopback port, in a separate process."""

import os
import signal
import subprocess
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from anubis.client import Client
from anubis.settings import Settings
from support.command import BIN
from support.processes import until

pytest.importorskip("uvicorn")

#: Longer than a service needs to end.
PATIENCE_S = 60


class Service:
    """``anubis serve`` in a home folder. After a kill it can be started again at the same address."""

    def __init__(self, home, *words, name="service", sandbox="off", **environ):
        """``sandbox``: ANUBIS_SANDBOX; most tests run commands in folders of the machine. ``environ``: further variables."""
        self._sandbox = sandbox
        self.home = Path(home)
        self.log = self.home.parent / f"{self.home.name}-{name}.log"
        self.url = ""
        self._words = words
        self._environ = {"ANUBIS_LEASE_S": "5", **environ}
        self._process = None

    def start(self):
        """Start it and wait until it is ready."""
        listen = self.url.removeprefix("http://") or "127.0.0.1:0"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [BIN / "anubis", "serve", "--listen", listen, "--log-format", "json", *self._words],
                env={
                    **os.environ,
                    "ANUBIS_HOME": str(self.home),
                    "ANUBIS_SANDBOX": self._sandbox,
                    **self._environ,
                },
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        self.url = self._process.stdout.readline().strip()
        assert self.url, self.log.read_text()
        until(self.is_ready, "the service is ready")
        return self

    def is_ready(self):
        try:
            return self.get("/readyz") == 200
        except OSError:
            return False

    def get(self, path):
        """The status of the answer to a GET."""
        try:
            with urllib.request.urlopen(f"{self.url}{path}", timeout=PATIENCE_S) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    @property
    def pid(self):
        return self._process.pid

    def kill(self):
        """kill -9"""
        self._end(signal.SIGKILL)

    def stop(self):
        """Ask it to end; its exit status."""
        return self._end(signal.SIGTERM)

    def _end(self, number):
        if self._process is None:
            return None
        self._process.send_signal(number)
        status = self._process.wait(PATIENCE_S)
        self._process.stdout.close()
        self._process = None
        return status

    def client(self, **environ):
        """A client of the service, for a person named me."""
        home = self.home.parent / "client"
        return Client.remote(
            self.url, Settings.from_env({"ANUBIS_HOME": str(home), "ANUBIS_CLIENT_ID": "me", **environ})
        )
