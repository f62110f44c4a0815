"""Deletes what the retention rules no longer keep."""

import logging
import math
from collections.abc import Callable, Iterable, Iterator, Sequence

from anubis.contracts.events import EXPIRED_EVENT, PURGED_EVENT
from anubis.contracts.garbage import Expired, Holds
from anubis.contracts.runs import Part, RunQuery, RunRow
from anubis.contracts.world import World
from anubis.judging.baseline_size import LOOKBACK_POINTS, MOST_RUNS
from anubis.model.alert import AlertState
from anubis.model.errors import AnubisError
from anubis.model.run import Event
from anubis.model.status import Status
from anubis.submission.retention_rules import Rule

log = logging.getLogger(__name__)

#: Interval between passes over all runs, seconds.
EVERY_S = 6 * 3600.0
#: Runs that are looked at in one turn, and deleted in one transaction.
PAGE, BATCH = 500, 50
#: The newest runs of a series and machine that a gate may use; retention does not delete them.
BASELINE_RUNS = (LOOKBACK_POINTS + 2) * MOST_RUNS
_FINAL = tuple(status for status in Status if status.final)
_UNFINISHED = tuple(status for status in Status if not status.final)
_ALL = 100_000_000
#: Alerts in other states need neither the run of the change nor the last good runs.
_CLOSED = frozenset({AlertState.RESOLVED})


class Retention:
    """A chore that applies the rules in small batches, one page of runs in each turn.

    Held runs are skipped by the store, in the transaction that deletes. Runs that something refers to are skipped
    here: see ``references``.
    """

    name = "retention"

    def __init__(
        self,
        world: World,
        holds: Holds,
        rules: Callable[[], Sequence[Rule]],
        note_purged: Callable[[Iterable[str]], None],
        archived_before_s: Callable[[], float] = lambda: math.inf,
    ) -> None:
        """``note_purged`` adds runs without a record to the chain of the home folder.

        Runs that ended after ``archived_before_s`` (UTC seconds) are not in the data sets yet, and remain.
        """
        self._world = world
        self._holds = holds
        self._rules = rules
        self._note_purged = note_purged
        self._archived_before_s = archived_before_s
        self._next_s = 0.0
        self._pages: Iterator[Sequence[Expired]] | None = None

    def turn(self) -> float | None:
        """Delete what expired among some runs; None when a pass is complete."""
        now_s = self._world.clock.monotonic_s()
        if self._pages is None:
            if now_s < self._next_s:
                return None
            self._next_s = now_s + EVERY_S
            self._pages = self.expire()
        try:
            if next(self._pages, None) is not None:
                return 0.0
        except (
            AnubisError
        ) as error:  # for example rules that are not valid; no worker waits for their correction
            log.warning("retention deletes nothing now: %s", error)
        self._pages = None
        return None

    def expire(self, *, dry_run: bool = False) -> Iterator[Sequence[Expired]]:
        """Delete what expired; what was (or would be) deleted, page by page. Raises BadInputError for wrong rules."""
        rules = self._rules()
        first_s = min((rule.first_s for rule in rules), default=float("inf"))
        if first_s == float("inf"):
            return
        now_s = self._world.clock.now_s()
        alerted, needed = references(self._world)
        query = RunQuery(statuses=_FINAL, until_s=now_s - first_s, limit=_ALL, newest_first=False)
        rows = self._world.runs.find(query)
        before_s = self._archived_before_s()
        for start in range(0, len(rows), PAGE):
            page = rows[start : start + PAGE]
            held = set(self._holds.held([row.id for row in page]))
            due = [
                expired
                for row in page
                if row.id not in held | alerted
                and (row.ended_s or 0.0) < before_s
                and (expired := self._due(row, rules, now_s, is_needed=row.id in needed))
            ]
            yield due if dry_run else self._deleted(due, now_s)

    def _due(self, row: RunRow, rules: Sequence[Rule], now_s: float, *, is_needed: bool) -> Expired | None:
        rule = next((rule for rule in rules if rule.matches(row.name, row.labels)), None)
        if rule is None or row.ended_s is None:
            return None
        age_s = now_s - row.ended_s
        if rule.is_over(age_s) and not is_needed:
            return Expired(run_id=row.id, name=row.name, ended_s=row.ended_s)
        parts = tuple(part for part in rule.expired(age_s) if part not in self._gone(row.id))
        return Expired(run_id=row.id, name=row.name, ended_s=row.ended_s, parts=parts) if parts else None

    def _gone(self, run_id: str) -> set[str]:
        """The parts that were deleted before. A record that is still there was not: the deletion was interrupted."""
        events = self._world.events.read(run_id)
        gone = {
            part for event in events if event.kind == EXPIRED_EVENT for part in event.data.get("parts", ())
        }
        return (
            gone - {Part.RECORD.value} if self._world.records.attempts(run_id) else gone | {Part.RECORD.value}
        )

    def _deleted(self, due: Sequence[Expired], now_s: float) -> Sequence[Expired]:
        """Delete; without the runs that are held since they were found."""
        gone: set[str] = set()
        whole = [each for each in due if not each.parts]
        for start in range(0, len(whole), BATCH):
            gone |= self._removed(whole[start : start + BATCH], now_s)
        partly: dict[tuple[Part, ...], list[Expired]] = {}
        for each in due:
            if each.parts:
                partly.setdefault(each.parts, []).append(each)
        for parts, runs in partly.items():
            for start in range(0, len(runs), BATCH):
                gone |= self._expired(runs[start : start + BATCH], parts, now_s)
        return [each for each in due if each.run_id in gone]

    def _removed(self, batch: Sequence[Expired], now_s: float) -> set[str]:
        message = "deleted by a retention rule"
        events = [
            Event(run_id=each.run_id, kind=PURGED_EVENT, time_s=now_s, message=message) for each in batch
        ]
        with_record = [each.run_id for each in batch if self._world.records.attempts(each.run_id)]
        self._note_purged(with_record)  # before, and again after: a kill between them is no damage
        removed = set(self._world.runs.remove([each.run_id for each in batch], events))
        self._world.environments.remove(sorted(removed))
        self._remove_records(run_id for run_id in with_record if run_id in removed)
        return removed

    def _expired(self, batch: Sequence[Expired], parts: tuple[Part, ...], now_s: float) -> set[str]:
        message = f"deleted by a retention rule: {', '.join(parts)}"
        events = [
            Event(
                run_id=each.run_id,
                kind=EXPIRED_EVENT,
                time_s=now_s,
                message=message,
                data={"parts": [part.value for part in parts]},
            )
            for each in batch
        ]
        expired = set(self._world.runs.expire([each.run_id for each in batch], parts, events))
        if Part.RECORD in parts:
            self._remove_records(sorted(expired))
        return expired

    def _remove_records(self, run_ids: Iterable[str]) -> None:
        ids = list(run_ids)
        self._note_purged(ids)
        for run_id in ids:
            self._world.records.remove(run_id)


