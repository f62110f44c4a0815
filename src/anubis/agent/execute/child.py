"""Starts the benchmark in a new session with its stdout and stderr as pipes, and records its start time before exec."""

from __future__ import annotations

import errno
import os
from signal import NSIG, SIG_DFL, SIG_IGN, SIGKILL, getsignal, signal
from time import monotonic_ns

from anubis.agent.execute.padding import padded
from anubis.agent.execute.prctl import die_with_parent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.execute.limits import Limits

_FILE, _FOLDER = 0o100000, 0o040000  # stat(2), S_IFMT
#: The new process reports its start time in so many bytes before exec, followed by one byte, errno, if exec fails.
_STAMP_BYTES = 8


class CannotStartError(OSError):
    """The command does not exist, or the system refuses to run it; the text is shown to users."""


def find(program: str, path: str, cwd: str) -> str:
    """Path of the program, searched for as a shell does. Raises CannotStartError."""
    refused = ""
    places = [program] if "/" in program else [f"{folder or '.'}/{program}" for folder in path.split(":")]
    for place in [place if place.startswith("/") or not cwd else f"{cwd}/{place}" for place in places]:
        if _kind(place) == _FILE:
            if os.access(place, os.X_OK):
                return program if "/" in program else place
            refused = refused or place
    if refused:
        raise CannotStartError(errno.EACCES, f"{refused} is not executable")
    where = "there is no such file" if "/" in program else "it is not in any folder of PATH"
    raise CannotStartError(errno.ENOENT, f"the program {program!r} was not found: {where}")


def _kind(path: str) -> int:
    """The type bits of stat(2); 0 if the path does not exist."""
    try:
        return os.stat(path).st_mode & 0o170000
    except OSError:
        return 0


def start(  # noqa: PLR0917  called once
    command: list[str],
    environment: dict[str, str],
    outputs: tuple[int, int],
    cwd: str,
    limits: Limits,
    layout_offset: int,
) -> tuple[int, int]:
    """Start the command; returns its process id and the monotonic time in ns right before exec.

    ``layout_offset`` is that of ``padding``. Raises CannotStartError.
    """
    if cwd and _kind(cwd) != _FOLDER:
        raise CannotStartError(errno.ENOENT, f"the working folder {cwd} does not exist")
    program = find(command[0], environment.get("PATH", "/bin:/usr/bin"), cwd)
    environment = padded(program, command, environment, layout_offset)
    report, report_write = os.pipe()  # exec closes it: end of file means that the benchmark runs
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        _become(program, command, environment, outputs, cwd, limits, report_write, parent)
    os.close(report_write)
    received = b""
    while True:
        part = os.read(report, 64)
        if not part:
            break
        received += part
    os.close(report)
    if len(received) <= _STAMP_BYTES:
        return pid, int.from_bytes(received, "little") or monotonic_ns()
    os.waitpid(pid, 0)
    number = received[-1]
    why = "its #! line names a missing interpreter" if number == errno.ENOENT else os.strerror(number)
    raise CannotStartError(number, f"{program} could not be started: {why}")


def _become(  # noqa: PLR0917  called once, in the new process
    program: str,
    command: list[str],
    environment: dict[str, str],
    outputs: tuple[int, int],
    cwd: str,
    limits: Limits,
    report: int,
    parent: int,
) -> None:
    """In the new process: never returns."""
    try:
        die_with_parent(SIGKILL)
        if os.getppid() != parent:
            os._exit(127)
        os.setsid()
        # Python, the agent or its starter (a shell in the background) ignores some signals, and exec would keep that.
        for number in range(1, NSIG):
            if getsignal(number) is SIG_IGN:
                signal(number, SIG_DFL)
        null = os.open("/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        os.dup2(outputs[0], 1)
        os.dup2(outputs[1], 2)
        if cwd:
            os.chdir(cwd)
        limits.apply()
        os.write(report, monotonic_ns().to_bytes(_STAMP_BYTES, "little"))
        os.execve(program, command, environment)
    except OSError as error:
        os.write(report, bytes([error.errno or 0]))
    finally:
        os._exit(127)


def stop_inheritance() -> None:
    """Keep the benchmark from inheriting the descriptors that the agent inherited, such as the lock of a slot."""
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        return
    for name in names:
        if int(name) > 2:
            try:
                os.set_inheritable(int(name), False)
            except OSError:  # the descriptor of the listing itself
                continue
