"""Who is at the other end of a loopback connection: the kernel knows the user of every socket of this machine."""

import grp
import os
import pwd
from functools import lru_cache
from pathlib import Path

#: Tables of the sockets of this network namespace, see proc(5).
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
#: The user of a socket without an owner, which its process has closed, is not known.
UNKNOWN = -1


def users_of(client_port: int, server_port: int) -> set[int] | None:
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

    def may_use(self, client_port: int, server_port: int) -> bool:
        """Whether the program at the other end may use the service; where the kernel does not say who it is, it may."""
        users = users_of(client_port, server_port)
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
