"""The user at the other end of a loopback connection."""

import os
import socket
from contextlib import contextmanager

import pytest

from anubis.web.access import peers
from anubis.web.access.peers import UNKNOWN, Peers, users_of


@contextmanager
def connected(family, host):
    """Addresses of the client and the server, and the sockets of the client and the server."""
    with socket.socket(family) as listener:
        listener.bind((host, 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()[:2]) as client:
            server, _ = listener.accept()
            with server:
                yield client.getsockname()[:2], listener.getsockname()[:2], client, server


@pytest.fixture(params=["asked", "tables"])
def way(request, monkeypatch):
    """The kernel is asked for the socket, or its tables of sockets are read: neither is needed by the other."""
    if request.param == "asked":
        monkeypatch.setattr(peers, "users_of_ports", None)
    else:
        monkeypatch.setattr(peers, "_user_of_socket", lambda client, server: None)


ENDS = ("127.0.0.1", 1), ("127.0.0.1", 2)
LOOPBACK = pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)


@LOOPBACK
def test_the_user_of_a_connection_is_known(family, host, way):
    with connected(family, host) as (client, server, _, _):
        assert users_of(client, server) == {os.geteuid()}
        assert users_of(server, client) == {os.geteuid()}, "the other end"
        assert Peers("").may_use(client, server)


@LOOPBACK
def test_the_user_of_a_socket_of_another_user_is_known_as_root(family, host, way):
    if os.geteuid():
        pytest.skip("needs the right to change the owner of a socket")
    with connected(family, host) as (client, server, socket_of_client, _):
        os.fchown(socket_of_client.fileno(), 54321, -1)  # as a program of this user had opened it
        assert users_of(client, server) == {54321}
        assert not Peers("").may_use(client, server)


def test_a_closed_connection_has_no_user():
    with connected(socket.AF_INET, "127.0.0.1") as (client, server, socket_of_client, _):
        socket_of_client.close()
        assert users_of(client, server) <= {UNKNOWN}
        assert not Peers("").may_use(client, server)


def test_a_socket_that_listens_at_the_address_is_not_the_end_of_a_connection():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        assert users_of(listener.getsockname(), ("127.0.0.1", 1)) == set()


def test_a_connection_over_ipv4_to_a_socket_for_ipv6_has_a_user():
    with socket.socket(socket.AF_INET6) as listener:
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        listener.bind(("::", 0))
        listener.listen()
        with socket.create_connection(("127.0.0.1", listener.getsockname()[1])):
            server, client = listener.accept()
            with server:
                assert users_of(client[:2], server.getsockname()[:2]) == {os.geteuid()}


def test_no_connection_is_not_allowed():
    assert users_of(("127.0.0.1", 1), ("127.0.0.1", 1)) == set()
    assert not Peers("").may_use(("127.0.0.1", 1), ("127.0.0.1", 1))


@pytest.fixture
def of_another(monkeypatch):
    monkeypatch.setattr(peers, "users_of", lambda client, server: {54321})


def test_another_user_is_not_allowed(of_another):
    assert not Peers("").may_use(*ENDS)
    assert not Peers("no-such-group").may_use(*ENDS)


def test_a_member_of_the_group_of_the_home_folder_is_allowed(of_another, monkeypatch):
    monkeypatch.setattr(peers, "is_member", lambda user, group: (user, group) == (54321, "team"))
    assert Peers("team").may_use(*ENDS)
    assert not Peers("others").may_use(*ENDS)


def test_several_users_of_one_pair_of_ports_must_all_be_allowed(monkeypatch):
    monkeypatch.setattr(peers, "users_of", lambda client, server: {os.geteuid(), 54321})
    assert not Peers("").may_use(*ENDS)


def test_where_the_kernel_has_no_table_everyone_is_allowed(monkeypatch, tmp_path):
    monkeypatch.setattr(peers, "_user_of_socket", lambda client, server: None)
    monkeypatch.setattr(peers, "TABLES", (tmp_path / "none",))
    assert Peers("").may_use(*ENDS)
