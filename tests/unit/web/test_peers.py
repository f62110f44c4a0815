"""The user at the other end of a loopback connection."""

import os
import socket
from contextlib import contextmanager

import pytest

from anubis.web import peers
from anubis.web.peers import UNKNOWN, Peers, users_of


@contextmanager
def connected(family, host):
    """Ports of the client and the server, and the sockets of the client and the server."""
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()[:2]) as client:
            server, _ = listener.accept()
            with server:
                yield client.getsockname()[1], listener.getsockname()[1], client, server


@pytest.mark.parametrize(("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_the_user_of_a_connection_is_known(family, host):
    with connected(family, host) as (client_port, server_port, _, _):
        assert users_of(client_port, server_port) == {os.geteuid()}
        assert users_of(server_port, client_port) == {os.geteuid()}, "the other end"
        assert Peers("").may_use(client_port, server_port)


def test_a_closed_connection_has_no_user():
    with connected(socket.AF_INET, "127.0.0.1") as (client_port, server_port, client, _):
        client.close()
        assert users_of(client_port, server_port) <= {UNKNOWN}
        assert not Peers("").may_use(client_port, server_port)


def test_no_connection_is_not_allowed():
    assert users_of(1, 1) == set()
    assert not Peers("").may_use(1, 1)


@pytest.fixture
def of_another(monkeypatch):
    monkeypatch.setattr(peers, "users_of", lambda client, server: {54321})


def test_another_user_is_not_allowed(of_another):
    assert not Peers("").may_use(1, 2)
    assert not Peers("no-such-group").may_use(1, 2)


def test_a_member_of_the_group_of_the_home_folder_is_allowed(of_another, monkeypatch):
    monkeypatch.setattr(peers, "is_member", lambda user, group: (user, group) == (54321, "team"))
    assert Peers("team").may_use(1, 2)
    assert not Peers("others").may_use(1, 2)


def test_several_users_of_one_pair_of_ports_must_all_be_allowed(monkeypatch):
    monkeypatch.setattr(peers, "users_of", lambda client, server: {os.geteuid(), 54321})
    assert not Peers("").may_use(1, 2)


def test_where_the_kernel_has_no_table_everyone_is_allowed(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "TABLES", (tmp_path / "none",))
    assert Peers("").may_use(1, 2)
