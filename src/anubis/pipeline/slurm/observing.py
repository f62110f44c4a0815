"""The observation of an attempt from its record, from its files, and from what Slurm says."""

import os
from collections.abc import Sequence
from pathlib import Path

from anubis.model.cause import Cause
from anubis.model.run import Observation, Seen
from anubis.pipeline.host.agent_record import agent_log
from anubis.pipeline.record_result import RecordResult
from anubis.pipeline.slurm import replicas
from anubis.pipeline.slurm.listing import Element
from anubis.pipeline.slurm.queue import Known
from anubis.pipeline.slurm.replicas import is_claimed
from anubis.pipeline.slurm.spool import Entry, last_line
from anubis.record import layout, liveness
from anubis.record.files import FolderFiles
from anubis.record.reading import Record

#: An element of which neither the queue nor the accounting knows the end is lost after this time, seconds.
MISSING_S = 120.0
#: Cause and message.
Failure = tuple[Cause, str]
_CAUSES = {
    "CANCELLED": Cause.CANCELLED,
    "DEADLINE": Cause.TIMEOUT,
    "OUT_OF_MEMORY": Cause.OUT_OF_MEMORY,
    "PREEMPTED": Cause.PREEMPTED,
    "TIMEOUT": Cause.TIMEOUT,
}
_FAILED_NODES = {"BOOT_FAIL", "NODE_FAIL"}
_REASONS = {
    "BOOT_FAIL": "its node did not start",
    "CANCELLED": "it was cancelled in Slurm",
    "DEADLINE": "Slurm ended it at its deadline",
    "NODE_FAIL": "its node failed",
    "OUT_OF_MEMORY": "Slurm ended it because it used more memory than it had requested",
    "PREEMPTED": "Slurm preempted it",
    "TIMEOUT": "Slurm ended it at its time limit",
}


def recorded(record: Path, found: RecordResult, known: Known, failed: Failure | None = None) -> Observation:
    """The observation of an agent that has written its result. ``failed``: a replica could not start its agent.

    An agent that was ended from outside only knows that it was cancelled: Slurm and the other replicas know why.
    """
    others = replicas.beside(record)
    element, cause, reason = known.element, found.cause, found.reason
    is_open = known.id and (element is None or not element.has_ended) and known.missing_s < MISSING_S
    unclear = cause is Cause.CANCELLED and not os.path.lexists(record / layout.CANCEL)
    if is_open and element and element.is_requeued and unclear:
        cause, reason = Cause.PREEMPTED, f"Slurm requeued {_named(known.id)} after its agent had started"
    elif is_open and (unclear or found.is_damaged):  # the agent replaces a damaged result at its end
        return Observation(seen=Seen.RUNNING)
    elif is_open and replicas.open_among(others):
        return Observation(seen=Seen.RUNNING, reason="the other replicas end")
    elif unclear and failed:
        cause, reason = failed
    elif unclear and element and element.has_ended:
        cause, reason = _ended_from_outside(element, others, known.id)
    return Observation(
        seen=Seen.ENDED,
        exit_code=found.exit_code,
        reason=reason,
        cause=cause,
        queued_s=_queued_s(record, known),
    )


def _ended_from_outside(element: Element, others: Sequence[Path], number: str) -> tuple[Cause, str]:
    """Why Slurm has ended an agent: for its own reason, or because another replica failed."""
    blamed = replicas.failure(others)
    was_cancelled = element.state == "CANCELLED"
    explains = blamed and blamed[0] is not Cause.LOST if was_cancelled else element.state not in _REASONS
    if blamed and explains:
        return blamed
    if element.state in _FAILED_NODES:
        unknown = [replicas.name_of(each) for each in others if replicas.result(each) is None]
        left = f"; {', '.join(unknown)} left no result" if unknown else ""
        return Cause.LOST, _said(element, number) + left
    return _CAUSES.get(element.state, Cause.CANCELLED), _said(element, number)


