"""Who is at the other end of a loopback connection: the kernel knows the user of every socket of this machine."""

import grp
import os
import pwd
import socket
import struct
from functools import lru_cache
from pathlib import Path

#: Tables of the sockets of this network namespace, see proc(5).
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
#: The user of a socket without an owner, which its process has closed, is not known.
UNKNOWN = -1
#: Host and port of one end of a connection.
End = tuple[str, int]

#: See sock_diag(7): the protocol, the header of a message, its type, and the request for one socket.
_SOCK_DIAG, _SOCK_DIAG_BY_FAMILY, _REQUEST = 4, 20, 1
_HEADER = struct.Struct("=IHHII")
_WANTED = struct.Struct("=BBBxI2s2s16s16sI8s")
_ANY_STATE, _NO_COOKIE = 0xFFFF_FFFF, b"\xff" * 8
#: What the answer has: family, state, ports and addresses, user, inode.
_FOUND = struct.Struct("=BBxx2s2s16s16s12x12xII")
_LISTEN = 10


def users_of(client: End, server: End) -> set[int] | None:
    """The users of the client's socket of a connection; None where the kernel does not know.

    The kernel is asked for this socket. Where it does not answer or knows no socket with these addresses (those of a
    socket for IPv6 with an IPv4 connection are written differently), the tables of all sockets are read, which takes
    longer with every connection of the machine.
    """
    user = _user_of_socket(client, server)
    return users_of_ports(client[1], server[1]) if user is None else {user}


def _user_of_socket(client: End, server: End) -> int | None:
    """The user of the socket with these addresses; None if the kernel does not say."""
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    try:
        ports = [end[1].to_bytes(2, "big") for end in (client, server)]
        hosts = [socket.inet_pton(family, end[0]).ljust(16, b"\0") for end in (client, server)]
        wanted = _WANTED.pack(family, socket.IPPROTO_TCP, 0, _ANY_STATE, *ports, *hosts, 0, _NO_COOKIE)
        header = _HEADER.pack(_HEADER.size + len(wanted), _SOCK_DIAG_BY_FAMILY, _REQUEST, 0, 0)
        with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
            kernel.sendto(header + wanted, (0, 0))
            answer = kernel.recv(4096, socket.MSG_DONTWAIT)  # the kernel answers before sendto returns
    except (OSError, AttributeError, ValueError):  # not Linux, not allowed, or not an address
        return None
    if _HEADER.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:  # an error: there is no such socket
        return None
    _, state, *addresses, user, inode = _FOUND.unpack_from(answer, _HEADER.size)
    if state == _LISTEN or addresses != [*ports, *hosts]:
        return None
    return user if inode else UNKNOWN


def users_of_ports(client_port: int, server_port: int) -> set[int] | None:
    """The users of all sockets with these ports of the two ends; None where the kernel has no such table.

    All of them, because the ports alone do not tell two loopback addresses apart.
    """
    found: set[int] = set()
    is_known = False
    for table in TABLES:
        try:
            lines = table.read_text().splitlines()[1:]
        except OSError:
            continue
        is_known = True
        for line in lines:
            _, local, remote, _, _, _, _, user, _, inode, *_ = line.split()
            if (_port(local), _port(remote)) == (client_port, server_port):
                found.add(int(user) if int(inode) else UNKNOWN)
    return found if is_known else None


def _port(address: str) -> int:
    return int(address.rpartition(":")[2], 16)


class Peers:
    """The users whose programs may use the service: its own, root, and the members of the group of the home folder."""

    def __init__(self, group: str) -> None:
        """``group``: ``ANUBIS_HOME_GROUP``; empty: none."""
        self._group = group

    def may_use(self, client: End, server: End) -> bool:
        """Whether the program at the other end may use the service; where the kernel does not say who it is, it may."""
        users = users_of(client, server)
        return users is None or (bool(users) and all(map(self._is_allowed, users)))

    def _is_allowed(self, user: int) -> bool:
        return user in {0, os.geteuid()} or (bool(self._group) and is_member(user, self._group))


@lru_cache(1024)
def is_member(user: int, group: str) -> bool:
    """Whether a user belongs to a group, as the databases of users and groups said at the first request."""
    try:
        entry = pwd.getpwuid(user)
        return grp.getgrnam(group).gr_gid in os.getgrouplist(entry.pw_name, entry.pw_gid)
    except KeyError:
        return False
