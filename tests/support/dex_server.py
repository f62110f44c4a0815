"""Dex, an OpenID provider, built once from the Go module proxy into the cache of the user."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

from support.processes import until

VERSION = "v0.0.0-20260806151424-ab64ed778070"
#: What Dex needs. A Go of Debian that is older and cannot fetch it by itself fetches it as a module.
GO = "1.25.8"
SOURCE = Path(__file__).parent / "dex"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "anubis-ci"
CLIENT, SECRET = "anubis", "a secret of the provider"
ACCOUNTS = [
    {
        "email": "bob@example.org",
        "plain": "bob's password",
        "userID": "0001",
        "username": "bob",
        "preferredUsername": "bob",
        "groups": ["ml-team", "everyone"],
    },
    {
        "email": "eve@example.org",
        "plain": "eve's password",
        "userID": "0002",
        "username": "eve",
        "preferredUsername": "eve",
        "groups": ["guests"],
    },
]


def program():
    """The program, built when it is not in the cache."""
    built = CACHE / f"dex-{VERSION}"
    if not built.exists():
        go = shutil.which("go")
        if go is None:
            pytest.skip("go is not installed")
        CACHE.mkdir(parents=True, exist_ok=True)
        part = built.with_name(f".{built.name}.{os.getpid()}")
        environ = {**os.environ, "CGO_ENABLED": "0", "GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "auto"}
        command = [_recent(go), "build", "-trimpath", "-o", part, "."]
        subprocess.run(command, cwd=SOURCE, env=environ, check=True, timeout=1200)
        part.replace(built)
    return built


def _recent(go):
    """A Go that can build Dex: this one, or the one that it fetches as a module."""
    known = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, known.strip().removeprefix("go").split(".")[:2])) >= (1, 21):
        return go
    system = subprocess.run([go, "env", "GOOS", "GOARCH"], capture_output=True, text=True, check=True)
    name = "golang.org/toolchain@v0.0.1-go{}.{}-{}".format(GO, *system.stdout.split())
    found = subprocess.run([go, "mod", "download", "-json", name], capture_output=True, text=True, check=True)
    folder = Path(json.loads(found.stdout)["Dir"])
    for path in [*folder.glob("bin/*"), *folder.glob("pkg/tool/*/*")]:
        path.chmod(0o755)
    return folder / "bin" / "go"


class Dex:
    """A running provider on a loopback port, which knows a service by its addresses to return to."""

    def __init__(self, folder):
        self._folder = folder
        with socket.create_server(("127.0.0.1", 0)) as found:
            self._port = found.getsockname()[1]
        self.issuer = f"http://127.0.0.1:{self._port}/dex"
        self._process = None

    def start(self, *backs):
        """Start it for a service with these addresses."""
        config = self._folder / "dex.json"
        client = {"id": CLIENT, "secret": SECRET, "redirectURIs": backs, "name": "Anubis"}
        listen = f"127.0.0.1:{self._port}"
        config.write_text(
            json.dumps({"issuer": self.issuer, "listen": listen, "clients": [client], "accounts": ACCOUNTS})
        )
        with (self._folder / "dex.log").open("ab") as log:
            self._process = subprocess.Popen(
                [program(), config], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        until(self._is_ready, "Dex is ready")
        return self

    def _is_ready(self):
        assert self._process.poll() is None, (self._folder / "dex.log").read_text()
        try:
            with urllib.request.urlopen(f"{self.issuer}/.well-known/openid-configuration", timeout=10):
                return True
        except OSError:
            return False

    def stop(self):
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@contextlib.contextmanager
def dex(folder):
    """A provider that is not started yet."""
    made = Dex(folder)
    try:
        yield made
    finally:
        made.stop()
