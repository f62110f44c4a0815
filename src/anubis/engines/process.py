"""Engine ``process``: runs the benchmark as a process tree on this machine, under an agent that outlives its parent.

An agent is one Python interpreter in a separate session. Slots prevent measured runs from disturbing one another: a
slot is a lock file that the agent holds through an inherited descriptor, so the kernel frees it when the agent ends.
"""

import math
import os
import subprocess
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from anubis.agent.execute import governor
from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.world import Surroundings
from anubis.model.hardware import Hardware, Strategy
from anubis.model.launch import Launch, Replica
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.model.server import ServerHardware
from anubis.pipeline.host import agent_record, data_links, peers, resources, sandbox
from anubis.pipeline.host.files import check_disk, prepare
from anubis.pipeline.host.lock_files import LockFiles
from anubis.pipeline.host.placements import HostPlacements, check_claim
from anubis.pipeline.host.resources import Reserved
from anubis.pipeline.launch import HOST_AGENT
from anubis.pipeline.replicas.ports import check_free
from anubis.record import access, layout, liveness
from anubis.settings import load, setting


def _paths(text: str) -> tuple[str, ...]:
    paths = tuple(os.path.normpath(path.strip()) for path in text.split(":"))
    if not all(path.startswith("/") and path != "/" for path in paths):
        raise ValueError("a list of absolute paths, separated by colons")
    return paths


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
    #: Whether benchmarks run in a sandbox.
    sandboxed: bool = False
    #: What benchmarks in a sandbox must not see, also below a folder that they see.
    hidden: tuple[str, ...] = ()
    #: Folders that benchmarks in a sandbox can read, in addition to the system; paths, separated by colons; none
    sandbox_paths: tuple[str, ...] = setting("ANUBIS_SANDBOX_PATHS", default=(), read=_paths)
    #: User of benchmarks in a sandbox if Anubis runs as root; name; the user id 65534
    sandbox_user: str = setting("ANUBIS_SANDBOX_USER", default="")
    #: Processes and threads of a sandbox; processes
    sandbox_processes: int = setting("ANUBIS_SANDBOX_PROCESSES", default=4096, least=16)
    #: Memory of a sandbox if the descriptor asks for none; bytes; 90 % of the memory of the machine
    sandbox_memory_bytes: int = setting(
        "ANUBIS_SANDBOX_MEMORY_BYTES", default_factory=sandbox.most_memory, least=1 << 26
    )


def build(surroundings: Surroundings) -> "ProcessEngine":
    """Build the engine; its entry point names this function."""
    core = surroundings.settings
    given = {
        "folder": core.home / resources.FOLDER,
        "records": core.records,
        "min_free_bytes": core.min_free_bytes,
        "sandboxed": core.sandbox == "on",
        "hidden": (str(core.home), str(core.data), str(core.secrets)),
    }
    return ProcessEngine(load(ProcessSettings, surroundings.environ, **given))


