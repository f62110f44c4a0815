"""Engine ``process``: runs the benchmark as a process tree on this machine, under an agent that outlives its parent.

An agent is one Python interpreter in a separate session. Slots prevent measured runs from disturbing one another: a
slot is a lock file that the agent holds through an inherited descriptor, so the kernel frees it when the agent ends.
"""

import logging
import math
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import NoCapacityError, RevokedError, StageError, disk_error
from anubis.model.hardware import Hardware, Strategy
from anubis.model.launch import Launch, Replica
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.pipeline.host import agent_record, data_links, resources
from anubis.pipeline.host.files import not_startable, prepare
from anubis.pipeline.host.lock_files import LockFiles
from anubis.pipeline.launch import HOST_AGENT
from anubis.record import access, layout, liveness
from anubis.record.files import FolderFiles
from anubis.settings import load, setting

log = logging.getLogger(__name__)

#: An agent of another process that has not appeared this long after it was first observed has failed to start.
APPEAR_S = 15.0
#: Bytes at the end of an agent's own output that are read.
_LONGEST_LOG = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSettings:
    """Settings of this engine."""

    #: Folder for slots and extracted scripts.
    folder: Path
    #: Folder of all records.
    records: Path
    #: Runs are placed only with at least so much free disk space; bytes.
    min_free_bytes: int
    #: Runs measured at the same time on this machine; with more than one they disturb one another; runs
    slots: int = setting("ANUBIS_PROCESS_SLOTS", default=1, least=1)


def build(surroundings: Surroundings) -> "ProcessEngine":
    """Build the engine; its entry point names this function."""
    core = surroundings.settings
    given = {"folder": core.home / "process", "records": core.records, "min_free_bytes": core.min_free_bytes}
    return ProcessEngine(load(ProcessSettings, surroundings.environ, **given))


