"""The runs whose leases a reconciler holds, from the claim until the lease is released or lost."""

import logging
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from anubis.contracts.clock import Clock
from anubis.contracts.leases import Leases
from anubis.model.run import Run, began_s
from anubis.model.status import Status
from anubis.pipeline.lease_keeper import LeaseKeeper
from anubis.pipeline.lease_owner import is_dead

log = logging.getLogger(__name__)

#: Interval between queries for new runs and cancellations while runs are held, seconds.
LOOK_EVERY_S = 0.25
#: Shortest such interval while other processes announce new runs and cancellations, seconds.
SOON_S = 0.05


@dataclass(slots=True, eq=False)
class Held:
    """A claimed run, until its lease ends. Times are monotonic."""

    run: Run
    #: When its stage is due.
    look_s: float
    #: When its phase began; see ``Run.phase_s``.
    since_s: float
    #: How often in a row a step was refused because another writer had changed an alert.
    conflicts: int = 0

    @property
    def needs_room(self) -> bool:
        """Whether its next stage needs free capacity of its engine."""
        return self.run.status is Status.PLACE and not self.run.cancel_requested

    @property
    def starts(self) -> bool:
        """Whether it has not been placed."""
        return self.run.status in {Status.FETCH, Status.PLACE}

    @property
    def urgency(self) -> int:
        """Sort key: the most urgent first."""
        return -self.run.descriptor.info.priority


def in_turn(waiting: Sequence[Held]) -> list[Held]:
    """Stages after the placement first, then runs that start; ``waiting`` is in the order of the claims.

    The projects take turns as they were claimed; a project has its most urgent run started at each of its turns.
    """
    later = sorted((each for each in waiting if not each.starts), key=lambda held: held.urgency)
    starting = [each for each in waiting if each.starts]
    by_project: dict[str, list[Held]] = defaultdict(list)
    for each in starting:
        by_project[each.run.project].append(each)
    most_urgent = {
        project: iter(sorted(runs, key=lambda held: held.urgency)) for project, runs in by_project.items()
    }
    return [*later, *(next(most_urgent[each.run.project]) for each in starting)]


