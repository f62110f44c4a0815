"""Engine ``container``: runs the benchmark in a container of Podman or Docker on this machine.

The agent runs in the container as its first process, with its own Python, so that every image is measured in the same
way. Its record is a mounted folder: while it runs, it is observed without the container tool.
"""

import contextlib
import hashlib
import logging
import math
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import AnubisError, NoCapacityError, StageError
from anubis.model.hardware import Strategy
from anubis.model.launch import Launch, Replica
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.pipeline.host import agent_record, container_agent, container_run, container_tool, resources
from anubis.pipeline.host.container_tool import ContainerTool, ToolError, last_line
from anubis.pipeline.host.files import check_disk, not_startable, prepare
from anubis.pipeline.host.images import Image, Images
from anubis.pipeline.host.placements import HostPlacements
from anubis.pipeline.host.resources import Reserved
from anubis.pipeline.launch import start_agent
from anubis.record import access, layout, liveness
from anubis.settings import load, setting

log = logging.getLogger(__name__)

#: Label of all containers of one home folder.
_LABEL = "anubis.home"
#: Start of the names of all containers.
_PREFIX = "anubis"
#: Longest wait for the first sign of an agent that was started, and the pause between two looks; seconds.
_START_S, _LOOK_S = 10, 0.002
#: Exit code of a container that was killed.
_KILLED = 137
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
        self._agent = container_agent.ContainerAgent(settings.folder)
        self._program = container_tool.found(settings.tool, settings.path)
        self._tool = ContainerTool(self._program or settings.tool or container_tool.PROGRAMS[0])
        self._images = Images(self._tool, settings.folder)
        self._placements = HostPlacements(self.name, settings.folder, settings.records)
        self._label = f"{_LABEL}={hashlib.sha256(os.fsencode(settings.folder.resolve())).hexdigest()[:16]}"
        #: Placement -> monotonic time of the last request to end it.
        self._asked_s: dict[str, float] = {}
        self._reaping = threading.Lock()

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
        if liveness.state(record) != liveness.ABSENT:
            return placement
        settings, hardware = self._settings, run.descriptor.hardware
        image = self._images.get(self._allowed(replica))
        check_disk(settings.folder, settings.min_free_bytes)
        access.make_folder(str(settings.locks))
        self._reap_once()
        reserved = resources.reserve(settings.locks, settings.slots, hardware, replica.environment)
        try:
            self._agent.build()
            self._start(placement, container_run.prepared(replica, image, reserved), image, reserved)
        except OSError as error:
            raise not_startable(error, settings.records) from error
        finally:
            reserved.close()
        return placement

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        """See the contract. Leaves out also a placement that cannot be observed now."""
        seen = {}
        for placement in filter(self._placements.is_here, placements):
            try:
                seen[placement.name] = self._look(placement)
            except Exception:  # affects no other placement
                log.exception("cannot observe placement %s", placement.name)
        return seen

    def cancel(self, placement: Placement) -> None:
        if not self._placements.is_here(placement):
            return
        agent_record.cancel(Path(placement.details["record"]))
        now_s = time.monotonic()
        if now_s - self._asked_s.get(placement.name, -math.inf) > _CANCEL_AGAIN_S:
            self._asked_s[placement.name] = now_s
            self._tool.start("kill", "--signal", "TERM", _container(placement))

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
        settings, name = self._settings, _container(placement)
        record = prepare(replica)
        agent_record.take_ballast(record)
        with container_run.variables_file(settings.folder, replica, image) as variables:
            words = container_run.words(
                self._tool, replica, image, reserved, variables=variables, network=settings.network
            )
            try:
                self._tool.call("run", "--detach", "--name", name, "--label", self._label, *words)
            except ToolError as error:
                if error.is_name_taken:  # another process places this attempt
                    return
                self._remove(name)
                raise StageError(
                    f"the container could not be started: {error.message}",
                    cause=Cause.INTERNAL,
                    remedy="check hardware, ANUBIS_CONTAINER_NETWORK and the settings of the container tool",
                ) from error
            self._await(record, name)

    def _await(self, record: Path, name: str) -> None:
        """Wait until the agent has appeared or its container has ended; the container tool is asked once a second."""
        started_s = time.monotonic()
        asked_s = 0
        while liveness.state(str(record)) == liveness.ABSENT and asked_s < _START_S:
            time.sleep(_LOOK_S)
            if time.monotonic() - started_s > asked_s + 1:
                asked_s += 1
                if self._ended(name):
                    return

    def _look(self, placement: Placement) -> Observation:
        record = Path(placement.details["record"])
        observation = agent_record.observed(record) or self._not_started(placement, record)
        if observation.seen is Seen.LOST:
            observation = self._explained(placement, record, observation)
        if observation.seen in {Seen.ENDED, Seen.LOST}:
            self._placements.appeared(placement)
            self._asked_s.pop(placement.name, None)
            self._remove(_container(placement))
        elif agent_record.is_overdue(record):
            self._remove(_container(placement))
        return observation

    def _not_started(self, placement: Placement, record: Path) -> Observation:
        """The state of a placement whose agent has not appeared yet."""
        try:
            ended = self._ended(_container(placement))
        except NoCapacityError as error:
            return Observation(seen=Seen.WAITING, reason=error.message)
        if not ended and self._placements.may_appear(placement):
            return Observation(seen=Seen.WAITING)
        words = last_line(self._output(placement)) or "it left no message"
        lost = agent_record.give_up(record, f"the agent did not start: {words}")
        return lost or Observation(seen=Seen.WAITING)

    def _explained(self, placement: Placement, record: Path, lost: Observation) -> Observation:
        """The observation of a lost agent; stores its output, and finds out whether its memory limit killed it."""
        try:
            found = self._tool.inspect("container", _container(placement)) or {}
            output = self._output(placement)
        except NoCapacityError:
            return lost
        with contextlib.suppress(OSError):  # the record was removed, or the disk is full
            file = access.create(str(record / layout.AGENT_LOG), os.O_WRONLY | os.O_TRUNC)
            with os.fdopen(file, "w", encoding="utf-8") as agent_log:
                agent_log.write(output)
        state, limit = found.get("State", {}), found.get("HostConfig", {}).get("Memory") or 0
        killed = state.get("ExitCode") == _KILLED and not (record / layout.CANCEL).exists()
        if not state.get("OOMKilled") and not (killed and limit):
            return lost
        reason = f"the container was killed with exit code {_KILLED}; its memory limit is {limit >> 20} MiB"
        return Observation(seen=Seen.ENDED, exit_code=_KILLED, cause=Cause.OUT_OF_MEMORY, reason=reason)

    def _ended(self, name: str) -> bool:
        """Whether a container exists that has ended. Raises NoCapacityError if the tool does not respond."""
        found = self._tool.inspect("container", name) or {}
        return found.get("State", {}).get("Status") in {"exited", "stopped", "dead"}

    def _output(self, placement: Placement) -> str:
        """What the agent printed. Raises NoCapacityError if the tool does not respond."""
        try:
            return self._tool.call("logs", "--tail", "1000", _container(placement))
        except ToolError:  # the container was never created, or was removed
            return self._placements.agent_log(placement).decode(errors="replace")

    def _remove(self, *names: str) -> None:
        self._tool.start("rm", "--force", "--volumes", *names)

    def _reap_once(self) -> None:
        """At the first placement of this process, remove what killed processes left behind."""
        if self._reaping.acquire(blocking=False):
            threading.Thread(target=self._reap, daemon=True, name="reap containers").start()

    def _reap(self) -> None:
        try:
            container_run.remove_variables(self._settings.folder)
            names = self._tool.containers(f"label={self._label}")
            if unneeded := [name for name in names if self._is_unneeded(name)]:
                self._remove(*unneeded)
        except (AnubisError, OSError) as error:
            log.warning("containers of earlier runs were not removed: %s", error)

    def _is_unneeded(self, container: str) -> bool:
        """Whether the run of a container has ended or was removed, so that it is not observed any more."""
        match = re.fullmatch(rf"{_PREFIX}-(.+)\.(\d+)", container)
        if match is None or not layout.is_run_id(match[1]):
            return False
        record = Path(layout.role_folder(str(self._settings.records), match[1], int(match[2])))
        return not record.exists() or (record / layout.EXIT).exists()


def _container(placement: Placement) -> str:
    """The name of the container of a placement."""
    return f"{_PREFIX}-{placement.name}"
