"""Engine ``container``: runs the benchmark in a container of Podman or Docker on this machine.

The agent runs in the container as its first process, with its own Python, so that every image is measured in the same
way. Its record is a mounted folder: while it runs, it is observed without the container tool.
"""

import hashlib
import logging
import math
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import AnubisError, StageError
from anubis.model.hardware import Strategy
from anubis.model.launch import Launch, Replica
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.pipeline.host import (
    agent_record,
    container_agent,
    container_run,
    container_state,
    container_tool,
    resources,
)
from anubis.pipeline.host.container_state import container_of, is_unneeded
from anubis.pipeline.host.container_tool import ContainerTool, ToolError
from anubis.pipeline.host.files import check_disk, prepare
from anubis.pipeline.host.images import Image, Images
from anubis.pipeline.host.lock_files import LockFiles
from anubis.pipeline.host.placements import HostPlacements, check_claim
from anubis.pipeline.host.resources import Reserved
from anubis.pipeline.launch import start_agent
from anubis.record import access, liveness
from anubis.settings import load, setting

log = logging.getLogger(__name__)

#: Label of all containers of one home folder.
_LABEL = "anubis.home"
#: Pause before a cancellation is repeated, seconds.
_CANCEL_AGAIN_S = 5.0


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
        self._label = f"{_LABEL}={hashlib.sha256(os.fsencode(settings.folder.resolve())).hexdigest()[:16]}"
        #: Placement -> monotonic time of the last request to end it.
        self._asked_s: dict[str, float] = {}
        self._lock = threading.Lock()
        #: Whether what killed processes left behind is, or was, removed; guarded by the lock.
        self._reaped = False

    @cached_property
    def capabilities(self) -> Capabilities:
        settings, missing = self._settings, ""
        if self._program is None:
            missing = f"install {settings.tool or 'Podman or Docker'}, or set ANUBIS_CONTAINER_TOOL"
        return Capabilities(
            strategies=frozenset({Strategy.SINGLE_NODE}),
            mounting=Mounting(
                agent=(*container_agent.PYTHON, *start_agent(container_agent.PACKAGES)),
                records=str(settings.records),
                scripts=str(settings.folder / "scripts"),
                inside=container_run.INSIDE,
                mounts=self._agent.mounts,
            ),
            images=True,
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
        (replica,) = launch.replicas
        record = replica.on_host(replica.record)
        placement = self._placements.of(run, record)
        check_claim(record)
        if liveness.state(record) != liveness.ABSENT:
            return placement
        settings, hardware = self._settings, run.descriptor.hardware
        image = self._images.get(self._allowed(replica))
        check_disk(settings.folder, settings.min_free_bytes)
        access.make_folder(str(settings.locks))
        self._reap_once()
        with resources.reserved(
            self._locks, record, slots=settings.slots, hardware=hardware, environment=replica.environment
        ) as reserved:
            self._agent.build()
            self._start(placement, container_run.prepared(replica, image, reserved), image, reserved)
        return placement

    def revoke(self, run: Run) -> bool:
        return self._placements.revoke(run)

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        return self._placements.observe(placements, self._look)

    def cancel(self, placement: Placement) -> None:
        if not self._placements.is_here(placement):
            return
        agent_record.cancel(Path(placement.details["record"]))
        now_s = time.monotonic()
        if now_s - self._asked_s.get(placement.name, -math.inf) > _CANCEL_AGAIN_S:
            self._asked_s[placement.name] = now_s
            self._tool.end(container_of(placement))

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

    def _start(self, placement: Placement, replica: Replica, image: Image, reserved: Reserved) -> None:
        """Start the container, and wait until its agent has appeared, which then takes over the locks."""
        settings, name = self._settings, container_of(placement)
        record = prepare(replica)
        agent_record.take_ballast(record)
        check_claim(str(record))  # it may have been revoked while this process was stopped
        with container_run.variables_file(settings.folder, replica, image) as variables:
            words = container_run.words(
                self._tool, replica, image, reserved, variables=variables, network=settings.network
            )
            try:
                self._tool.call("run", "--detach", "--name", name, "--label", self._label, *words)
            except ToolError as error:
                if error.is_name_taken:  # another process places this attempt
                    return
                self._tool.remove(name)
                raise StageError(
                    f"the container could not be started: {error.message}",
                    cause=Cause.INTERNAL,
                    remedy="check hardware, ANUBIS_CONTAINER_NETWORK and the settings of the container tool",
                ) from error
            container_state.wait_for_agent(self._tool, placement)

    def _look(self, placement: Placement) -> Observation:
        record = Path(placement.details["record"])
        observation = agent_record.observed(record)
        if observation is None:
            may_appear = self._placements.may_appear(placement)
            observation = container_state.not_started(self._tool, placement, may_appear=may_appear)
        if observation.seen is Seen.LOST:
            observation = container_state.explained(self._tool, placement, observation)
        if observation.seen in {Seen.ENDED, Seen.LOST}:
            self._placements.appeared(placement)
            self._asked_s.pop(placement.name, None)
            self._tool.remove(container_of(placement))
        elif agent_record.is_overdue(record):
            self._tool.end(container_of(placement), signal="KILL")
        return observation

    def _reap_once(self) -> None:
        """At the first placement of this process, remove what killed processes left behind."""
        with self._lock:
            first, self._reaped = not self._reaped, True
        if first:
            threading.Thread(target=self._reap, daemon=True, name="reap containers").start()

    def _reap(self) -> None:
        try:
            container_run.remove_variables(self._settings.folder)
            names = self._tool.containers(self._label)
            if unneeded := [name for name in names if is_unneeded(name, self._settings.records)]:
                self._tool.remove(*unneeded)
        except (AnubisError, OSError) as error:
            log.warning("containers of earlier runs were not removed: %s", error)