class HeldRuns:
    """The runs that one owner holds. Used by one thread, except ``keeper``."""

    def __init__(
        self,
        leases: Leases,
        owner: str,
        clock: Clock,
        *,
        lease_s: float,
        max_waiting: int,
        lost: Callable[[], None],
        look_every_s: Callable[[], float] = lambda: LOOK_EVERY_S,
    ) -> None:
        """``look_every_s``: interval between queries for new runs and cancellations now, unless ``look`` is called."""
        self._look_every_s = look_every_s
        self._leases = leases
        self._owner = owner
        self._clock = clock
        self._lease_s = lease_s
        #: Maximum number of runs of one engine that wait here for a stage.
        self._max_waiting = max_waiting
        self.keeper = LeaseKeeper(leases, owner, clock, lease_s=lease_s, lost=lost)
        self._by_id: dict[str, Held] = {}
        #: Runs that were dropped before they were final: their waits continue if they are claimed again.
        self._dropped: dict[str, Held] = {}
        self._claim_s = self._cancel_s = -math.inf
        #: Whether there may be new runs or cancellations since the last query.
        self._claim_asked = self._cancel_asked = False
        #: Whether more runs could have been claimed than there was room for.
        self._more = False
        #: Monotonic time at which a run that cannot be claimed yet is due.
        self._ready_s = math.inf
        #: Runs whose stage is running or whose answer is not applied yet, under the current or a lost lease.
        self.busy: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Held]:
        """The held runs in the order of their claims."""
        return iter(self._by_id.values())

    def idle(self) -> Iterator[Held]:
        """The held runs whose stage is not running."""
        return (held for held in self if held.run.id not in self.busy)

    def watches(self, engine: str) -> bool:
        """Whether a run of this engine is in stage watch here."""
        return any(held.run.engine == engine and held.run.status is Status.WATCH for held in self)

    def has(self, held: Held) -> bool:
        """Whether the lease from this claim is certainly valid now."""
        return self._by_id.get(held.run.id) is held and self.keeper.holds(held.run.id)

    def look(self) -> None:
        """There may be new runs or cancellations. May be called in any thread."""
        self._claim_asked = self._cancel_asked = True

    def next_look_s(self) -> float:
        """Monotonic time of the next query for new runs."""
        return min(self._after(self._claim_s, asked=self._claim_asked), self._ready_s)

    def _after(self, looked_s: float, *, asked: bool) -> float:
        if asked:
            return looked_s + SOON_S
        return looked_s + (LOOK_EVERY_S if self._more else self._look_every_s())

    def claim(self) -> None:
        """Claim due runs, after the leases of dead owners are released; at most at the interval of the constructor.

        No runs are claimed for an engine that already has the maximum waiting here: other reconcilers can claim them.
        Runs in stage watch do not count.
        """
        now_s = self._clock.monotonic_s()
        if self._by_id and now_s < self.next_look_s():
            return
        self._claim_asked, self._claim_s = False, now_s
        for owner in self._leases.owners():
            if is_dead(owner):
                self._leases.release(owner)
        waiting = Counter(held.run.engine for held in self if held.run.status is not Status.WATCH)
        full = [engine for engine, count in waiting.items() if count >= self._max_waiting]
        room = [self._max_waiting - count for count in waiting.values() if count < self._max_waiting]
        limit = min(room, default=self._max_waiting)
        wall_s = self._clock.now_s()
        claimed = self._leases.claim(
            self._owner, now_s=wall_s, lease_s=self._lease_s, limit=limit, without=full
        )
        self._more = bool(full) or len(claimed) >= limit
        self._ready_s = self._next_ready_s(now_s, wall_s)
        for run in claimed:
            # A held run can be claimed again: its lease expires in the database if the wall clock jumps.
            # If another owner held it meanwhile, it has changed, and pending answers about it do not count.
            known = self._by_id.get(run.id)
            if known is None or (known.run.status, known.run.attempt) != (run.status, run.attempt):
                since_s = self._since_s(run, now_s, wall_s)
                self._by_id[run.id] = Held(run, look_s=now_s, since_s=since_s)
            self.keeper.hold(run.id, now_s)

    def _next_ready_s(self, now_s: float, wall_s: float) -> float:
        """Monotonic time at which the next run is due; infinite while there are queries all the time."""
        if self._look_every_s() <= LOOK_EVERY_S:
            return math.inf
        ready_s = self._leases.next_ready_s(self._owner, now_s=wall_s)
        return math.inf if ready_s is None else now_s + ready_s - wall_s

    def _since_s(self, run: Run, now_s: float, wall_s: float) -> float:
        """Monotonic time since which the run waits. The wall clock counts only for what happened before the first claim."""
        known = self._by_id.get(run.id) or self._dropped.pop(run.id, None)
        if known and (known.run.attempt, known.run.phase_s) == (run.attempt, run.phase_s):
            return known.since_s
        return now_s - max(0.0, wall_s - began_s(run))

    def note_cancellations(self, *, at_once: bool = False) -> bool:
        """Mark the runs whose cancellation was requested, and make them due; whether there were new ones.

        At most at the interval of the constructor, unless ``at_once``.
        """
        now_s = self._clock.monotonic_s()
        if not at_once and now_s < self._after(self._cancel_s, asked=self._cancel_asked):
            return False
        self._cancel_asked, self._cancel_s = False, now_s
        ids = self._leases.cancelled(self._owner)
        cancelled = [self._by_id[run_id] for run_id in ids if run_id in self._by_id]
        new = [held for held in cancelled if not held.run.cancel_requested]
        for held in new:
            held.run, held.look_s = replace(held.run, cancel_requested=True), now_s
        return bool(new)

    def give_up_lost(self) -> None:
        """Drop the runs whose leases were lost or expired; answers about them are ignored."""
        lost = [run_id for run_id in self.keeper.lost() if run_id in self._by_id]
        if lost:
            self._dropped.update({run_id: self._by_id.pop(run_id) for run_id in lost})
            log.warning("dropped runs whose leases were lost: %s", ", ".join(lost))
            self._leases.release(self._owner, [run_id for run_id in lost if run_id not in self.busy])

    def forget(self, held: Held) -> None:
        """Drop a run that is final or belongs to another owner."""
        if self._by_id.pop(held.run.id, None) and not held.run.status.final:
            self._dropped[held.run.id] = held
        self.keeper.drop(held.run.id)

    def release(self, held: Held) -> None:
        """Drop a run and release its lease."""
        self.forget(held)
        self._leases.release(self._owner, [held.run.id])

    def close(self) -> None:
        """Release all leases except those of runs whose stage is running: its effects must not overlap another's lease."""
        self.keeper.stop()
        idle = [held.run.id for held in self.idle()]
        self._by_id.clear()
        self._leases.release(self._owner, idle if self.busy else None)
