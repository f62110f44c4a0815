"""What a command and every process it starts cost: wall seconds of the command, CPU seconds of all of them.

The command runs under a small launcher that adopts orphans (PR_SET_CHILD_SUBREAPER), so that a process that outlives
its starter, in a new session or not, is waited for and counted by the kernel (getrusage RUSAGE_CHILDREN). Only a
process whose parent ignores SIGCHLD would be missed; the control group's own count shows that none is, where
a cgroup may be made (Linux, cgroup 2, as root).
"""

import ctypes
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

PR_SET_CHILD_SUBREAPER = 36


@dataclass(frozen=True)
class Spent:
    """One execution of a command."""

    #: Seconds until the command itself ended.
    wall_s: float
    #: CPU seconds of all its processes, those included that ended later.
    cpu_s: float
    #: The same by the control group's count; None where no group could be made.
    group_cpu_s: float | None
    #: What it printed on standard output.
    output: str


def spend(command, *, folder=None, environment=None) -> Spent:
    """Run it once. Raises CalledProcessError with its output when it fails."""
    with tempfile.TemporaryDirectory() as place:
        report = Path(place, "report")
        done = subprocess.run(
            [sys.executable, "-I", __file__, str(report), *map(str, command)],
            cwd=folder,
            env={**_ordinary(), **(environment or {})},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.stderr.write(done.stdout[-2000:] + done.stderr[-2000:])
            done.check_returncode()
        return Spent(**json.loads(report.read_text()), output=done.stdout)


def _ordinary():
    """The environment without what changes how Python itself works (no compiled modules, unbuffered output)."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}


def median_of(values) -> str:
    """``12.3 (11.9 to 14.1)``: median, least and greatest."""
    middle, least, greatest = map(_three_digits, (statistics.median(values), min(values), max(values)))
    return f"{middle} ({least} to {greatest})"


def _three_digits(value) -> str:
    return f"{value:#.3g}" if value < 100 else f"{float(f'{value:.3g}'):,.0f}"


def _launch(report, command) -> int:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    group = _new_group()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _become(command, group)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    wall_s = time.monotonic() - began
    try:
        while True:
            os.wait()
    except ChildProcessError:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = usage.ru_utime + usage.ru_stime
    Path(report).write_text(json.dumps({"wall_s": wall_s, "cpu_s": cpu_s, "group_cpu_s": _leave(group)}))
    return code


def _new_group() -> Path | None:
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
        root = next(mount[1] for mount in mounts if mount[2] == "cgroup2")
        own = next(
            line for line in Path("/proc/self/cgroup").read_text().splitlines() if line.startswith("0::")
        )
        group = Path(root) / own[3:].strip("/") / f"anubis-bench-{os.getpid()}"
        group.mkdir()
    except (OSError, StopIteration):
        return None
    return group


def _become(command, group) -> NoReturn:
    try:
        if group:
            (group / "cgroup.procs").write_text(str(os.getpid()))
        os.execvp(command[0], command)
    finally:
        os._exit(127)


def _leave(group) -> float | None:
    if group is None:
        return None
    counts = dict(line.split() for line in (group / "cpu.stat").read_text().splitlines())
    group.rmdir()
    return int(counts["usage_usec"]) / 1e6


if __name__ == "__main__":
    sys.exit(_launch(sys.argv[1], sys.argv[2:]))
