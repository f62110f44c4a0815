"""The user at the other end of a loopback connection."""

import os
import socket
from contextlib import contextmanager

import pytest

from anubis.web import peers
from anubis.web.peers import UNKNOWN, Peers, users_of

NOBODY, SERVER = ("127.0.0.1", 1), ("127.0.0.1", 2)


@pytest.fixture(params=["asked", "listed"])
def source(request, monkeypatch):
    """Where the users of sockets are known from: an answer of the kernel, or its tables."""
    if request.param == "listed":
        monkeypatch.setattr(peers, "_SOCK_DIAG", 31)  # no such protocol


@contextmanager
def connected(family, host):
    """Addresses of the client and the server, and the socket of the client."""
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()[:2]) as client:
            server, _ = listener.accept()
            with server:
                yield client.getsockname()[:2], listener.getsockname()[:2], client


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
@pytest.mark.usefixtures("source")
def test_the_user_of_a_connection_is_known(family, host):
    with connected(family, host) as (client, server, _):
        assert users_of(client, server) == {os.geteuid()}
        assert users_of(server, client) == {os.geteuid()}, "the other end"
        assert Peers("").may_use(client, server)


@pytest.mark.usefixtures("source")
def test_a_closed_connection_has_no_user():
    with connected(socket.AF_INET, "127.0.0.1") as (client, server, opened):
        opened.close()
        assert users_of(client, server) <= {UNKNOWN}
        assert not Peers("").may_use(client, server)


@pytest.mark.usefixtures("source")
def test_no_connection_is_not_allowed():
    assert users_of(NOBODY, NOBODY) == set()
    assert not Peers("").may_use(NOBODY, NOBODY)


@pytest.fixture
def of_another(monkeypatch):
    monkeypatch.setattr(peers, "users_of", lambda client, server: {54321})


def test_another_user_is_not_allowed(of_another):
    assert not Peers("").may_use(NOBODY, SERVER)
    assert not Peers("no-such-group").may_use(NOBODY, SERVER)


def test_a_member_of_the_group_of_the_home_folder_is_allowed(of_another, monkeypatch):
    monkeypatch.setattr(peers, "is_member", lambda user, group: (user, group) == (54321, "team"))
    assert Peers("team").may_use(NOBODY, SERVER)
    assert not Peers("others").may_use(NOBODY, SERVER)


def test_several_users_of_one_pair_of_ports_must_all_be_allowed(monkeypatch):
    monkeypatch.setattr(peers, "users_of", lambda client, server: {os.geteuid(), 54321})
    assert not Peers("").may_use(NOBODY, SERVER)


def test_where_the_kernel_has_no_table_everyone_is_allowed(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "_SOCK_DIAG", 31)
    monkeypatch.setattr(peers, "TABLES", (tmp_path / "none",))
    assert Peers("").may_use(NOBODY, SERVER)
