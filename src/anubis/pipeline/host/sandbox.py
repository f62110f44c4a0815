"""The sandbox of a benchmark on this machine: what bubblewrap shows to it, and as which user it runs.

The benchmark sees the system, the folders that the operator names, its data, its scripts and its working folder. The
agent starts it (``agent/sandbox``) and stays outside.
"""

import functools
import json
import os
import pwd
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anubis.model.cause import Cause
from anubis.model.errors import StageError
from anubis.model.launch import LaunchFile, Replica
from anubis.record import layout

PROGRAM = "bwrap"
REMEDY = (
    "install bubblewrap and allow user namespaces, run benchmarks in containers (ANUBIS_ENGINE=container),"
    " or set ANUBIS_SANDBOX=off if you trust everyone who submits"
)
#: Folders of the system, as folders or as links to /usr.
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/sys")
#: What programs need of /etc. The rest may contain secrets that the user of the service can read.
_ETC = [
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "group",
    "host.conf",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "OpenCL",
    "os-release",
    "passwd",
    "pki",
    "protocols",
    "resolv.conf",
    "services",
    "ssl",
    "timezone",
]
#: Where the agent's modules are in a sandbox.
_AGENT = "/anubis-agent"
_START = f"import sys; sys.path.insert(0, {_AGENT!r}); from anubis.agent.sandbox.inside import main; main()"
#: Accelerators of this machine.
_DEVICES = ("/dev/nvidia*", "/dev/kfd", "/dev/dri")
_PROBE_S = 20
#: All rights except those with which root becomes another user.
_BECOMES_USER = ["--cap-drop", "ALL", "--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of all processes in a sandbox together."""

    memory_bytes: int
    processes: int
    #: 0: no limit.
    cpus: float


def most_memory() -> int:
    """The memory of a sandbox without another limit: 90 % of that of the machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 9 // 10


@functools.cache
def missing() -> str:
    """What must be done before sandboxes can be used, as the remedy of a refusal; empty: nothing."""
    return REMEDY if why_not() else ""


@functools.cache
def why_not() -> str:
    """Why sandboxes do not work on this machine; empty: they work. Starts one."""
    program = shutil.which(PROGRAM)
    if program is None:
        return "bubblewrap is not installed"
    words = [*_command(program, shown=(), data=(), hidden=(), writable=(), memory_bytes=1 << 24, gpus=False)]
    end = words.index("--chdir") + 2
    try:
        done = subprocess.run(
            [*words[:end], sys_python(), "-I", "-S", "-c", ""],
            capture_output=True,
            timeout=_PROBE_S,
            check=False,
            env={},
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bubblewrap cannot be started: {error}"
    message = done.stderr.decode(errors="replace").strip().splitlines()
    return (message[-1] if message else f"exit status {done.returncode}") if done.returncode else ""


def enclosed(
    replica: Replica,
    limits: Limits,
    *,
    shown: Sequence[str],
    hidden: Sequence[str],
    user: str,
    gpus: bool,
) -> Replica:
    """The replica with the description of its sandbox as a file. Raises StageError.

    The benchmark can read the folders ``shown``, without what is ``hidden``. ``user`` is the name of its user if this
    process is root.
    """
    if reason := why_not():
        raise StageError(
            f"benchmarks cannot be run in a sandbox: {reason}", cause=Cause.INTERNAL, remedy=REMEDY
        )
    record = replica.record
    work, fifo = f"{record}/{layout.WORK}", f"{record}/{layout.FIFO}"
    options = json.loads(replica.files[f"{record}/{layout.OPTIONS}"].content)
    data = [(mount.source or "", mount.target) for mount in replica.mounts]
    scripts = replica.environment.get("BAI_SCRIPTS_PATH")
    if scripts:
        Path(scripts).chmod(0o755)  # its parent is private
    folder = _folder(options["cwd"], scripts, [work, *shown])
    _check_data([target for _, target in data], shown)
    command = _command(
        str(shutil.which(PROGRAM)),
        shown=shown,
        data=[*data, *([(scripts, scripts)] if scripts else [])],
        hidden=hidden,
        writable=(work, fifo),
        memory_bytes=limits.memory_bytes,
        gpus=gpus,
    )
    content = {
        "command": list(command),
        "user": _user(user),
        "environment": {"HOME": work, "TMPDIR": "/tmp"},  # noqa: S108  # nosec B108  that of the sandbox
        "writable": [work, fifo],
        "memory_bytes": limits.memory_bytes,
        "processes": limits.processes,
        "cpus": limits.cpus,
    }
    path = f"{record}/{layout.SANDBOX}"
    files = {**replica.files, path: LaunchFile(content=json.dumps(content).encode())}
    folders = tuple({*replica.folders, work})
    return replace(replica, files=files, folders=folders).with_options("--sandbox", path, "--cwd", folder)


def _command(
    program: str,
    *,
    shown: Sequence[str],
    data: Sequence[tuple[str, str]],
    hidden: Sequence[str],
    writable: Sequence[str],
    memory_bytes: int,
    gpus: bool,
) -> list[str]:
    """Bubblewrap with its options, and the first process of the sandbox. Later options hide what earlier ones show."""
    size = str(memory_bytes // 2)
    isolation = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try", "--unshare-net"]
    words = [program, *isolation, "--as-pid-1", "--die-with-parent"]
    # Root becomes another user inside. Other users have no rights that they could lose.
    words += _BECOMES_USER if _is_root() else ["--unshare-user"]
    words += ["--proc", "/proc", "--dev", "/dev", "--remount-ro", "/dev"]
    for folder in ("/dev/shm", "/tmp"):  # noqa: S108  # nosec B108  those of the sandbox
        words += ["--size", size, "--perms", "1777", "--tmpfs", folder]
    for source, target in data:
        words += [*_parents(target), "--ro-bind", source, target]
    words += _system()
    for path in shown:
        words += [*_parents(path), "--ro-bind", path, path]
    words += _hiding(hidden, shown)
    for path in writable:
        words += [*_parents(path), "--bind", path, path]
    for device in _devices() if gpus else ():
        words += ["--dev-bind", device, device]
    python = sys_python()
    agent = f"{_AGENT}/anubis"
    words += [*_parents(agent), "--ro-bind", str(Path(__file__).parents[2]), agent]
    words += ["--remount-ro", "/", "--chdir", "/"]
    return [*words, python, "-I", "-S", "-c", _START]


def sys_python() -> str:
    """Path of this interpreter, without the links of a virtual environment."""
    return os.path.realpath(sys.executable)


def _is_root() -> bool:
    return os.geteuid() == 0


def _user(name: str) -> list[int] | None:
    """User and group of the benchmark; None: those of this process. Raises StageError."""
    if not _is_root():
        return None
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        entry = None
    if entry is None or entry.pw_uid == 0:
        raise StageError(
            f'benchmarks cannot run as user "{name}"',
            cause=Cause.INTERNAL,
            remedy="set ANUBIS_SANDBOX_USER to a user of this machine other than root",
        )
    return [entry.pw_uid, entry.pw_gid]


def _system() -> Iterator[str]:
    for path in _SYSTEM:
        if Path(path).is_symlink():
            yield from ("--symlink", str(Path(path).readlink()), path)
        elif Path(path).is_dir():
            yield from ("--ro-bind", path, path)
    yield from ("--perms", "0755", "--dir", "/etc")
    for name in _ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")
    if not _is_within(sys.base_prefix, ["/usr"]):
        yield from (*_parents(sys.base_prefix), "--ro-bind", sys.base_prefix, sys.base_prefix)


def _parents(path: str) -> Iterator[str]:
    """Options that make the parents of a path, which other users can enter; bubblewrap makes private ones for root."""
    for parent in reversed(Path(path).parents[:-1]):
        yield from ("--perms", "0755", "--dir", str(parent))


def _hiding(hidden: Sequence[str], shown: Sequence[str]) -> Iterator[str]:
    """Options that hide these paths where a folder that is shown contains them."""
    for path in hidden:
        real = os.path.realpath(path)
        if not _is_within(real, [*map(os.path.realpath, shown), *_SYSTEM, sys.base_prefix]):
            continue
        if Path(real).is_dir():
            yield from ("--tmpfs", real)
        elif Path(real).exists():
            yield from ("--ro-bind", "/dev/null", real)


def _devices() -> Iterator[str]:
    for pattern in _DEVICES:
        for path in sorted(Path("/").glob(pattern[1:])):
            if stat.S_ISCHR(path.stat().st_mode) or path.is_dir():
                yield str(path)


def _is_within(path: str, folders: Sequence[str]) -> bool:
    return any(f"{path}/".startswith(f"{folder}/") for folder in folders)


def _folder(folder: str, scripts: str | None, visible: Sequence[str]) -> str:
    """The working folder: that of the descriptor if the sandbox shows it, else that of the scripts. Raises StageError."""
    if not _is_within(os.path.normpath(folder), visible):
        if scripts:
            return scripts
        raise StageError(
            f"the benchmark runs in a sandbox, which does not show the folder {folder}",
            cause=Cause.USER_ERROR,
            remedy="submit it with --script, or let the operator add the folder to ANUBIS_SANDBOX_PATHS",
        )
    return folder


def _check_data(targets: Sequence[str], shown: Sequence[str]) -> None:
    taken = (*_SYSTEM, "/etc", "/proc", "/dev", _AGENT, sys.base_prefix, *shown)
    for target in map(os.path.normpath, targets):
        if _is_within(target, taken) or any(_is_within(path, [target]) for path in taken):
            raise StageError(
                f"the data cannot be put at {target}: the sandbox of the benchmark has a folder of the system there",
                cause=Cause.DATA,
                remedy="use another path in data.sources, for example /data",
            )
