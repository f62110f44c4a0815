"""Engine ``process``: runs the benchmark as a process tree on this machine, under an agent that outlives its parent.

An agent is one Python interpreter in a separate session. Slots prevent measured runs from disturbing one another: a
slot is a lock file that the agent holds through an inherited descriptor, so the kernel frees it when the agent ends.
"""

import logging
import math
import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.world import Surroundings
from anubis.model.hardware import Hardware, Strategy
from anubis.model.launch import Launch, Replica
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.pipeline.host import agent_record, data_links, resources
from anubis.pipeline.host.files import check_disk, not_startable, prepare
from anubis.pipeline.host.lock_files import LockFiles
from anubis.pipeline.host.placements import HostPlacements, check_claim
from anubis.pipeline.launch import HOST_AGENT
from anubis.record import access, layout, liveness
from anubis.settings import load, setting

log = logging.getLogger(__name__)


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
    given = {
        "folder": core.home / resources.FOLDER,
        "records": core.records,
        "min_free_bytes": core.min_free_bytes,
    }
    return ProcessEngine(load(ProcessSettings, surroundings.environ, **given))


class ProcessEngine:
    """Places agents as processes on this machine."""

    name = "process"

    def __init__(self, settings: ProcessSettings) -> None:
        self._settings = settings
        self._locks = LockFiles(settings.folder)
        self._started: dict[str, subprocess.Popen[bytes]] = {}
        self._placements = HostPlacements(self.name, settings.folder, settings.records)
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
        return self._placements.placed(run)

    def place(self, run: Run, launch: Launch) -> Placement:
        (replica,) = launch.replicas
        placement = self._placements.of(run, replica.record)
        started = self._started.get(placement.name)
        check_claim(replica.record)
        if liveness.state(replica.record) != liveness.ABSENT or (started and started.poll() is None):
            return placement
        settings, hardware = self._settings, run.descriptor.hardware
        check_disk(settings.folder, settings.min_free_bytes)
        reserved = None
        try:
            reserved = resources.reserve(
                self._locks,
                replica.record,
                slots=settings.slots,
                hardware=hardware,
                environment=replica.environment,
            )
            limited = replica.with_options(*reserved.options(), *_memory(hardware))
            data_links.put(replica.mounts, settings.folder, reserved.locks)
            record = prepare(limited)
            agent_record.take_ballast(record)
            check_claim(replica.record)  # it may have been revoked while this process was stopped
            self._started[placement.name] = _start(limited, record, reserved.locks)
        except OSError as error:
            raise not_startable(error, settings.records) from error
        finally:
            if reserved:
                reserved.close()
        return placement

    def revoke(self, run: Run) -> bool:
        return self._placements.revoke(run)

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        """See the contract. Leaves out also a placement that cannot be observed now, for example for lack of memory."""
        seen = {}
        for placement in placements:
            if self._placements.is_here(placement):
                try:
                    seen[placement.name] = self._look(placement)
                except Exception:  # affects no other placement
                    log.exception("cannot observe placement %s", placement.name)
        return seen

    def cancel(self, placement: Placement) -> None:
        if self._placements.is_here(
            placement
        ):  # elsewhere the process id in the record is that of another process
            agent_record.cancel(Path(placement.details["record"]))

    def logs(self, placement: Placement) -> Iterator[bytes]:
        yield self._placements.agent_log(placement)

    def _look(self, placement: Placement) -> Observation:
        record = Path(placement.details["record"])
        started = self._started.get(placement.name)
        runs = started is not None and started.poll() is None
        if not runs:
            self._started.pop(placement.name, None)
        observation = agent_record.observed(record)
        if observation is None:
            if runs or (started is None and self._placements.may_appear(placement)):
                return Observation(seen=Seen.WAITING)
            observation = agent_record.give_up(
                record, f"the agent did not start: {self._last_message(placement)}"
            )
        self._placements.appeared(placement)
        return observation or Observation(seen=Seen.WAITING)

    def _last_message(self, placement: Placement) -> str:
        text = b"".join(self.logs(placement)).decode(errors="replace").strip()
        return text.splitlines()[-1] if text else "it left no message"


def _memory(hardware: Hardware) -> list[str]:
    """Options of the agent that limit the memory of each process of the benchmark."""
    return [] if hardware.memory_gb is None else ["--memory-bytes", str(int(hardware.memory_gb * (1 << 30)))]


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
