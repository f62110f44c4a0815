"""The service's side of one request of a joined worker: it reports its attempts, and gets the attempts it must have."""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from anubis.contracts.joined import JoinedWorkers
from anubis.model.cause import Cause
from anubis.model.errors import BadInputError, ConflictError
from anubis.model.joined import Assignment, JoinedWorker, Report
from anubis.model.run import Seen
from anubis.pipeline.joined.matching import chosen

#: The states of an attempt in their order: a report that arrives late changes nothing.
_ORDER = (Seen.WAITING, Seen.RUNNING, Seen.ENDED, Seen.LOST)
_LONGEST_REASON = 2000
MOST_SLOTS = 10_000


def beat(
    workers: JoinedWorkers, known: JoinedWorker, reported: JoinedWorker, *, now_s: float, lease_s: float
) -> JoinedWorker:
    """Store what a worker reports about itself. ``known``: the worker before.

    Raises BadInputError if the same token is in use in another home folder.
    """
    if not 0 < reported.slots <= MOST_SLOTS or not reported.place:
        raise BadInputError("the worker did not report its home folder and its slots", remedy="upgrade it")
    is_alive = known.seen_s is not None and abs(now_s - known.seen_s) < lease_s
    if known.place and known.place != reported.place:
        if is_alive:
            raise BadInputError(
                f"worker {known.name} is active in another home folder, on {known.host}",
                remedy="end it, or make a token with another name for this machine: anubis worker token NAME",
            )
        for each in workers.assigned(known.name):
            reason = f"worker {known.name} joined from another home folder, on {reported.host}"
            _store(workers, closed(each, Seen.LOST, reason))
    return workers.beat(reported, now_s=now_s)


def note(workers: JoinedWorkers, worker: JoinedWorker, reports: Sequence[Report]) -> list[str]:
    """Store reports; the names of the attempts that run or have ended."""
    if not reports:
        return []
    mine = {(each.run_id, each.attempt): each for each in workers.assigned(worker.name)}
    started = []
    for report in reports:
        each = mine.get((report.run_id, report.attempt))
        if each is None or _ORDER.index(report.seen) < _ORDER.index(each.seen):
            continue
        after = replace(
            each,
            seen=report.seen,
            reason=report.reason[:_LONGEST_REASON],
            exit_code=report.exit_code,
            cause=report.cause,
        )
        if report.seen in {Seen.ENDED, Seen.LOST}:
            after = replace(after, is_open=False, token="")
        if after != each:
            _store(workers, after)
        if report.seen is not Seen.WAITING:
            started.append(each.name)
    return started


def take(workers: JoinedWorkers, worker: JoinedWorker, *, now_s: float) -> tuple[Sequence[Assignment], str]:
    """All attempts that the worker must have now, and a tag that changes with them."""
    mine = workers.take(worker, partial(chosen, worker), now_s=now_s)
    text = " ".join(f"{each.name}.{each.cancel:d}" for each in mine)
    return mine, hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def closed(each: Assignment, seen: Seen, reason: str, cause: Cause | None = None) -> Assignment:
    """The attempt, ended like this. Its token is not valid any more."""
    return replace(each, is_open=False, seen=seen, reason=reason, cause=cause, token="")


def _store(workers: JoinedWorkers, each: Assignment) -> None:
    """Store a state, unless the attempt was changed meanwhile: the worker reports it again."""
    try:
        workers.change(each)
    except ConflictError:
        return
