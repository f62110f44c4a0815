"""A private PostgreSQL cluster for a test session: fixtures ``postgresql`` (its URL) and ``postgresql_url`` (an empty schema).

The server listens on a socket in a folder of its own, trusts whoever can reach that folder, and is thrown away at
the end. It refuses to run as root, so there it runs as ``nobody``.
"""

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


@pytest.fixture(scope="session")
def postgresql():
    folder = binaries()
    if not folder:
        pytest.skip("PostgreSQL server binaries not installed")
    # Not below pytest's own folder: another user could not reach it, and a socket's path may have 107 bytes only.
    home = tempfile.mkdtemp(prefix="pg-", dir="/tmp")
    data = f"{home}/data"
    try:
        initdb = [folder / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        run_as_anybody(home, *initdb)
        options = f"{FAST} -k {home}"
        run_as_anybody(home, folder / "pg_ctl", "-D", data, "-l", f"{home}/log", "-w", "-o", options, "start")
        try:
            yield f"postgresql://postgres@/postgres?host={home}"
        finally:
            run_as_anybody(home, folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(home)


@pytest.fixture
def postgresql_url(postgresql):
    schema = f"test_{next(_numbers)}"
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}")
        yield f"{postgresql}&options=-csearch_path%3D{schema}"
        connection.execute("SET client_min_messages = warning")
        connection.execute(f"DROP SCHEMA {schema} CASCADE")
