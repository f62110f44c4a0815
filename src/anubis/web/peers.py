"""Who is at the other end of a loopback connection: the kernel knows the user of every socket of this machine."""

import contextlib
import errno
import grp
import os
import pwd
import socket
import struct
from functools import lru_cache
from pathlib import Path

#: Tables of the sockets of this network namespace, see proc(5). They are read only where the kernel answers no question
#: about one socket, because reading them takes as long as there are sockets.
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
#: The user of a socket without an owner, which its process has closed, is not known.
UNKNOWN = -1
#: Host and port.
Address = tuple[str, int]

#: See sock_diag(7) and linux/inet_diag.h: the protocol of netlink, the kind of a question, and that of an error.
_SOCK_DIAG, _BY_FAMILY, _ERROR = 4, 20, 2
_HEADER, _QUESTION, _ADDRESS_BYTES = struct.Struct("=IHHII"), struct.Struct("=BBBxI"), 16
_PORTS, _ANY_INTERFACE_AND_COOKIE = struct.Struct("!HH"), struct.pack("=III", 0, 0xFFFFFFFF, 0xFFFFFFFF)
#: Where an answer has the user and the inode: after its header, states, the socket, and three counters.
_OWNER, _OWNER_AT = struct.Struct("=II"), _HEADER.size + 4 + 48 + 12
_ALL_STATES = 0xFFFFFFFF
_MOST_ANSWER_BYTES = 4096


def users_of(client: Address, server: Address) -> set[int] | None:
    """The users of the socket with these two ends; None where the kernel does not say.

    Where it has only tables, the users of all sockets with these ports: two loopback addresses are not told apart.
    """
    with contextlib.suppress(OSError, ValueError, struct.error):  # no sock_diag, as in some sandboxes
        return _asked(client, server)
    return _listed(client[1], server[1])


def _asked(client: Address, server: Address) -> set[int]:
    """The user of a socket, from the kernel. Raises OSError if it cannot be asked."""
    family = socket.AF_INET6 if ":" in client[0] else socket.AF_INET
    ends = (socket.inet_pton(family, host).ljust(_ADDRESS_BYTES, b"\0") for host, _ in (client, server))
    question = _QUESTION.pack(family, socket.IPPROTO_TCP, 0, _ALL_STATES)
    question += _PORTS.pack(client[1], server[1]) + b"".join(ends) + _ANY_INTERFACE_AND_COOKIE
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _SOCK_DIAG) as kernel:
        kernel.send(_HEADER.pack(_HEADER.size + len(question), _BY_FAMILY, 1, 1, 0) + question)
        answer = kernel.recv(_MOST_ANSWER_BYTES)
    kind = _HEADER.unpack_from(answer)[1]
    if kind == _ERROR:
        (code,) = struct.unpack_from("=i", answer, _HEADER.size)
        if -code == errno.ENOENT:
            return set()
        raise OSError(-code, os.strerror(-code))
    user, inode = _OWNER.unpack_from(answer, _OWNER_AT)
    return {int(user) if inode else UNKNOWN}


def _listed(client_port: int, server_port: int) -> set[int] | None:
    """The users of all sockets with these ports, from the tables."""
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

    def may_use(self, client: Address, server: Address) -> bool:
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
