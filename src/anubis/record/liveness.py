"""Whether the agent of a record is running: the agent locks the file ``alive``, and the kernel releases the lock when the
agent ends. Works only on the machine of the agent.
"""

from __future__ import annotations

import errno
import fcntl
import os
import stat
from json import dumps
from signal import SIGKILL, SIGTERM

from anubis.record import access, layout
from anubis.record.files import FolderFiles, read_json, write_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from anubis.record.files import Files

#: DAMAGED: the file is something that no agent writes, or it cannot be read.
ABSENT, ALIVE, DEAD, DAMAGED = "absent", "alive", "dead", "damaged"

#: Errors of open(2) for a name that is not a readable regular file.
_NOT_A_FILE = {errno.ENOTDIR, errno.ELOOP, errno.EISDIR, errno.ENXIO, errno.ENODEV, errno.EACCES, errno.EPERM}


def claim(record: str) -> int | None:
    """Claim the record for this process; returns a file descriptor that must stay open, None if it is claimed already.

    The file is written and locked before it is linked to its name, so a reader never sees it incomplete.
    """
    return _link(record, _identity(os.getpid()))


def revoke(record: str) -> bool:
    """Claim the record for no process: an agent that starts later, or was stopped, never executes the benchmark.

    Creates a record that does not exist. False if the record is claimed already.
    """
    access.make_folder(record)
    lock = _link(record, {"revoked": True})
    if lock is None:
        return False
    os.close(lock)
    return True


def is_revoked(record: str) -> bool:
    """Whether the record was claimed for no process."""
    return was_revoked(FolderFiles(record))


def was_revoked(files: Files) -> bool:
    """Whether the record with these files was claimed for no process."""
    return read_json(files, layout.ALIVE).get("revoked") is True


def holds(record: str, lock: int) -> bool:
    """Whether the record is still claimed by the file with this descriptor."""
    return access.is_at(f"{record}/{layout.ALIVE}", lock)


def state(record: str) -> str:
    """ABSENT before the agent has started, ALIVE while it runs, DEAD after it has ended, else DAMAGED. Never blocks."""
    try:
        file = os.open(f"{record}/{layout.ALIVE}", os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ABSENT
    except OSError as error:
        if error.errno in _NOT_A_FILE:
            return DAMAGED
        raise
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            return DAMAGED
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return ALIVE
    else:
        return DEAD
    finally:
        os.close(file)


def cancel(record: str) -> bool:
    """Request that the agent ends its benchmark; False when the agent is not running."""
    pid = agent_of(record) if state(record) == ALIVE else None
    if pid is None:
        return False
    try:
        os.kill(pid, SIGTERM)
    except OSError:
        return False
    return True


def kill_session(record: str) -> None:
    """Kill the process group that the agent leads."""
    pid = agent_of(record)
    try:
        if pid is not None and os.getpgid(pid) == pid:
            os.killpg(pid, SIGKILL)
    except OSError:  # it has ended
        pass


def _link(record: str, content: dict[str, Any]) -> int | None:
    part = f"{record}/{layout.ALIVE}.{os.urandom(8).hex()}"
    lock = access.create(part, os.O_RDWR | os.O_EXCL)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        write_all(lock, dumps(content).encode() + b"\n")
        os.link(part, f"{record}/{layout.ALIVE}")
    except FileExistsError:
        os.close(lock)
        return None
    except OSError:
        os.close(lock)
        raise
    finally:
        os.unlink(part)
    return lock


def agent_of(record: str) -> int | None:
    """The process id of the agent; None unless the process with this id is the one that claimed the record.

    Ids are reused, and a benchmark can write to the file: a wrong id would end another process, or all of them.
    """
    claimed = read_json(FolderFiles(record), layout.ALIVE)
    pid = claimed.get("pid")
    if type(pid) is not int or not 1 < pid < 2**31:
        return None
    now = _identity(pid)
    same = all(claimed[name] == now.get(name) for name in ("start_ticks", "boot_id") if name in claimed)
    return pid if same else None


def _identity(pid: int) -> dict[str, Any]:
    """What distinguishes a process from all others, also from those with the same id."""
    identity: dict[str, Any] = {"pid": pid}
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            identity["start_ticks"] = int(file.read(1024).rpartition(b")")[2].split()[19])
        with open("/proc/sys/kernel/random/boot_id", "rb", buffering=0) as file:
            identity["boot_id"] = file.read(64).decode().strip()
    except OSError:  # no /proc, or the process has ended
        pass
    return identity
