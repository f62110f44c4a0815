"""CPUs and GPUs of this machine that one run has for itself.

Each is a lock file that the agent holds, so the kernel frees it when the agent ends: through an inherited descriptor, or,
in a container, through a lock of the mounted file.
"""

import contextlib
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from anubis.model.cause import Cause
from anubis.model.descriptor import Descriptor
from anubis.model.errors import NoCapacityError, StageError
from anubis.model.hardware import Hardware
from anubis.model.launch import Replica
from anubis.model.server import ServerHardware
from anubis.pipeline.host.files import not_startable
from anubis.pipeline.host.lock_files import LockFiles
from anubis.submission.bundle import MPI, SERVER

#: Folder in the home folder with the lock files, which all engines of this machine share.
FOLDER = "process"
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


@dataclass(slots=True)
class Reserved:
    """What one run has for itself on this machine while its locks are held."""

    files: LockFiles
    #: The record of the run.
    record: str
    #: Open lock files and their paths. The first is that of the slot.
    locks: list[int] = field(default_factory=list)
    paths: list[Path] = field(default_factory=list)
    #: Names of CPUs and GPUs; None: the run shares those of the machine.
    cpus: list[str] | None = None
    gpus: list[str] | None = None

    def add(self, name: str) -> bool:
        """Take the lock of this name; False if another run has it. Raises OSError."""
        lock = self.files.take(name, self.record)
        if lock is None:
            return False
        self.locks.append(lock)
        self.paths.append(self.files.path(name))
        return True

    def take(self, kind: str, names: Sequence[str], count: int) -> list[str]:
        """The first ``count`` of the named resources that no other run has.

        Raises NoCapacityError if not enough are free.
        """
        taken: list[str] = []
        for name in names:
            if len(taken) == count:
                break
            file = re.sub(r"[^\w-]", "_", f"{kind}-{name}")
            if self.add(file):
                taken.append(name)
        if len(taken) < count:
            raise NoCapacityError(
                f"{count} {kind.upper()}s are requested, {len(taken)} are free",
                again_after_s=1.0,
                remedy="wait until other runs have ended",
            )
        return taken

    def move_paths(self, other: "Reserved") -> None:
        """Let the agent with this reservation hold the locks of another replica too."""
        self.paths += other.paths
        other.paths = []

    def close(self) -> None:
        """Close the files; processes that inherited them keep the locks."""
        while self.locks:
            os.close(self.locks.pop())

    def options(self) -> list[str]:
        """Options of the agent that restrict the benchmark to its CPUs and GPUs."""
        words = [] if self.gpus is None else ["--gpus", ",".join(self.gpus) or "none"]
        return words if self.cpus is None else [*words, "--cpus", ",".join(self.cpus)]


def requested(replica: Replica, descriptor: Descriptor) -> Hardware | ServerHardware:
    """What the descriptor requests for a replica."""
    server = descriptor.server if replica.role.name == SERVER else None
    return server.hardware if server else descriptor.hardware


def needed(replica: Replica, descriptor: Descriptor) -> Hardware | ServerHardware:
    """What a replica needs with the processes that it starts: the launcher of MPI starts the ranks of all instances."""
    hardware = descriptor.hardware
    if hardware.strategy not in MPI or hardware.distributed is None:
        return requested(replica, descriptor)
    instances = hardware.distributed.num_instances
    values = {name: getattr(hardware, name) for name in ("cpus", "gpus", "memory_gb")}
    return replace(hardware, **{name: value and value * instances for name, value in values.items()})


#: What one replica needs, and its environment.
Request = tuple[Hardware | ServerHardware, Mapping[str, str]]


@contextlib.contextmanager
def all_reserved(
    files: LockFiles, record: str, requests: Sequence[Request], *, slots: int
) -> Iterator[list[Reserved]]:
    """The reservations of all replicas while their agents are started, which take over the locks.

    Raises what ``reserve_all`` raises, and StageError for an OSError of the start.
    """
    every: list[Reserved] = []
    try:
        every = reserve_all(files, record, requests, slots=slots)
        yield every
    except OSError as error:
        raise not_startable(error, Path(record)) from error
    finally:
        for each in every:
            each.close()


def reserve_all(files: LockFiles, record: str, requests: Sequence[Request], *, slots: int) -> list[Reserved]:
    """Reserve a slot for the first replica, and CPUs and GPUs for each, as far as this machine has those of all together.

    The caller closes the results. Raises NoCapacityError, OSError, and StageError if the environment of a replica excludes
    requested GPUs.
    """
    every = [Reserved(files=files, record=record) for _ in requests]
    has_gpus = sum(hardware.gpus or 0 for hardware, _ in requests) <= len(gpus())
    has_cpus = sum(math.ceil(hardware.cpus or 0) for hardware, _ in requests) <= len(cpus())
    try:
        if not any(every[0].add(f"slot-{number}") for number in range(slots)):
            raise NoCapacityError(
                f"all {slots} slots of this machine are in use",
                again_after_s=1.0,
                remedy="wait, or raise ANUBIS_PROCESS_SLOTS if runs may disturb one another",
            )
        for reserved, (hardware, environment) in zip(every, requests, strict=True):
            if hardware.gpus is not None and has_gpus:
                names = _allowed_gpus(environment, hardware.gpus)
                reserved.gpus = reserved.take("gpu", names, hardware.gpus)
            if hardware.cpus is not None and has_cpus:
                reserved.cpus = reserved.take("cpu", cpus(), math.ceil(hardware.cpus))
    except BaseException:
        for reserved in every:
            reserved.close()
        raise
    return every


def _allowed_gpus(environment: Mapping[str, str], count: int) -> list[str]:
    """The GPUs among which a run may choose: those that its environment names, else all. Raises StageError."""
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return gpus()
    names = [name.strip() for name in visible.split(",") if name.strip()]
    if len(names) < count:
        raise StageError(
            f'CUDA_VISIBLE_DEVICES = "{visible}" leaves {len(names)} GPUs, but hardware.gpus is {count}',
            cause=Cause.USER_ERROR,
            remedy="change one of them",
        )
    return names
