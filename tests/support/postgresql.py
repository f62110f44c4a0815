"""A private PostgreSQL cluster for a test session: fixtures ``postgresql`` (its URL) and ``postgresql_url`` (an empty schema).

The server listens on a socket in a private folder, trusts every user who can reach that folder, and is thrown away at
the end. It refuses to run as root, so there it runs as an unprivileged user.
"""

import contextlib
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from pathlib import Path

import psycopg
import pytest

FAST = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c listen_addresses= -c max_connections=50"
_numbers = itertools.count()


def binaries():
    """The folder of initdb and pg_ctl, the newest there is; None when PostgreSQL's server is not installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    debian = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    return max((path.parent for path in debian), key=lambda folder: int(folder.parent.name), default=None)


def run_as_anybody(folder, *command):
    """Run a command of PostgreSQL in the folder, not as root."""
    user = {}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    done = subprocess.run(
        command, cwd=folder, env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, **user,
    )  # fmt: skip
    assert done.returncode == 0, f"{command[0]} failed: {done.stderr}"


class Cluster:
    """A server in a private folder, which can be stopped as by a crash and started again."""

    def __init__(self, folder, options=FAST):
        self._folder = folder
        self._options = options
        # Not below pytest's own folder: another user could not reach it, and a socket's path may have 107 bytes only.
        self.home = tempfile.mkdtemp(prefix="pg-", dir="/tmp")
        self.url = f"postgresql://postgres@/postgres?host={self.home}"

    def create(self):
        initdb = [self._folder / "initdb", "-D", f"{self.home}/data", "-U", "postgres", "-A", "trust"]
        run_as_anybody(self.home, *initdb, "-E", "UTF8", "--no-sync")

    def start(self):
        self._control("-l", f"{self.home}/log", "-w", "-o", f"{self._options} -k {self.home}", "start")

    def stop(self):
        """End every process of the server at once, as a crash does."""
        self._control("-m", "immediate", "-w", "stop")

    def _control(self, *words):
        run_as_anybody(self.home, self._folder / "pg_ctl", "-D", f"{self.home}/data", *words)


@contextlib.contextmanager
def cluster(folder, options=FAST):
    """A running server of these binaries."""
    server = Cluster(folder, options)
    try:
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(server.home)


@pytest.fixture(scope="session")
def postgresql():
    folder = binaries()
    if not folder:
        pytest.skip("PostgreSQL server binaries not installed")
    with cluster(folder) as server:
        yield server.url


@pytest.fixture
def postgresql_url(postgresql):
    schema = f"test_{next(_numbers)}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        yield f"{postgresql}&options=-csearch_path%3D{schema}"
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA {schema} CASCADE")
