"""What the container tool knows about an agent that its record cannot tell: that it never started, or why it was killed."""

import contextlib
import os
import re
import time
from pathlib import Path

from anubis.model.cause import Cause
from anubis.model.errors import NotReadyError
from anubis.model.run import Observation, Placement, Seen
from anubis.pipeline.host import agent_record
from anubis.pipeline.host.container_tool import ContainerTool, last_line
from anubis.record import access, layout, liveness

#: Start of the names of all containers.
_PREFIX = "anubis"
#: Longest wait for the first sign of an agent that was started, and the pause between two looks; seconds.
_START_S, _LOOK_S = 10, 0.002
#: Exit code of a container that was killed.
_KILLED = 137


def container_of(placement: Placement, record: Path | None = None) -> str:
    """The name of the container of the measured replica of a placement, or of the replica with this record.

    There is one at most: names are unique.
    """
    if record is None or record == Path(placement.details["record"]):
        return f"{_PREFIX}-{placement.name}"
    return f"{_PREFIX}-{placement.name}.{record.parent.name}.{record.name}"


def first_of(container: str) -> str:
    """The name of the container of the measured replica of the same attempt."""
    return ".".join(container.split(".")[:2])


def is_unneeded(container: str, records: Path) -> bool:
    """Whether the run of a container has ended or was removed, so that it is not observed any more."""
    match = re.fullmatch(rf"{_PREFIX}-([^.]+)\.(\d+)(?:\.([\w-]+)\.(\d+))?", container)
    if match is None or not layout.is_run_id(match[1]):
        return False
    run, attempt, role, rank = match.groups()
    measured = layout.role_folder(str(records), run, int(attempt))
    is_over = not Path(measured).exists() or _has_result(measured) or liveness.is_revoked(measured)
    if role is None or not is_over:
        return is_over
    own = layout.role_folder(str(records), run, int(attempt), role, int(rank))
    return liveness.state(own) != liveness.ALIVE  # it writes its result when the measured replica has ended


def _has_result(record: str) -> bool:
    return Path(record, layout.EXIT).exists()


def wait_for_agent(tool: ContainerTool, container: str, record: str) -> bool:
    """Wait until the agent has appeared; False: its container has ended before, or it did not appear in time.

    The container tool is asked once a second.
    """
    started_s, asked = time.monotonic(), 0
    while liveness.state(record) == liveness.ABSENT and asked < _START_S:
        time.sleep(_LOOK_S)
        if time.monotonic() - started_s > asked + 1:
            asked += 1
            if tool.has_ended(container):
                break
    return liveness.state(record) != liveness.ABSENT


def not_started(tool: ContainerTool, placement: Placement, *, may_appear: bool) -> Observation:
    """The observation of a placement whose agent has not appeared yet."""
    name = container_of(placement)
    try:
        ended = tool.has_ended(name)
        output = (tool.logs(name) or "") if ended else ""
    except NotReadyError as error:  # it is not known, so it is not lost
        return Observation(seen=Seen.WAITING, reason=error.message)
    if not ended and may_appear:
        return Observation(seen=Seen.WAITING)
    reason = f"the agent did not start: {last_line(output) or 'it left no message'}"
    return agent_record.give_up(Path(placement.details["record"]), reason) or Observation(seen=Seen.WAITING)


def keep_output(tool: ContainerTool, container: str, record: Path) -> bool:
    """Store what the agent in a container printed in its record; False for an unknown container. Raises NotReadyError."""
    output = tool.logs(container)
    if output is None:
        return False
    with contextlib.suppress(OSError):  # the record was removed, or the disk is full
        file = access.create(str(record / layout.AGENT_LOG), os.O_WRONLY | os.O_TRUNC)
        with os.fdopen(file, "w", encoding="utf-8") as agent_log:
            agent_log.write(output)
    return True


def explained(tool: ContainerTool, placement: Placement, lost: Observation) -> Observation:
    """The observation of a lost agent, with the cause if its memory limit killed it. Stores its output in the record."""
    name, record = container_of(placement), Path(placement.details["record"])
    try:
        found = tool.inspect("container", name)
        if found is None or not keep_output(tool, name, record):
            return lost
    except NotReadyError:
        return lost
    state, limit = found.get("State", {}), found.get("HostConfig", {}).get("Memory") or 0
    # Podman does not report a lack of memory on control groups of version 1.
    was_killed = state.get("ExitCode") == _KILLED and not (record / layout.CANCEL).exists()
    if not state.get("OOMKilled") and not (was_killed and limit):
        return lost
    reason = f"the container was killed with exit code {_KILLED}; its memory limit is {limit >> 20} MiB"
    return Observation(seen=Seen.ENDED, exit_code=_KILLED, cause=Cause.OUT_OF_MEMORY, reason=reason)
