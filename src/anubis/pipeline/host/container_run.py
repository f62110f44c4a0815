"""The command ``run`` of Podman and Docker for a replica: its image, limits, mounts and variables."""

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from anubis.model.cause import Cause
from anubis.model.errors import StageError
from anubis.model.hardware import Hardware
from anubis.model.launch import Mount, Replica
from anubis.model.server import ServerHardware
from anubis.pipeline.host.container_tool import ContainerTool
from anubis.pipeline.host.images import Image
from anubis.pipeline.host.lock_files import take_lock
from anubis.pipeline.host.resources import Reserved, cpus
from anubis.record.files import write_all

#: Folder in a container with everything of Anubis.
INSIDE = "/anubis"
_LOCKS, _VARIABLES = f"{INSIDE}/locks", f"{INSIDE}/variables.json"
#: The loader would preload libraries of the image into the interpreter of the agent: only the benchmark gets them.
_PRELOAD = "LD_PRELOAD"


def prepared(replica: Replica, image: Image, reserved: Reserved) -> Replica:
    """The replica with its command and the options of its agent that depend on the image and on what is reserved.

    Raises StageError if there is no command.
    """
    role = replica.role
    if not role.command:
        words = (*image.entry_point, *(role.arguments or image.command))
        if not words:
            raise StageError(
                f"the image {role.image} has no entry point and no command, and the descriptor has no command",
                cause=Cause.NO_ENTRY_POINT,
                remedy=Cause.NO_ENTRY_POINT.remedy,
            )
        replica = replica.with_command(*words)
    locks = ":".join(f"{_LOCKS}/{path.name}" for path in reserved.paths)
    about = ["--image", role.image or "", "--image-digest", image.digest]
    return replica.with_options(*about, *reserved.options(), "--locks", locks, "--environment", _VARIABLES)


def sized(replica: Replica, needed: Hardware | ServerHardware) -> Replica:
    """The replica with the limits of everything that runs in its container."""
    role = replace(replica.role, cpus=needed.cpus, memory_gb=needed.memory_gb)
    return replace(replica, role=role)


def words(
    tool: ContainerTool, replica: Replica, image: Image, reserved: Reserved, *, variables: Path, network: str
) -> list[str]:
    """Options of ``run`` for a prepared replica, with the image and the agent's command line at their end."""
    locks = (Mount(target=f"{_LOCKS}/{path.name}", source=str(path)) for path in reserved.paths)
    mounts = [*replica.mounts, *locks, Mount(target=_VARIABLES, source=str(variables))]
    program, *arguments = replica.argv
    return [
        *("--user", tool.user, "--log-driver", "json-file", "--pids-limit", "-1"),
        # Folders of this machine are mounted without changing their labels.
        *("--security-opt", "label=disable"),
        *(["--network", network] if network else []),
        *(["--env", f"{_PRELOAD}="] if _PRELOAD in image.environment else []),
        *_limits(replica),
        *tool.gpu_options(reserved.gpus or []),
        *(word for mount in mounts for word in ("--mount", _mount(mount))),
        *("--entrypoint", program, image.id, *arguments),
    ]


@contextlib.contextmanager
def variables_file(folder: Path, replica: Replica, image: Image) -> Iterator[Path]:
    """A private file with the variables of a replica, for as long as its agent may read it."""
    preload = {name: value for name, value in image.environment.items() if name == _PRELOAD}
    path, lock = folder, None
    while lock is None:
        path = folder / f"variables-{os.urandom(8).hex()}.json"
        lock = take_lock(path)
    try:
        write_all(lock, json.dumps({**preload, **replica.environment}).encode())
        yield path
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def remove_variables(folder: Path) -> None:
    """Remove the files of variables whose processes were killed."""
    for path in folder.glob("variables-*.json"):
        if (lock := take_lock(path)) is not None:
            path.unlink(missing_ok=True)
            os.close(lock)


def memory_limit(replica: Replica) -> int | None:
    """The memory limit of a replica in bytes; None: this machine does not have so much, or no limit is requested."""
    requested = replica.role.memory_gb
    limit = None if requested is None else int(requested * (1 << 30))
    return limit if limit is not None and limit <= memory_bytes() else None


def memory_bytes() -> int:
    """The memory of this machine."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _limits(replica: Replica) -> Sequence[str]:
    role, limit, found = replica.role, memory_limit(replica), []
    if role.cpus is not None and role.cpus <= len(cpus()):
        found += ["--cpus", f"{role.cpus:g}"]
    if limit is not None:  # without swap, which would hide a lack of memory
        found += ["--memory", str(limit), "--memory-swap", str(limit)]
    if role.extended_shm:
        found += ["--shm-size", str(memory_bytes())]
    return [*found, "--privileged"] if role.privileged else found


def _mount(mount: Mount) -> str:
    return f"type=bind,source={mount.source},target={mount.target}{',readonly' if mount.read_only else ''}"
