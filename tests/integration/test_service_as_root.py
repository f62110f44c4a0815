"""A service answers programs of its user and of the group of its home folder, and no others."""

import os
import subprocess
import sys

import pytest

from support.service import Service

#: Users that exist on every Linux machine and own nothing here.
NOBODY, DAEMON = 65534, 1
ASK = """
import os, socket, sys
os.setgroups([])
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
connection = socket.socket()
connection.connect(("127.0.0.1", int(sys.argv[1])))
connection.sendall(b"GET /api/v1/runs HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n")
print(connection.recv(100).split()[1].decode())
"""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs the right to become another user")


def asked_by(user, url):
    """The status of an answer to a program of this user."""
    done = subprocess.run(
        [sys.executable, "-I", "-c", ASK, url.rpartition(":")[2], str(user)],
        check=True,
        capture_output=True,
        text=True,
    )
    return int(done.stdout)


def test_programs_of_other_users_are_refused(tmp_path):
    service = Service(tmp_path / "served", "--role", "api").start()
    try:
        assert asked_by(os.geteuid(), service.url) == 200
        assert asked_by(NOBODY, service.url) == 403
    finally:
        service.stop()


def test_members_of_the_group_of_the_home_folder_are_answered(tmp_path, monkeypatch):
    monkeypatch.setenv("ANUBIS_HOME_GROUP", "daemon")
    service = Service(tmp_path / "served", "--role", "api").start()
    try:
        assert asked_by(DAEMON, service.url) == 200
        assert asked_by(NOBODY, service.url) == 403
    finally:
        service.stop()