def _queued_s(record: Path, known: Known) -> float | None:
    """Seconds from the submission to the start of the agent, as far as the clocks of the machines agree."""
    started_s = Record(FolderFiles(str(record))).exit.get("started_s")
    if known.array is None or not known.array.submitted_s or not isinstance(started_s, int | float):
        return None
    return round(max(0.0, started_s - known.array.submitted_s), 3)


def unfinished(record: Path, entry: Entry, known: Known, words: str) -> Observation:
    """The observation of an attempt without a result. ``words``: what its element printed last."""
    if known.refusal:
        return Observation(
            seen=Seen.ENDED, cause=Cause.USER_ERROR, reason=f"Slurm refused it: {known.refusal}"
        )
    is_open = known.element is not None and not known.element.has_ended
    if (failed := entry.failed) and not (is_open and replicas.beside(record)):
        return Observation(seen=Seen.ENDED, cause=failed[0], reason=failed[1])
    cancelled = os.path.lexists(record / layout.CANCEL)
    claimed = is_claimed(record)
    if claimed and liveness.is_revoked(str(record)):
        if cancelled:
            return Observation(
                seen=Seen.ENDED, cause=Cause.CANCELLED, reason="cancelled before its agent started"
            )
        return Observation(seen=Seen.LOST, reason="the attempt was revoked before its agent had started")
    element = known.element
    if element is None:
        return _unlisted(record, known, claimed=claimed)
    if element.is_requeued and (claimed or entry.started):
        return Observation(
            seen=Seen.LOST, reason=f"{_named(known.id)} was requeued after its agent had started"
        )
    if element.has_ended:
        return _without_result(record, element, known.id, words, cancelled=cancelled)
    seen = Seen.RUNNING if claimed else Seen.WAITING
    return Observation(seen=seen, reason="" if claimed else known.problem or _waits(element))


def _without_result(
    record: Path, element: Element, number: str, words: str, *, cancelled: bool
) -> Observation:
    """An attempt whose element has ended without a result."""
    claimed = is_claimed(record)
    if not claimed:
        liveness.revoke(str(record))  # a second element of this attempt may still be in the queue
    ended_by = Cause.CANCELLED if cancelled else _CAUSES.get(element.state)
    if ended_by:
        return Observation(seen=Seen.ENDED, cause=ended_by, reason=_said(element, number))
    others = replicas.beside(record)
    if not claimed and element.state not in _REASONS and (blamed := replicas.failure(others)):
        return Observation(seen=Seen.ENDED, cause=blamed[0], reason=blamed[1])
    return Observation(seen=Seen.LOST, reason=_lost(record, element, number, words, claimed=claimed))


def _unlisted(record: Path, known: Known, *, claimed: bool) -> Observation:
    """An attempt that is not submitted yet, or of which Slurm says nothing now."""
    if known.missing_s > MISSING_S:
        if not claimed:
            liveness.revoke(str(record))
        return Observation(
            seen=Seen.LOST, reason=f"neither squeue nor sacct knows the end of {_named(known.id)}"
        )
    if claimed:
        return Observation(seen=Seen.RUNNING)
    reason = f"Slurm does not accept it now: {known.problem}" if known.problem else ""
    return Observation(seen=Seen.WAITING, reason=reason)


def _waits(element: Element) -> str:
    """Why an element has not started."""
    if not element.is_pending:
        return "its node is being prepared"
    return f"in the queue of Slurm: {element.reason}" if element.reason else "in the queue of Slurm"


def _said(element: Element, number: str) -> str:
    where = f" on {element.nodes}" if element.nodes and not element.is_pending else ""
    return f"{_REASONS.get(element.state, f'it ended as {element.state}')} ({_named(number)}{where})"


def _lost(record: Path, element: Element, number: str, words: str, *, claimed: bool) -> str:
    if element.state in _REASONS:
        return _said(element, number)
    if element.restarts:
        return f"{_named(number)} was requeued after its agent had started"
    if claimed:
        return (
            f"the agent vanished without writing the result of the run ({_named(number)} on {element.nodes})"
        )
    message = last_line(agent_log(str(record))) or words or f"it ended as {element.state}"
    return f"the agent did not start: {message} ({_named(number)} on {element.nodes})"


def _named(number: str) -> str:
    return f"element {number}"
