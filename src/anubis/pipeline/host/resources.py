"""CPUs and GPUs of this machine that one run has for itself.

Each is a lock file. The agent holds its locks through inherited descriptors, so the kernel frees them when it ends.
"""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from anubis.model.errors import NoCapacityError

_NVIDIA = Path("/proc/driver/nvidia/gpus")


def cpus() -> list[str]:
    """The CPUs on which this process may run; none where processes cannot be bound to CPUs."""
    if not hasattr(os, "sched_getaffinity"):
        return []
    return [str(number) for number in sorted(os.sched_getaffinity(0))]


def gpus(driver: Path = _NVIDIA) -> list[str]:
    """The NVIDIA GPUs, as CUDA_VISIBLE_DEVICES names them."""
    try:
        files = sorted(driver.glob("*/information"))
        texts = [file.read_text(errors="replace") for file in files]
    except OSError:
        return []
    found = (re.search(r"GPU UUID:\s*(GPU-[0-9a-f-]+)", text) for text in texts)
    return [match[1] for match in found if match]


def take(
    take_lock: Callable[[str], int | None], kind: str, names: Sequence[str], count: int, locks: list[int]
) -> list[str]:
    """The first ``count`` of the named resources that no other run has; their locks are added to ``locks``.

    ``take_lock``: the descriptor of the lock with a name, None if another run has it.

    Raises NoCapacityError if not enough are free.
    """
    taken: list[str] = []
    for name in names:
        if len(taken) == count:
            break
        file = re.sub(r"[^\w-]", "_", f"{kind}-{name}")
        if (lock := take_lock(file)) is not None:
            locks.append(lock)
            taken.append(name)
    if len(taken) < count:
        raise NoCapacityError(
            f"{count} {kind.upper()}s are requested, {len(taken)} are free",
            again_after_s=1.0,
            remedy="wait until other runs have ended",
        )
    return taken