class ProcessEngine:
    """Places agents as processes on this machine."""

    name = "process"

    def __init__(self, settings: ProcessSettings) -> None:
        self._settings = settings
        self._locks = LockFiles(settings.folder)
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        #: Placement -> monotonic time since which its agent is expected to appear.
        self._expected_s: dict[str, float] = {}
        self.capabilities = Capabilities(
            strategies=frozenset({Strategy.SINGLE_NODE}),
            mounting=Mounting(
                agent=HOST_AGENT, records=str(settings.records), scripts=str(settings.folder / "scripts")
            ),
            data=True,
            gpus=len(resources.gpus()),
            cpus=len(resources.cpus()),
            memory_gb=math.inf,
        )

    def placed(self, run: Run) -> Placement | None:
        record = layout.role_folder(str(self._settings.records), run.id, run.attempt)
        return self._placement(run, record) if Path(record).exists() else None

    def place(self, run: Run, launch: Launch) -> Placement:
        (replica,) = launch.replicas
        placement = self._placement(run, replica.record)
        started = self._started.get(placement.name)
        if liveness.is_revoked(replica.record):
            raise _revoked(replica)
        if liveness.state(replica.record) != liveness.ABSENT or (started and started.poll() is None):
            return placement
        self._check_disk()
        locks: list[int] = []
        try:
            locks.append(self._take_slot(replica.record))
            limited = self._limited(replica, run.descriptor.hardware, locks)
            data_links.put(replica.mounts, self._settings.folder, locks)
            record = prepare(limited)
            agent_record.take_ballast(record)
            if liveness.is_revoked(replica.record):  # while this process was stopped
                agent_record.drop_ballast(record)
                raise _revoked(replica)
            self._started[placement.name] = _start(limited, record, locks)
        except OSError as error:
            raise not_startable(error, self._settings.records) from error
        finally:
            for lock in locks:
                os.close(lock)
        return placement

    def revoke(self, run: Run) -> bool:
        record = layout.role_folder(str(self._settings.records), run.id, run.attempt)
        try:
            return agent_record.revoke(Path(record))
        except OSError as error:
            raise disk_error(f"{record} cannot be written", error) from error

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        """See the contract. Leaves out also a placement that cannot be observed now, for example for lack of memory."""
        seen = {}
        for placement in placements:
            if self._is_here(placement):
                try:
                    seen[placement.name] = self._look(placement)
                except Exception:  # affects no other placement
                    log.exception("cannot observe placement %s", placement.name)
        return seen

    def cancel(self, placement: Placement) -> None:
        if self._is_here(placement):  # elsewhere the process id in the record is that of another process
            agent_record.cancel(Path(placement.details["record"]))

    def logs(self, placement: Placement) -> Iterator[bytes]:
        files = FolderFiles(placement.details["record"])
        state = files.state(layout.AGENT_LOG)
        start = max(0, state.size_bytes - _LONGEST_LOG) if state else 0
        yield files.read(layout.AGENT_LOG, start, _LONGEST_LOG)

    def _placement(self, run: Run, record: str) -> Placement:
        name = f"{run.id}.{run.attempt}"
        return Placement(engine=self.name, name=name, details={"record": record} | self._here)

    @cached_property
    def _here(self) -> dict[str, str]:
        return {"host": socket.gethostname(), "folder": str(self._settings.folder.resolve())}

    def _is_here(self, placement: Placement) -> bool:
        """Whether it was placed on this machine and home folder: several of them can share a database."""
        return self._here.items() <= placement.details.items()

    def _check_disk(self) -> None:
        access.make_folder(str(self._settings.folder))
        free = shutil.disk_usage(self._settings.folder).free
        if free < self._settings.min_free_bytes:
            raise StageError(
                f"only {free >> 20} MiB free under {self._settings.folder}, "
                f"{self._settings.min_free_bytes >> 20} MiB are needed to place a run",
                cause=Cause.DISK_FULL,
                remedy=Cause.DISK_FULL.remedy,
            )

    def _limited(self, replica: Replica, hardware: Hardware, locks: list[int]) -> Replica:
        """The replica with the requested limits as far as this machine has them; ``locks`` gets those of its devices."""
        can, take_lock = self.capabilities, partial(self._locks.take, record=replica.record)
        words: list[str] = []
        if hardware.gpus is not None and hardware.gpus <= can.gpus:
            names = _allowed_gpus(replica.environment, hardware.gpus)
            gpus = resources.take(take_lock, "gpu", names, hardware.gpus, locks)
            words += ["--gpus", ",".join(gpus) or "none"]
        if hardware.cpus is not None and hardware.cpus <= can.cpus:
            count = math.ceil(hardware.cpus)
            cpus = resources.take(take_lock, "cpu", resources.cpus(), count, locks)
            words += ["--cpus", ",".join(cpus)]
        if hardware.memory_gb is not None:
            words += ["--memory-bytes", str(int(hardware.memory_gb * (1 << 30)))]
        return replica.with_options(*words)

    def _take_slot(self, record: str) -> int:
        for number in range(self._settings.slots):
            slot = self._locks.take(f"slot-{number}", record)
            if slot is not None:
                return slot
        raise NoCapacityError(
            f"all {self._settings.slots} slots of this machine are in use",
            again_after_s=1.0,
            remedy="wait, or raise ANUBIS_PROCESS_SLOTS if runs may disturb one another",
        )

    def _look(self, placement: Placement) -> Observation:
        record = Path(placement.details["record"])
        started = self._started.get(placement.name)
        runs = started is not None and started.poll() is None
        if not runs:
            self._started.pop(placement.name, None)
        observation = agent_record.observed(record)
        if observation is None:
            if runs or (started is None and self._may_appear(placement, record)):
                return Observation(seen=Seen.WAITING)
            observation = agent_record.give_up(
                record, f"the agent did not start: {self._last_message(placement)}"
            )
        self._expected_s.pop(placement.name, None)
        return observation or Observation(seen=Seen.WAITING)

    def _may_appear(self, placement: Placement, record: Path) -> bool:
        """Whether an agent that another process started may still appear. The wall clock may jump, so it does not count."""
        now_s = time.monotonic()
        return record.exists() and now_s - self._expected_s.setdefault(placement.name, now_s) < APPEAR_S

    def _last_message(self, placement: Placement) -> str:
        text = b"".join(self.logs(placement)).decode(errors="replace").strip()
        return text.splitlines()[-1] if text else "it left no message"


def _revoked(replica: Replica) -> RevokedError:
    return RevokedError(f"the claim of {replica.record} was revoked before its agent had started")


def _allowed_gpus(environment: Mapping[str, str], count: int) -> list[str]:
    """The GPUs among which a run may choose: those that its environment names, else all. Raises StageError."""
    visible = environment.get("CUDA_VISIBLE_DEVICES")
    if visible is None:
        return resources.gpus()
    names = [name.strip() for name in visible.split(",") if name.strip()]
    if len(names) < count:
        raise StageError(
            f'CUDA_VISIBLE_DEVICES = "{visible}" leaves {len(names)} GPUs, but hardware.gpus is {count}',
            cause=Cause.USER_ERROR,
            remedy="change one of them",
        )
    return names


def _start(replica: Replica, record: Path, locks: Sequence[int]) -> subprocess.Popen[bytes]:
    """Start the agent as the leader of a session. It inherits the locks."""
    agent_log = access.create(str(record / layout.AGENT_LOG), os.O_WRONLY | os.O_APPEND)
    with os.fdopen(agent_log, "ab") as log:
        return subprocess.Popen(
            replica.argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=replica.environment,
            start_new_session=True,
            pass_fds=locks,
        )