class ProcessEngine:
    """Places agents as processes on this machine."""

    name = "process"

    def __init__(self, settings: ProcessSettings) -> None:
        self._settings = settings
        self._locks = LockFiles(settings.folder)
        #: Record -> agent.
        self._started: dict[str, _Agent] = {}
        #: Agents whose result is there, and which may be about to exit.
        self._ending: list[_Agent] = []
        self._placements = HostPlacements(self.name, settings.folder, settings.records)
        self.capabilities = Capabilities(
            strategies=frozenset({Strategy.SINGLE_NODE} if settings.sandboxed else Strategy),
            mounting=Mounting(
                agent=HOST_AGENT,
                records=str(settings.records),
                scripts=str(settings.folder / "scripts"),
                one_machine=True,
                shares_ports=True,
            ),
            encloses=settings.sandboxed,
            data=True,
            gpus=len(resources.gpus()),
            cpus=len(resources.cpus()),
            memory_gb=math.inf,
            uses=sandbox.PROGRAM if settings.sandboxed else "",
            missing=sandbox.missing() if settings.sandboxed else "",
        )

    def placed(self, run: Run) -> Placement | None:
        return self._placements.placed(run)

    def place(self, run: Run, launch: Launch) -> Placement:
        measured = launch.measured
        placement = self._placements.of(run, measured.record)
        check_claim(measured.record)
        if liveness.state(measured.record) != liveness.ABSENT or self._is_running(measured.record):
            return placement
        settings = self._settings
        check_disk(settings.folder, settings.min_free_bytes)
        requests = [(resources.needed(each, run.descriptor), each.environment) for each in launch.replicas]
        with resources.all_reserved(self._locks, measured.record, requests, slots=settings.slots) as every:
            check_free(launch)
            with suppress(OSError):  # anubis doctor reports it
                governor.put_back_left(str(settings.folder))
            limits = {
                each.record: [
                    *reserved.options(),
                    *_memory(resources.requested(each, run.descriptor)),
                    *(self._state(run) if each is measured else ()),
                ]
                for each, reserved in zip(launch.replicas, every, strict=True)
            }
            replicas = [each.with_options(*limits[each.record]) for each in launch.in_order]
            if settings.sandboxed:
                replicas = [self._enclosed(run, replicas[0])]
            for replica in replicas if not settings.sandboxed else ():
                data_links.put(replica.mounts, settings.folder, every[0].locks)
            self._start(replicas, every)
        return placement

    def _enclosed(self, run: Run, replica: Replica) -> Replica:
        """The replica with the description of its sandbox. Raises StageError."""
        settings, hardware = self._settings, run.descriptor.hardware
        memory = hardware.memory_gb
        limits = sandbox.Limits(
            memory_bytes=int(memory * (1 << 30)) if memory else settings.sandbox_memory_bytes,
            processes=settings.sandbox_processes,
            cpus=hardware.cpus or 0,
        )
        return sandbox.enclosed(
            replica,
            limits,
            shown=settings.sandbox_paths,
            hidden=settings.hidden,
            user=settings.sandbox_user,
            gpus=hardware.gpus != 0 and resources.gpus() != [],
        )

    def _start(self, replicas: Sequence[Replica], reserved: Sequence[Reserved]) -> None:
        """Start the agents, that of the measured replica last. They inherit all locks."""
        folders = [prepare(replica) for replica in replicas]
        agent_record.take_ballast(folders[-1])
        locks = [lock for each in reserved for lock in each.locks]
        for replica, record in zip(replicas, folders, strict=True):
            check_claim(str(folders[-1]))  # it may have been revoked while this process was stopped
            if liveness.state(replica.record) != liveness.ABSENT or self._is_running(replica.record):
                continue
            try:
                self._started[replica.record] = _start(replica, record, locks)
            except OSError:
                if replica is not replicas[0]:
                    agent_record.revoke(folders[-1])  # those that have started end
                raise

    def _is_running(self, record: str) -> bool:
        """Whether this process started the agent with this record, and it has not ended."""
        started = self._started.get(record)
        return started is not None and started.poll() is None

    def _state(self, run: Run) -> Sequence[str]:
        """The option of an agent that may change the machine: that of the measured replica."""
        return ("--machine-state", str(self._settings.folder)) if run.descriptor.measure.governor else ()

    def revoke(self, run: Run) -> bool:
        return self._placements.revoke(run)

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        return self._placements.observe(placements, self._look)

    def cancel(self, placement: Placement) -> None:
        if self._placements.is_here(placement):  # elsewhere the process id is that of another process
            agent_record.cancel(Path(placement.details["record"]))

    def logs(self, placement: Placement) -> Iterator[bytes]:
        yield self._placements.agent_log(placement)

    def _look(self, placement: Placement) -> Observation:
        record = Path(placement.details["record"])
        observation = peers.settled(record, self._look_at(record, placement))
        if observation.seen in {Seen.ENDED, Seen.LOST}:
            attempt = f"{record.parent.parent}/"
            for each in [each for each in tuple(self._started) if each.startswith(attempt)]:
                if agent := self._started.pop(each, None):
                    self._ending.append(agent)
        for agent in tuple(self._ending):  # one that is not waited for remains a zombie
            if agent.poll() is not None:
                with suppress(ValueError):  # another thread removed it
                    self._ending.remove(agent)
        return observation

    def _look_at(self, record: Path, placement: Placement) -> Observation:
        """The state of the measured replica."""
        was_started, runs = str(record) in self._started, self._is_running(str(record))
        observation = agent_record.observed(record)
        if observation is None:
            if runs or (not was_started and self._placements.may_appear(placement)):
                return Observation(seen=Seen.WAITING)
            observation = agent_record.give_up(
                record, f"the agent did not start: {self._last_message(placement)}"
            )
        self._placements.appeared(placement)
        return observation or Observation(seen=Seen.WAITING)

    def _last_message(self, placement: Placement) -> str:
        text = b"".join(self.logs(placement)).decode(errors="replace").strip()
        return text.splitlines()[-1] if text else "it left no message"


def _memory(hardware: Hardware | ServerHardware) -> list[str]:
    """Options of the agent that limit the memory of each process of the benchmark."""
    return [] if hardware.memory_gb is None else ["--memory-bytes", str(int(hardware.memory_gb * (1 << 30)))]


class _Agent(subprocess.Popen[bytes]):
    """An agent. It may outlive the process that started it, so it is no mistake that it runs when this object is deleted."""

    def __del__(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            super().__del__()


def _start(replica: Replica, record: Path, locks: Sequence[int]) -> _Agent:
    """Start the agent as the leader of a session. It inherits the locks."""
    agent_log = access.create(str(record / layout.AGENT_LOG), os.O_WRONLY | os.O_APPEND)
    with os.fdopen(agent_log, "ab") as log:
        return _Agent(
            replica.argv,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=replica.environment,
            start_new_session=True,
            pass_fds=locks,
        )
