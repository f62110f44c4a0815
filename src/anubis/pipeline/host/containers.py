"""The containers of one home folder: started for a run, ended with it, and removed when nothing observes them any more."""

import contextlib
import hashlib
import logging
import math
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from anubis.model.cause import Cause
from anubis.model.errors import AnubisError, StageError
from anubis.model.launch import Replica
from anubis.model.run import Placement
from anubis.pipeline.host import agent_record, container_run, container_state, peers
from anubis.pipeline.host.container_state import container_of
from anubis.pipeline.host.container_tool import REMOVE, ContainerTool, ToolError
from anubis.pipeline.host.files import prepare
from anubis.pipeline.host.images import Image
from anubis.pipeline.host.placements import check_claim
from anubis.pipeline.host.resources import Reserved
from anubis.record import layout

log = logging.getLogger(__name__)

#: Label of all containers of one home folder.
_LABEL = "anubis.home"
#: Pause before a signal to a container is repeated, seconds.
_AGAIN_S = 5.0
#: Network of this machine: containers cannot have it from one another with every version of Docker.
HOST = "host"
#: Network of containers that reach nothing outside.
_NO_NETWORK = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A replica to start in a container."""

    replica: Replica
    image: Image
    reserved: Reserved


class Containers:
    """Starts, ends and removes containers with one tool."""

    def __init__(self, tool: ContainerTool, folder: Path, records: Path, *, network: str) -> None:
        """``network``: that of the measured replica of a run; empty: that of the tool."""
        self._tool = tool
        self._folder = folder
        self._records = records
        self._network = network
        self._label = f"{_LABEL}={hashlib.sha256(os.fsencode(folder.resolve())).hexdigest()[:16]}"
        #: Container and signal -> monotonic time at which it was sent last.
        self._sent_s: dict[tuple[str, str], float] = {}
        self._lock = threading.Lock()
        #: Whether what killed processes left behind is, or was, removed; guarded by the lock.
        self._reaped = False

    def start(self, placement: Placement, starts: Sequence[Start], *, has_network: bool = True) -> None:
        """Start the replicas of a run, the measured one first: the others share its network.

        Without ``has_network`` they reach only one another.

        Returns when all agents have appeared, which then hold the locks.
        """
        records = [prepare(each.replica) for each in starts]
        agent_record.take_ballast(records[0])
        names = [container_of(placement, record) for record in records]
        network = self._network if has_network else _NO_NETWORK
        try:
            for name, record, start in zip(names, records, starts, strict=True):
                check_claim(str(records[0]))  # it may have been revoked while this process was stopped
                is_first = record == records[0]
                joined = network if is_first or network == HOST else f"container:{names[0]}"
                has_appeared = self._start(name, record, start, joined)
                if not has_appeared and not is_first:
                    container_state.keep_output(self._tool, name, record)
                    agent_record.revoke(record)  # the measured replica does not wait for it
        except AnubisError as error:
            if len(starts) > 1 or isinstance(error, StageError):
                self._remove(names[: names.index(name) + 1])
            raise

    def _start(self, name: str, record: Path, start: Start, network: str) -> bool:
        """Start a container, and wait until its agent has appeared; False: it did not."""
        with container_run.variables_file(self._folder, start.replica, start.image) as variables:
            words = container_run.words(
                self._tool, start.replica, start.image, start.reserved, variables=variables, network=network
            )
            try:
                self._tool.call("run", "--detach", "--name", name, "--label", self._label, *words)
            except ToolError as error:
                if error.is_name_taken:  # another process places this attempt
                    return True
                raise StageError(
                    f"the container could not be started: {error.message}",
                    cause=Cause.INTERNAL,
                    remedy="check hardware, ANUBIS_CONTAINER_NETWORK and the settings of the container tool",
                ) from error
            return container_state.wait_for_agent(self._tool, name, str(record))

    def end(self, name: str, signal: str) -> None:
        """Send a signal to the agent in a container, again after some seconds."""
        now_s = time.monotonic()
        if now_s - self._sent_s.get((name, signal), -math.inf) > _AGAIN_S:
            self._sent_s[name, signal] = now_s
            self._tool.end(name, signal)

    def remove(self, placement: Placement) -> None:
        """Remove the containers of all replicas."""
        measured = Path(placement.details["record"])
        # Ranks that a launcher starts have no file of options, and no container.
        others = [each for each in peers.records(measured) if (each / layout.OPTIONS).exists()]
        names = [container_of(placement, record) for record in (measured, *others)]
        self._sent_s = {key: sent_s for key, sent_s in self._sent_s.items() if key[0] not in names}
        self._remove(names)

    def _remove(self, names: Sequence[str]) -> None:
        """Remove the containers of a run: Podman refuses to remove the first one, whose network the others have, before them."""
        first, *others = names
        if others:
            with contextlib.suppress(ToolError):  # one of them was removed before
                self._tool.call(*REMOVE, *others)
        self._tool.start(*REMOVE, first)

    def reap_once(self) -> None:
        """At the first call in this process, remove what killed processes left behind."""
        with self._lock:
            first, self._reaped = not self._reaped, True
        if first:
            threading.Thread(target=self._reap, daemon=True, name="reap containers").start()

    def _reap(self) -> None:
        try:
            container_run.remove_variables(self._folder)
            names = self._tool.containers(self._label)
            unneeded = [name for name in names if container_state.is_unneeded(name, self._records)]
            for _, run in groupby(sorted(unneeded), key=container_state.first_of):
                self._remove(list(run))
        except (AnubisError, OSError) as error:
            log.warning("containers of earlier runs were not removed: %s", error)
