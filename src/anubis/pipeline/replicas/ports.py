"""Ports for replicas that share those of one machine."""

import errno
import socket

from anubis.model.errors import NotReadyError
from anubis.model.launch import Launch

#: On one machine every run has its own ports, below those that the system gives to clients.
_FIRST_PORT, _RUNS, _PORTS_OF_A_RUN = 20_000, 600, 20


def first_port(run_id: str, attempt: int, count: int, *, is_shared: bool) -> int:
    """The first of ``count`` ports of a run, derived from its id.

    With ``is_shared``, other programs may use the ports of this machine: the run has the next ones that are free.
    Raises NotReadyError.
    """
    number = int(run_id.replace("-", ""), 16) + attempt
    for skipped in range(_RUNS):
        first = _FIRST_PORT + (number + skipped) % _RUNS * _PORTS_OF_A_RUN
        if not is_shared or all(map(is_free, range(first, first + count))):
            return first
    raise NotReadyError(
        f"no {count} ports in a row are free on this machine from {_FIRST_PORT} on (end programs that use them)",
        again_after_s=5.0,
    )


def check_free(launch: Launch) -> None:
    """Raises NotReadyError if another program has a port of a server: a probe would find that program ready."""
    for replica in launch.replicas:
        for port in replica.role.ports:
            if not is_free(port):
                reason = f"another program uses port {port} of this machine, which {replica.role.name} needs"
                remedy = "wait until it has ended, or change server.env.ports"
                raise NotReadyError(f"{reason} ({remedy})", again_after_s=1.0)


def is_free(port: int) -> bool:
    """Whether a server may listen on this port of this machine, on all addresses."""
    for family in (socket.AF_INET, socket.AF_INET6):
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                # Connections that have ended do not keep a server from its port.
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind(("", port))
        except OSError as error:  # the machine may not have one of the families, or this user not the right
            if error.errno == errno.EADDRINUSE:
                return False
    return True
