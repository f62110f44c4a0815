"""What a marathon does to the processes, the clock, the disk and the database of an installation."""

import contextlib
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from collections import Counter
from pathlib import Path

from anubis.agent.process_tree import command_line
from support.processes import left_in

#: Parts of a command line -> name and weight of its process. A killed agent or benchmark ends its run, so they are
#: chosen less often than the processes that drive and read it.
KINDS = {
    " extract --record ": ("extractor", 4),
    " sample --record ": ("sampler", 2),
    " exec ": ("agent", 1),
    "-m anubis worker": ("worker", 3),
    "bin/anubis ": ("command", 0.7),
    "": ("benchmark", 1),
}
DISK_BYTES = 1 << 30
_SHIFT = struct.Struct("@l")


class Processes:
    """Kills, stops and continues processes that belong to a home folder."""

    def __init__(self, chance: random.Random, home: Path, done: Counter) -> None:
        self._chance = chance
        self._home = home
        self._done = done
        #: Process id -> monotonic time at which it continues.
        self._stopped_s: dict[int, float] = {}

    def disturb(self) -> None:
        """Kill or stop one process."""
        found = {pid: _kind(pid) for pid in left_in(self._home) if pid not in self._stopped_s}
        if not found:
            return
        weights = [weight / Counter(found.values())[name, weight] for name, weight in found.values()]
        (pid,) = self._chance.choices(list(found), weights)
        name, _ = found[pid]
        if self._chance.random() < 0.7:
            self._send(pid, signal.SIGKILL, f"{name} killed")
        elif self._send(pid, signal.SIGSTOP, f"{name} stopped"):
            self._stopped_s[pid] = time.monotonic() + self._chance.choice((0.1, 1.0, 4.0, 40.0))

    def let_continue(self, *, everything: bool = False) -> None:
        """Continue the processes that were stopped for long enough."""
        now_s = time.monotonic()
        for pid in [pid for pid, at_s in self._stopped_s.items() if everything or at_s <= now_s]:
            del self._stopped_s[pid]
            self._send(pid, signal.SIGCONT, "continued")

    def _send(self, pid: int, number: int, what: str) -> bool:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
            self._done[what] += 1
            return True
        return False


def _kind(pid: int) -> tuple[str, int]:
    words = f"{command_line(pid)} "
    return next(kind for part, kind in KINDS.items() if part in words)


class Clock:
    """The wall clock of every process of an installation, agents and benchmarks included."""

    SOURCE = Path(__file__).with_name("wall_clock.c")

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        library = folder / "wall_clock.so"
        build = ["cc", "-shared", "-fPIC", "-O2", "-Wall", "-Werror", "-o", str(library), str(self.SOURCE)]
        self.can_step = bool(shutil.which("cc"))
        self.environment: dict[str, str] = {}
        if self.can_step:
            subprocess.run(build, check=True)
            self.environment = {"LD_PRELOAD": str(library), "CHAOS_CLOCK": str(self._file)}
        self._file.write_bytes(_SHIFT.pack(0))

    def set(self, shift_s: int) -> None:
        """Add this many seconds to the wall clock, from now on, in all processes."""
        with self._file.open("r+b", buffering=0) as file:
            file.write(_SHIFT.pack(shift_s))


class Disk:
    """A small file system for the home folder, where the user may mount one."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._folder = folder
        self._filling = folder / "filling"
        mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "tmpfs", str(folder)]
        self.is_small = subprocess.run(mount, check=False, capture_output=True).returncode == 0

    def fill(self) -> None:
        """Use up all free space."""
        free = os.statvfs(self._folder)
        with self._filling.open("wb") as file, contextlib.suppress(OSError):
            os.posix_fallocate(file.fileno(), 0, free.f_bavail * free.f_frsize)
        with self._filling.open("ab", buffering=0) as file, contextlib.suppress(OSError):
            while file.write(bytes(4096)):
                pass

    def free(self) -> None:
        self._filling.unlink(missing_ok=True)

    def remove(self) -> None:
        """Unmount it; its content is lost."""
        if self.is_small:
            subprocess.run(["umount", "--lazy", str(self._folder)], check=True)
