"""The runs that a reconciler has in hand: claimed, kept, and given back or lost."""

import logging
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from anubis.contracts.clock import Clock
from anubis.contracts.leases import Leases
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.pipeline.lease_keeper import LeaseKeeper
from anubis.pipeline.lease_owner import is_dead

log = logging.getLogger(__name__)

#: How often new runs and cancellations are looked for while others are in hand, seconds.
LOOK_EVERY_S = 0.25


@dataclass(slots=True, eq=False)
class Held:
    """A run in hand, from a claim until its lease is over. Times are monotonic."""

    run: Run
    #: It is due.
    look_s: float
    #: When it was placed, or when it was claimed before that.
    placed_s: float

    @property
    def needs_room(self) -> bool:
        """Whether its engine must have room for its next stage."""
        return self.run.status is Status.PLACE and not self.run.cancel_requested

    @property
    def order(self) -> tuple[bool, int]:
        """What finishes runs comes before what starts them, which is ordered by priority."""
        return self.run.status in {Status.FETCH, Status.PLACE}, -self.run.descriptor.info.priority


class HeldRuns:
    """The runs in hand of one owner. Used by one thread; only the keeper's runs elsewhere."""

    def __init__(
        self,
        leases: Leases,
        owner: str,
        clock: Clock,
        *,
        lease_s: float,
        most: int,
        lost: Callable[[], None],
    ) -> None:
        self._leases = leases
        self._owner = owner
        self._clock = clock
        self._lease_s = lease_s
        #: How many runs of one engine may wait here for their stages.
        self._most = most
        self.keeper = LeaseKeeper(leases, owner, clock, lease_s=lease_s, lost=lost)
        self._by_id: dict[str, Held] = {}
        self._claim_s = self._cancel_s = -LOOK_EVERY_S
        #: Runs of which a stage is running, or its answer is not applied: under this lease or one that is lost.
        self.busy: set[str] = set()

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Held]:
        """In the order of their claims."""
        return iter(self._by_id.values())

    def idle(self) -> Iterator[Held]:
        """Those of which no stage is running."""
        return (held for held in self if held.run.id not in self.busy)

    def watches(self, engine: str) -> bool:
        """Whether any run of this engine is watched here."""
        return any(held.run.engine == engine and held.run.status is Status.WATCH for held in self)

    def has(self, held: Held) -> bool:
        """Whether the lease under which it was claimed is certainly valid now."""
        return self._by_id.get(held.run.id) is held and self.keeper.holds(held.run.id)

    def claim(self) -> None:
        """Take what is due, the leases of dead owners included; not more often than useful.

        An engine for which enough runs wait here already gets no more of them: they are left to other reconcilers.
        Runs that are only watched do not count.
        """
        now_s = self._clock.monotonic_s()
        if self._by_id and now_s - self._claim_s < LOOK_EVERY_S:
            return
        self._claim_s = now_s
        for owner in self._leases.owners():
            if is_dead(owner):
                self._leases.release(owner)
        waiting = Counter(held.run.engine for held in self if held.run.status is not Status.WATCH)
        full = [engine for engine, count in waiting.items() if count >= self._most]
        limit = self._most - max((count for count in waiting.values() if count < self._most), default=0)
        wall_s = self._clock.now_s()
        for run in self._leases.claim(
            self._owner, now_s=wall_s, lease_s=self._lease_s, limit=limit, without=full
        ):
            placed_s = now_s - max(0.0, wall_s - run.placed_s) if run.placed_s else now_s
            # A run may be in hand already: when the wall clock jumps, its lease has run out in the database.
            # If another owner had it meanwhile, it has changed, and what was asked about it does not count.
            known = self._by_id.get(run.id)
            if known is None or (known.run.status, known.run.attempt) != (run.status, run.attempt):
                self._by_id[run.id] = Held(run, look_s=now_s, placed_s=placed_s)
            self.keeper.hold(run.id, now_s)

    def note_cancellations(self, *, at_once: bool = False) -> bool:
        """Mark the runs that are to be cancelled, and make them due; whether there were any new ones.

        Not more often than useful, or ``at_once``.
        """
        now_s = self._clock.monotonic_s()
        if now_s - self._cancel_s < LOOK_EVERY_S and not at_once:
            return False
        self._cancel_s = now_s
        found = [
            self._by_id[run_id] for run_id in self._leases.cancelled(self._owner) if run_id in self._by_id
        ]
        new = [held for held in found if not held.run.cancel_requested]
        for held in new:
            held.run, held.look_s = replace(held.run, cancel_requested=True), now_s
        return bool(new)

    def give_up_lost(self) -> None:
        """Drop the runs whose leases were lost or ran out; what was asked about them does not count any more."""
        lost = [run_id for run_id in self.keeper.lost() if self._by_id.pop(run_id, None)]
        if lost:
            log.warning("gave up runs whose leases were lost: %s", ", ".join(lost))
            self._leases.release(self._owner, [run_id for run_id in lost if run_id not in self.busy])

    def forget(self, held: Held) -> None:
        """It is final, or another owner's."""
        self._by_id.pop(held.run.id, None)
        self.keeper.drop(held.run.id)

    def release(self, held: Held) -> None:
        """Give it back."""
        self.forget(held)
        self._leases.release(self._owner, [held.run.id])

    def close(self) -> None:
        """Give all back but those of which a stage is running: what it does must not happen under another's lease."""
        self.keeper.stop()
        idle = [held.run.id for held in self.idle()]
        self._by_id.clear()
        self._leases.release(self._owner, idle if self.busy else None)
