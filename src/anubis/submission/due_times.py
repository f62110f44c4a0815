"""When the due times of a schedule are acted upon, and which of those that were missed are made up for."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain, islice, takewhile

from anubis import describe
from anubis.contracts.runs import RunRow
from anubis.contracts.schedules import QUEUE_LOOK_S, CatchUp, DueState, DueTime, Schedule
from anubis.model.status import Status

#: A due time that is acted upon within this time after it was ready was not missed, seconds.
GRACE_S = 60.0
#: Most due times that one decision skips.
AT_ONCE = 1000
#: Lengths of the spans that are searched for the latest due times, seconds; each is longer than the one before.
_SPANS_S = (3600.0, 86_400.0, 32 * 86_400.0, 400 * 86_400.0, 10 * 365 * 86_400.0)


def delay_s(schedule: Schedule, due_s: float) -> float:
    """The delay of a due time, in [0, jitter): the same for every worker, different for each schedule and due time."""
    if not schedule.jitter_s:
        return 0.0
    digest = hashlib.sha256(f"{schedule.id}/{due_s!r}".encode()).digest()
    return schedule.jitter_s * int.from_bytes(digest[:6], "big") / (1 << 48)


def start_s(schedule: Schedule, due_s: float) -> float:
    """When a due time is acted upon; UTC seconds."""
    return due_s + delay_s(schedule, due_s)


def following(schedule: Schedule, due_s: float) -> float | None:
    """The due time after another one; None: there is none."""
    return describe.due_after(schedule.scheduling, schedule.timezone, due_s)


def with_ready(schedule: Schedule, now_s: float) -> Schedule:
    """The schedule with the time of its next decision."""
    if schedule.paused_s is not None:
        return replace(schedule, ready_s=None)
    times = [] if schedule.next_s is None else [start_s(schedule, schedule.next_s)]
    if schedule.queued:
        times.append(now_s + QUEUE_LOOK_S)
    return replace(schedule, ready_s=min(times, default=None))


def missed(schedule: Schedule, head_s: float, now_s: float) -> list[float]:
    """The due times from ``head_s`` on that were missed and are not made up for, at most ``AT_ONCE``."""
    latest_s = now_s - GRACE_S
    if start_s(schedule, head_s) > latest_s:
        return []
    first_kept_s = math.inf if schedule.catch_up is CatchUp.NONE else _first_kept(schedule, head_s, now_s)
    later = describe.due_times(schedule.scheduling, schedule.timezone, head_s)
    return list(
        takewhile(
            lambda due_s: due_s < first_kept_s and start_s(schedule, due_s) <= latest_s,
            islice(chain([head_s], later), AT_ONCE),
        )
    )


def _first_kept(schedule: Schedule, head_s: float, now_s: float) -> float:
    """The earliest due time that is made up for."""
    most = schedule.catch_up_limit if schedule.catch_up is CatchUp.ALL else 1
    for span_s in _SPANS_S:
        after_s = max(head_s - 1.0, now_s - span_s)
        times = describe.due_times(schedule.scheduling, schedule.timezone, after_s)
        passed = [
            due_s
            for due_s in takewhile(lambda due_s: due_s <= now_s, times)
            if start_s(schedule, due_s) <= now_s
        ]
        if len(passed) >= most:
            return passed[-most]
        if after_s < head_s:
            break
    return head_s


def upcoming(schedule: Schedule, count: int) -> list[float]:
    """The next due times, of an active schedule."""
    if schedule.next_s is None:
        return []
    later = describe.due_times(schedule.scheduling, schedule.timezone, schedule.next_s)
    return [schedule.next_s, *islice(later, count - 1)]


def failures_in_a_row(due_times: Sequence[DueTime], rows: Sequence[RunRow]) -> int:
    """How many of the latest due times (newest first) failed, up to the first that did not.

    ``rows`` are the runs of the schedule. A due time failed if no run could be submitted, or if all its runs failed; cancelled
    and unfinished runs do not count.
    """
    family_of = {row.id: row.family_id or row.id for row in rows}
    statuses: dict[str, set[Status]] = {}
    for row in rows:
        statuses.setdefault(row.family_id or row.id, set()).add(row.status)
    failures = 0
    for due in due_times:
        found = statuses.get(family_of.get(due.run_id or "", ""), set())
        if due.state is DueState.FAILED or found == {Status.FAILED}:
            failures += 1
        elif Status.SUCCEEDED in found:
            break
    return failures
