"""Other users can neither read a home folder nor lock its files; members of its group can if a setting says so."""

import grp
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from support.command import Command

OPEN = """
import fcntl, os, sys
os.setgroups([int(sys.argv[2])] if int(sys.argv[2]) else [])
os.setgid(int(sys.argv[2]) or 65534)
os.setuid(65534)
try:
    file = os.open(sys.argv[1], os.O_RDONLY)
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked")
except OSError as error:
    print(error.strerror)
"""


@pytest.fixture
def anubis(tmp_path):
    if os.geteuid():
        pytest.skip("needs root, to become another user")
    for folder in (tmp_path, *tmp_path.parents):
        if folder.stat().st_uid == 0 and folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o055)
    folder = tmp_path / "work"
    folder.mkdir()
    command = Command(tmp_path / "home", folder)
    yield command
    command.close()


def locked_by_another(path, group=0):
    done = subprocess.run(
        [sys.executable, "-I", "-c", OPEN, str(path), str(group)], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def files(home):
    """One file of each kind on which a lock means something."""
    return [next(home.rglob(name)) for name in ("alive", "slot-0.lock", "anubis.db")]


def test_another_user_cannot_lock(anubis):
    assert pwd.getpwuid(65534)
    assert anubis("run", anubis.write("bench.toml", "true"), umask=0).returncode == 0
    for path in files(anubis.home):
        assert locked_by_another(path) == "Permission denied", path
    anubis.home.chmod(0o755)
    for path in files(anubis.home):
        assert locked_by_another(path) == "Permission denied", path


def test_a_member_of_the_group_can_lock(anubis, monkeypatch):
    group = next(each for each in grp.getgrall() if each.gr_gid not in {0, 65534})
    monkeypatch.setenv("ANUBIS_HOME_GROUP", group.gr_name)
    assert anubis("run", anubis.write("bench.toml", "true"), umask=0o077).returncode == 0
    for path in files(anubis.home):
        assert locked_by_another(path, group.gr_gid) == "locked", path
        assert locked_by_another(path) == "Permission denied", path
