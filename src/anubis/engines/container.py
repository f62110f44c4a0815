"""Engine ``container``: runs the benchmark in a container of Podman or Docker on this machine.

The agent runs in the container as its first process, with its own Python, so that every image is measured in the same
way. Its record is a mounted folder: while it runs, it is observed without the container tool.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.world import Surroundings
from anubis.model.access.permits import permits
from anubis.model.cause import Cause
from anubis.model.errors import StageError
from anubis.model.hardware import Strategy
from anubis.model.launch import Launch, Replica
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.pipeline.host import (
    agent_record,
    container_agent,
    container_run,
    container_state,
    container_tool,
    peers,
    resources,
)
from anubis.pipeline.host.container_state import container_of
from anubis.pipeline.host.container_tool import ContainerTool
from anubis.pipeline.host.containers import HOST, Containers, Start
from anubis.pipeline.host.files import check_disk
from anubis.pipeline.host.images import Images
from anubis.pipeline.host.lock_files import LockFiles
from anubis.pipeline.host.placements import HostPlacements, check_claim
from anubis.pipeline.launch import start_agent
from anubis.pipeline.replicas.ports import check_free
from anubis.record import access, liveness
from anubis.settings import load, setting


def _permission(text: str) -> bool:
    if text not in {"0", "1"}:
        raise ValueError("0 or 1")
    return text == "1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerSettings:
    """Settings of this engine."""

    #: Folder for the agent, for pulls and for extracted scripts.
    folder: Path
    #: Folder of the locks of slots, CPUs and GPUs, which the engines of this machine share.
    locks: Path
    #: Folder of all records.
    records: Path
    #: Runs are placed only with at least so much free disk space; bytes.
    min_free_bytes: int
    #: Folders with programs.
    path: str | None = None
    #: Program that starts containers: `podman`, `docker`, or the path of one of them; name; the first that is installed
    tool: str = setting("ANUBIS_CONTAINER_TOOL", default="")
    #: Network of containers, as the option `--network` names it, for example `none` or `host`; name; that of the program
    network: str = setting("ANUBIS_CONTAINER_NETWORK", default="")
    #: Whether descriptors may run privileged containers, which have all rights on this machine; 0 or 1; `0`
    privileged: bool = setting("ANUBIS_CONTAINER_PRIVILEGED", default=False, read=_permission)
    #: Runs measured at the same time on this machine by all engines; with more than one they disturb one another; runs
    slots: int = setting("ANUBIS_PROCESS_SLOTS", default=1, least=1)


def build(surroundings: Surroundings) -> "ContainerEngine":
    """Build the engine; its entry point names this function."""
    core, environ = surroundings.settings, surroundings.environ
    folders = {
        "folder": core.home / "container",
        "locks": core.home / resources.FOLDER,
        "records": core.records,
    }
    given = {**folders, "min_free_bytes": core.min_free_bytes, "path": environ.get("PATH")}
    return ContainerEngine(load(ContainerSettings, environ, **given))


class ContainerEngine:
    """Places agents in containers on this machine."""

    name = "container"

    def __init__(self, settings: ContainerSettings) -> None:
        self._settings = settings
        self._locks = LockFiles(settings.locks)
        self._agent = container_agent.ContainerAgent(settings.folder)
        self._program = container_tool.found(settings.tool, settings.path)
        self._tool = ContainerTool(self._program or settings.tool or container_tool.PROGRAMS[0])
        self._images = Images(self._tool, settings.folder)
        self._placements = HostPlacements(self.name, settings.folder, settings.records)
        self._containers = Containers(self._tool, settings.folder, settings.records, network=settings.network)

    @cached_property
    def capabilities(self) -> Capabilities:
        settings, missing = self._settings, ""
        if self._program is None:
            missing = f"install {settings.tool or 'Podman or Docker'}, or set ANUBIS_CONTAINER_TOOL"
        return Capabilities(
            strategies=frozenset(Strategy),
            mounting=Mounting(
                agent=(*container_agent.PYTHON, *start_agent(container_agent.PACKAGES)),
                records=str(settings.records),
                scripts=str(settings.folder / "scripts"),
                inside=container_run.INSIDE,
                mounts=self._agent.mounts,
                one_machine=True,
                shares_ports=settings.network == HOST,
            ),
            images=True,
            encloses=True,
            image_required=True,
            privileged=settings.privileged,
            data=True,
            gpus=len(resources.gpus()),
            cpus=len(resources.cpus()),
            memory_gb=container_run.memory_bytes() / (1 << 30),
            uses=self._program or "",
            missing=missing,
        )

    def placed(self, run: Run) -> Placement | None:
        return self._placements.placed(run)

    def place(self, run: Run, launch: Launch) -> Placement:
        measured = launch.measured
        record = measured.on_host(measured.record)
        placement = self._placements.of(run, record)
        check_claim(record)
        if liveness.state(record) != liveness.ABSENT:
            return placement
        settings = self._settings
        images = {name: self._images.get(name) for name in map(self._allowed, launch.replicas)}
        check_disk(settings.folder, settings.min_free_bytes)
        access.make_folder(str(settings.locks))
        self._containers.reap_once()
        replicas = [measured, *launch.others]
        needed = [resources.needed(each, run.descriptor) for each in replicas]
        requests = [(one, each.environment) for one, each in zip(needed, replicas, strict=True)]
        with resources.all_reserved(self._locks, record, requests, slots=settings.slots) as every:
            if settings.network == HOST:
                check_free(launch)
            self._agent.build()
            for other in every[1:]:
                every[0].move_paths(other)
            starts = []
            for replica, one, reserved in zip(replicas, needed, every, strict=True):
                image = images[replica.role.image or ""]
                prepared = container_run.prepared(container_run.sized(replica, one), image, reserved)
                starts.append(Start(replica=prepared, image=image, reserved=reserved))
            has_network = permits(launch.permits, "network")
            self._containers.start(placement, starts, has_network=has_network)
        return placement

    def revoke(self, run: Run) -> bool:
        return self._placements.revoke(run)

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        return self._placements.observe(placements, self._look)

    def cancel(self, placement: Placement) -> None:
        if not self._placements.is_here(placement):
            return
        agent_record.cancel(Path(placement.details["record"]))
        self._containers.end(container_of(placement), "TERM")

    def logs(self, placement: Placement) -> Iterator[bytes]:
        yield self._placements.agent_log(placement)

    def _allowed(self, replica: Replica) -> str:
        """The image of a replica. Raises StageError if this installation may not or cannot run it."""
        role = replica.role
        if role.privileged and not self._settings.privileged:
            reason, remedy = "privileged containers are not allowed here", "remove env.privileged = true"
        elif not role.image:
            reason, remedy = "the descriptor has no image", "set env.docker_image"
        elif self._program is None:
            reason, remedy = "no container tool is installed", self.capabilities.missing
        else:
            return role.image
        raise StageError(reason, cause=Cause.USER_ERROR, remedy=remedy)

    def _look(self, placement: Placement) -> Observation:
        record = Path(placement.details["record"])
        observation = peers.settled(record, self._look_at(record, placement), partial(self._kill, placement))
        if observation.seen in {Seen.ENDED, Seen.LOST}:
            self._placements.appeared(placement)
            self._containers.remove(placement)
        elif agent_record.is_overdue(record):
            self._kill(placement, record)
        return observation

    def _look_at(self, record: Path, placement: Placement) -> Observation:
        """The state of the measured replica."""
        observation = agent_record.observed(record)
        if observation is None:
            may_appear = self._placements.may_appear(placement)
            observation = container_state.not_started(self._tool, placement, may_appear=may_appear)
        if observation.seen is Seen.LOST:
            observation = container_state.explained(self._tool, placement, observation)
        return observation

    def _kill(self, placement: Placement, record: Path) -> None:
        """Kill the container of a replica."""
        self._containers.end(container_of(placement, record), "KILL")
