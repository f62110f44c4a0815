"""Names of lease owners, from which other processes on the same machine can detect that the owner has ended."""

import os
import secrets
import socket
from pathlib import Path

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PROCESS_IDS = Path("/proc/self/ns/pid")


def new_owner() -> str:
    """``host/boot/pid/start/nonce`` of this process."""
    pid = os.getpid()
    return "/".join([_host(), boot(), str(pid), _start(pid) or "0", secrets.token_hex(4)])


def is_dead(owner: str) -> bool:
    """Whether the owner ran on this machine and has certainly ended."""
    parts = owner.rsplit("/", 4)
    if len(parts) != 5 or parts[0] != _host():
        return False
    _, boot_id, pid, start, _ = parts
    if boot_id != boot():
        return True
    now = _start(int(pid))
    return now is None or start not in {"0", now}


def described(owner: str) -> str:
    """The process of an owner, for messages."""
    parts = owner.rsplit("/", 4)
    return f"process {parts[2]} on {parts[0].partition(' ')[0]}" if len(parts) == 5 else owner


def _host() -> str:
    """Name of the machine and of its process ids, which containers that share a name do not share."""
    try:
        return f"{socket.gethostname()} {_PROCESS_IDS.readlink().name}"
    except OSError:
        return socket.gethostname()


def boot() -> str:
    """Distinguishes this start of the machine from earlier ones and from other machines."""
    try:
        return _BOOT_ID.read_text().strip()[:8]
    except OSError:
        return "boot"


def _start(pid: int) -> str | None:
    """Start time of a process in clock ticks (proc(5), field 22); "0" if only its existence can be checked; None if it has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        fields = stat.rpartition(")")[2].split()
        return None if fields[0] in {"Z", "X"} else fields[19]
    except OSError:
        if _BOOT_ID.exists():
            return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return "0"
    return "0"