def references(world: World) -> tuple[set[str], set[str]]:
    """Runs that open alerts refer to, of which nothing may be deleted; and runs that must remain, but not their parts.

    Alerts refer to the run of the change and to the last good runs. Runs must remain that the baseline of a gate may contain, and
    the families and the causes of runs and sweeps in progress.
    """
    alerted: set[str] = set()
    for alert in world.alerts.find():
        if alert.state not in _CLOSED:
            alerted.add(alert.run_id)
            good = {alert.last_old, alert.earliest_old} - {""}
            for row in alert.rows:
                points = world.points.history(row.series_key, row.metric, row.fingerprint, limit=_ALL)
                alerted.update(point.run_id for point in points if point.subject in good)
    needed: set[str] = set()
    for series in world.points.series():
        blocks = world.points.histories([series.series_key], list(series.metrics), most=BASELINE_RUNS)
        needed.update(run_id for block in blocks for run_id in block.run_ids)
    families = set(world.sweeps.running())
    for unfinished in world.runs.find(RunQuery(statuses=_UNFINISHED, limit=_ALL)):
        parent_id = world.runs.get(unfinished.id).parent_id
        needed.update({parent_id} if parent_id else ())
        families.update({unfinished.family_id} if unfinished.family_id else ())
    for family_id in families:
        members = world.runs.find(RunQuery(family_id=family_id, limit=_ALL))
        needed.update(member.id for member in members)
    return alerted, needed
