"""The CPUs and the memory of one NUMA node. Imported only by runs that ask for a node: ``ctypes`` takes milliseconds."""

from __future__ import annotations

import errno
import os
import re
import sys
from glob import glob

from anubis.agent.observe.kernel import read

_NODES = "/devices/system/node/node"
#: set_mempolicy(2): allocate only on the given nodes; its number on each machine, and the nodes that fit into its mask.
_BIND = 2
_CALLS = {"x86_64": 238, "aarch64": 237, "riscv64": 237}
_MASK_BITS = 1024


def cpus_of(node: int, sysfs: str = "/sys") -> str | None:
    """The CPUs of a node as the kernel lists them, such as 0-3,8; empty: it has only memory. None: there is no such node."""
    if not os.access(f"{sysfs}{_NODES}{node}", os.F_OK):
        return None
    return read(f"{sysfs}{_NODES}{node}/cpulist").strip()


def nodes(sysfs: str = "/sys") -> list[int]:
    """The numbers of the nodes of this machine."""
    found = [re.search(r"[0-9]+$", path) for path in glob(f"{sysfs}{_NODES}[0-9]*")]
    return sorted(int(match.group()) for match in found if match)


def refusal(node: int) -> str:
    """Why ``bind_memory`` fails; empty if it works. It is tried in another process, whose memory is not used."""
    pid = os.fork()
    if pid == 0:
        number = errno.ENOSYS
        try:
            bind_memory(node)
            number = 0
        except OSError as error:
            number = error.errno or errno.ENOSYS
        finally:
            os._exit(number)
    number = os.WEXITSTATUS(os.waitpid(pid, 0)[1])
    if not number:
        return ""
    more = "; a container needs the capability SYS_NICE" if number == errno.EPERM else ""
    return f"the memory of node {node} cannot be selected: {os.strerror(number)}{more}"


def bind_memory(node: int) -> None:
    """Allocate the memory of this process, and of those that it starts, only on this node. Raises OSError."""
    call = _CALLS.get(os.uname().machine) if sys.maxsize > 1 << 32 else None
    if call is None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))
    try:
        from ctypes import CDLL, c_long, get_errno
    except ImportError:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS)) from None
    mask = (1 << node).to_bytes(_MASK_BITS // 8, sys.byteorder)
    if CDLL(None, use_errno=True).syscall(c_long(call), c_long(_BIND), mask, c_long(_MASK_BITS)):
        raise OSError(get_errno(), os.strerror(get_errno()))
