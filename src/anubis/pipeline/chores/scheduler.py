"""Submits the runs of schedules at their due times, each due time once."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from anubis import describe
from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.schedules import Decision, DueState, DueTime, Schedule, Schedules
from anubis.contracts.world import World
from anubis.model.descriptor import Overlap
from anubis.model.errors import BadInputError, StoreError
from anubis.model.run import Event
from anubis.model.status import Status
from anubis.pipeline.lease_owner import is_dead, new_owner
from anubis.submission.due_times import GRACE_S, failures_in_a_row, following, missed, start_s, with_ready
from anubis.submission.environment import adding
from anubis.submission.scheduled_runs import ScheduledRuns, described, scheduled_runs

log = logging.getLogger(__name__)

#: Duration of the lease of a schedule, seconds.
LEASE_S = 60.0
#: Schedules that are claimed, and decided in one transaction.
AT_ONCE = 16
#: Longest pause between turns, seconds: clients add schedules, and the wall clock may jump.
LOOK_EVERY_S = 5.0
#: Due times with a decision are kept for this long, seconds.
KEPT_S = 90 * 86_400.0
#: Most queued due times of a schedule.
MOST_QUEUED = 100
#: Pause before a schedule is due again whose working folder is not on this machine, and after a defect, seconds.
ELSEWHERE_S, DEFECT_S = 2.0, 60.0
#: Runs and due times that are read to count failures in a row.
_COUNTED = 200
_UNFINISHED = tuple(status for status in Status if not status.final)

#: Makes the runs of a due time: (schedule, text of its descriptor, due time). Raises BadInputError.
MakeRuns = Callable[[Schedule, str, float], ScheduledRuns]


class Scheduler:
    """A chore that acts on due times.

    A schedule is claimed under a lease; the decision on its first due time, the new runs and the next due time are written in
    one transaction. If the process dies before, another one decides again; if it is too slow, its decision is dropped.
    """

    name = "scheduler"

    def __init__(
        self,
        schedules: Schedules,
        world: World,
        *,
        default_engine: str,
        lease_s: float = LEASE_S,
        owner: str = "",
        make_runs: MakeRuns | None = None,
    ) -> None:
        self._schedules = schedules
        self._world = world
        self._default_engine = default_engine
        self._lease_s = lease_s
        self._owner = owner or new_owner()
        self._make_runs = make_runs or self._runs_of
        #: Whether the last turn failed, so that schedules may still be leased.
        self._failed = False
        # Loads the modules that read descriptors (0.2 s), so that the first due time does not wait for them.
        describe.read("")

    def turn(self) -> float | None:
        """Decide everything that is due; seconds until more may be due, None if nothing will be."""
        if self._failed:
            self._schedules.release(self._owner)
        self._failed = True
        for owner in self._schedules.owners():
            if is_dead(owner):
                self._schedules.release(owner)
        while self._decide_some():
            pass
        ready_s = self._schedules.next_ready_s()
        self._failed = False
        if ready_s is None:
            return None
        return min(max(ready_s - self._world.clock.now_s(), 0.0), LOOK_EVERY_S)

    def _decide_some(self) -> bool:
        """Claim and decide some schedules; False if none is due."""
        now_s = self._world.clock.now_s()
        claimed = self._schedules.claim(self._owner, now_s=now_s, lease_s=self._lease_s, limit=AT_ONCE)
        if not claimed:
            return False
        decisions = [self._decision(schedule) for schedule in claimed]
        written = self._schedules.apply(self._owner, decisions, forget_before_s=now_s - KEPT_S)
        for decision in decisions:
            if decision.after.id not in written:
                log.warning("another scheduler took over schedule %s", decision.after.name)
                # The runs of a due time have the same ids there: their environments remain.
            for due in decision.due_times:
                if due.state is DueState.FAILED:
                    log.warning("schedule %s: %s", decision.after.name, due.reason)
        return True

    def _decision(self, schedule: Schedule) -> Decision:
        now_s = self._world.clock.now_s()
        if self._may_be_elsewhere(schedule, now_s):
            return Decision(after=replace(schedule, ready_s=now_s + ELSEWHERE_S))
        try:
            decision = self._next_decision(schedule, now_s)
        except StoreError:
            raise
        except Exception:  # a defect that concerns one schedule must not stop the others
            log.exception("cannot decide on schedule %s", schedule.name)
            return Decision(after=replace(schedule, ready_s=now_s + DEFECT_S))
        return replace(decision, after=with_ready(decision.after, now_s))

    @staticmethod
    def _may_be_elsewhere(schedule: Schedule, now_s: float) -> bool:
        """Whether a due time is left to a worker on the machine with the working folder, for a while."""
        if schedule.folder is None or schedule.next_s is None or Path(schedule.folder).is_dir():
            return False
        return now_s - GRACE_S / 2 < start_s(schedule, schedule.next_s) <= now_s

    def _next_decision(self, schedule: Schedule, now_s: float) -> Decision:
        """The decision on the first queued due time if it can start, else on the next one if it is due."""
        if schedule.queued and not self._unfinished(schedule):
            first_s, *rest = schedule.queued
            return self._started(replace(schedule, queued=tuple(rest)), first_s)
        head_s = schedule.next_s
        if head_s is None or start_s(schedule, head_s) > now_s:
            return Decision(after=schedule)
        if skipped := missed(schedule, head_s, now_s):
            return self._skipped(schedule, skipped)
        after = replace(schedule, next_s=following(schedule, head_s))
        failed = self._last_failed(schedule)
        if failed is not None:
            return self._paused(after, head_s, failed)
        unfinished = self._unfinished(schedule)
        if schedule.queued or unfinished:
            return self._overlapping(after, head_s, unfinished)
        return self._started(after, head_s)

    def _overlapping(self, after: Schedule, due_s: float, running: Sequence[RunRow]) -> Decision:
        """The decision on a due time before the runs of the previous one are final."""
        shown = f"run {running[0].id} is not final" if running else "an earlier due time is queued"
        if after.overlap is Overlap.SKIP:
            return Decision(
                after=after,
                due_times=(self._note(after, due_s, DueState.SKIPPED, f"{shown} (overlap = skip)"),),
            )
        if after.overlap is Overlap.REPLACE:
            return self._replacing(after, due_s, running)
        if len(after.queued) >= MOST_QUEUED:
            reason = f"{MOST_QUEUED} due times are queued already"
            return Decision(after=after, due_times=(self._note(after, due_s, DueState.SKIPPED, reason),))
        note = self._note(after, due_s, DueState.QUEUED, f"{shown} (overlap = queue)")
        return Decision(after=replace(after, queued=(*after.queued, due_s)), due_times=(note,))

    def _replacing(self, after: Schedule, due_s: float, running: Sequence[RunRow]) -> Decision:
        """Cancel the runs in progress; the due time starts when they are final."""
        now_s = self._world.clock.now_s()
        message = f"replaced by the next due time of schedule {after.name}"
        events = [
            Event(run_id=row.id, kind="cancel_requested", time_s=now_s, message=message) for row in running
        ]
        self._world.runs.request_cancel([row.id for row in running], events)
        replaced = [self._note(after, earlier_s, DueState.REPLACED, message) for earlier_s in after.queued]
        reason = f"run {running[0].id} is cancelled first" if running else "an earlier run is cancelled first"
        note = self._note(after, due_s, DueState.QUEUED, f"{reason} (overlap = replace)")
        return Decision(after=replace(after, queued=(due_s,)), due_times=(*replaced, note))

    def _skipped(self, schedule: Schedule, missed_s: Sequence[float]) -> Decision:
        """The decision on due times that are not made up for."""
        note = self._note(schedule, missed_s[0], DueState.SKIPPED, "missed: no worker kept the schedules")
        if len(missed_s) > 1:
            note = replace(note, count=len(missed_s), last_s=missed_s[-1])
        return Decision(after=replace(schedule, next_s=following(schedule, missed_s[-1])), due_times=(note,))

    def _started(self, after: Schedule, due_s: float) -> Decision:
        late_s = self._world.clock.now_s() - start_s(after, due_s)
        try:
            made = self._make_runs(after, self._schedules.text(after.id), due_s)
            adding.hand_over(self._world, [run for run, _ in made.runs])
        except StoreError:
            raise
        except BadInputError as error:
            reason = described(error.problems, str(error))
            return Decision(after=after, due_times=(self._note(after, due_s, DueState.FAILED, reason),))
        except Exception as error:
            log.exception("cannot make the runs of schedule %s", after.name)
            reason = f"{type(error).__name__}: {error}"
            return Decision(after=after, due_times=(self._note(after, due_s, DueState.FAILED, reason),))
        note = self._note(after, due_s, DueState.STARTED, f"{late_s:.0f} s late" if late_s > GRACE_S else "")
        return Decision(
            after=after,
            due_times=(replace(note, run_id=made.runs[0][0].id),),
            runs=made.runs,
            events=made.events,
        )

    def _paused(self, after: Schedule, due_s: float, failed: str) -> Decision:
        """Pause a schedule whose runs always fail; the timeline of the last one records it."""
        now_s = self._world.clock.now_s()
        reason = f"its last {after.pause_after} due times failed"
        log.warning("schedule %s is paused: %s", after.name, reason)
        message = f"schedule {after.name} is paused: {reason}; anubis schedule resume continues it"
        event = Event(run_id=failed, kind="schedule_paused", time_s=now_s, message=message)
        return Decision(
            after=replace(after, paused_s=now_s, pause_reason=reason),
            due_times=(self._note(after, due_s, DueState.SKIPPED, f"the schedule is paused: {reason}"),),
            events=(event,) if failed else (),
        )

    def _last_failed(self, schedule: Schedule) -> str | None:
        """The last run of a schedule that failed too often in a row, "" if none was submitted; None: it did not."""
        if not schedule.pause_after:
            return None
        due_times = self._schedules.due_times(schedule.id, limit=_COUNTED)
        rows = self._world.runs.find(RunQuery(parent_id=schedule.id, limit=_COUNTED))
        counted = [due for due in due_times if due.noted_s >= schedule.failures_since_s]
        if failures_in_a_row(counted, rows) < schedule.pause_after:
            return None
        return rows[0].id if rows else ""

    def _unfinished(self, schedule: Schedule) -> Sequence[RunRow]:
        return self._world.runs.find(RunQuery(parent_id=schedule.id, statuses=_UNFINISHED, limit=_COUNTED))

    def _note(self, schedule: Schedule, due_s: float, state: DueState, reason: str) -> DueTime:
        now_s = self._world.clock.now_s()
        return DueTime(schedule_id=schedule.id, due_s=due_s, state=state, noted_s=now_s, reason=reason)

    def _runs_of(self, schedule: Schedule, text: str, due_s: float) -> ScheduledRuns:
        return scheduled_runs(self._world, schedule, text, due_s, default_engine=self._default_engine)
