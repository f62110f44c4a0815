"""Ports of runs whose replicas share this machine: a port that another program has is not used."""

import socket

import pytest

from anubis.model.errors import NotReadyError
from anubis.model.launch import Launch, Replica, Role
from anubis.pipeline.replicas import ports
from anubis.pipeline.replicas.ports import check_free, first_port, is_free

RUN = "01a20313-1d6c-7fa3-8a47-2d8808bbce32"


def listening(port, address="127.0.0.1"):
    return socket.create_server((address, port), family=socket.AF_INET6 if ":" in address else socket.AF_INET)


def bound(port):
    holder = socket.socket()
    holder.bind(("127.0.0.1", port))
    return holder


@pytest.fixture
def derived():
    """The port of a run that is derived from its id; it is free."""
    number = 0
    while not is_free(port := first_port(RUN, number, 1, is_shared=False)):
        number += 1
    return number, port


@pytest.mark.parametrize(
    "hold",
    [listening, bound, lambda port: listening(port, "::1"), lambda port: listening(port, "0.0.0.0")],
    ids=["listening", "bound", "ipv6", "all"],
)
def test_a_port_that_a_socket_holds_is_replaced_by_another_one(derived, hold):
    number, port = derived
    assert first_port(RUN, number, 1, is_shared=True) == port
    with hold(port):
        assert not is_free(port)
        other = first_port(RUN, number, 1, is_shared=True)
        assert other != port
        assert is_free(other)
        assert first_port(RUN, number, 1, is_shared=False) == port, (
            "in a network of its own every port is free"
        )
    assert is_free(port)


def test_all_ports_of_a_run_must_be_free(derived):
    number, port = derived
    with listening(port + 2):
        assert first_port(RUN, number, 2, is_shared=True) == port
        assert first_port(RUN, number, 3, is_shared=True) != port


def test_a_server_that_has_ended_leaves_a_free_port():
    """Its last connections are in the state TIME_WAIT."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            peer, _ = server.accept()
            peer.close()
            assert client.recv(1) == b""
    assert is_free(port)


def test_without_a_free_port_the_run_waits_with_a_reason(derived, monkeypatch):
    number, port = derived
    monkeypatch.setattr(ports, "_RUNS", 1)
    monkeypatch.setattr(ports, "_FIRST_PORT", port)
    with listening(port), pytest.raises(NotReadyError, match="no 1 ports in a row are free"):
        first_port(RUN, number, 1, is_shared=True)


def test_a_run_waits_for_the_port_of_its_server(derived):
    _, port = derived
    role = Role(name="server", command=("serve",), ports=(port,))
    replica = Replica(role=role, rank=0, argv=(), environment={}, record="/record", address="")
    launch = Launch(replicas=(replica,))
    check_free(launch)
    with listening(port), pytest.raises(NotReadyError, match=f"port {port} .* server needs"):
        check_free(launch)
