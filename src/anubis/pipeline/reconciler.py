"""Moves runs: claims what is due under a lease, asks the stage, applies the answer in one transaction.

Any process may drive it (the command line, a background worker, a server), and any of them may die at any
moment: a lease that runs out, or whose holder is known to be dead, lets the next one go on.
"""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import (
    AnubisError,
    ElsewhereError,
    LeaseLostError,
    NoCapacityError,
    StageError,
    StoreError,
)
from anubis.model.run import Event, Run, Step
from anubis.model.status import Status
from anubis.pipeline.conclusion import conclude
from anubis.pipeline.lease_owner import is_dead
from anubis.pipeline.stages import alert, analyse, collect, fetch, place, watch
from anubis.pipeline.stages.watch import BACK_OFF, SOONEST_S

log = logging.getLogger(__name__)

#: A stage that looks at one run. ``watch`` is the only stage that looks at many at once.
STAGES: dict[Status, Callable[[Run, World], Step]] = {
    Status.FETCH: fetch.fetch,
    Status.PLACE: place.place,
    Status.COLLECT: collect.collect,
    Status.ANALYSE: analyse.analyse,
    Status.ALERT: alert.alert,
}

#: How often new runs and cancellations are looked for while others are in hand, seconds.
LOOK_EVERY_S = 0.25
#: How long to leave a database alone that did not answer, seconds.
STORE_AWAY_S = 1.0
#: How long a run that only another machine can see is left to it, seconds.
ELSEWHERE_S = 5.0


@dataclass(slots=True)
class _Held:
    run: Run
    look_s: float


class Reconciler:
    """One driver of runs. Not thread-safe: a process that wants several makes several."""

    def __init__(
        self,
        world: World,
        owner: str,
        *,
        lease_s: float = 30.0,
        most: int = 32,
        changed: Callable[[Run], None] | None = None,
    ) -> None:
        self.world = world
        self.owner = owner
        self.lease_s = lease_s
        self.most = most
        self.changed = changed
        self._held: dict[str, _Held] = {}
        self._claim_s = self._renew_s = self._cancel_s = 0.0
        self._told = ""
        #: When a run that held room last ended: the sooner after it, the likelier there is room again.
        self._freed_s = 0.0

    def drive(self, until: Callable[[], bool]) -> None:
        """Work until the condition holds, then give all leases back."""
        try:
            while not until():
                wait_s = self._patient_turn()
                if wait_s > 0:
                    self.world.clock.wait(wait_s)
        finally:
            self.close()

    def _patient_turn(self) -> float:
        """A turn that outlives a database that is away for a while."""
        try:
            wait_s = self.turn()
        except StoreError as error:
            if self._told != str(error):  # once, however long it lasts
                self._told = str(error)
                log.warning("%s; trying again every %g s", error, STORE_AWAY_S)
            return STORE_AWAY_S
        self._told = ""
        return wait_s

    def close(self) -> None:
        """Give the leases back, so that others need not wait for them to run out."""
        self._held.clear()
        self.world.leases.release(self.owner)

    def turn(self) -> float:
        """Look once at everything that is due; seconds until there may be something to do again."""
        now_s = self.world.clock.now_s()
        self._renew(now_s)
        self._claim(now_s)
        due = [held for held in self._held.values() if held.look_s <= now_s]
        watched = [held for held in due if held.run.status is Status.WATCH]
        full: dict[str, float] = {}
        for held in due:
            if held.run.status is Status.PLACE and held.run.engine in full and not held.run.cancel_requested:
                held.look_s = full[held.run.engine]
            elif held.run.status is not Status.WATCH:
                self._step(held, full)
        self._watch(watched)
        now_s = self.world.clock.now_s()
        next_s = min((held.look_s for held in self._held.values()), default=now_s + LOOK_EVERY_S)
        return max(0.0, min(next_s - now_s, LOOK_EVERY_S))

    def _renew(self, now_s: float) -> None:
        if not self._held:
            self._renew_s = now_s
            return
        if now_s - self._renew_s >= self.lease_s / 3:
            self._renew_s = now_s
            kept = self.world.leases.renew(self.owner, list(self._held), now_s=now_s, lease_s=self.lease_s)
            for run_id in set(self._held) - set(kept):
                log.warning("lost the lease on run %s", run_id)
                del self._held[run_id]
        placing = any(
            held.run.status is Status.PLACE and held.look_s <= now_s for held in self._held.values()
        )
        if placing or now_s - self._cancel_s >= LOOK_EVERY_S:  # what was cancelled already must not start
            self._cancel_s = now_s
            for run_id in self.world.leases.cancelled(self.owner):
                if (held := self._held.get(run_id)) and not held.run.cancel_requested:
                    self._hold(self.world.runs.get(run_id), look_s=now_s)

    def _claim(self, now_s: float) -> None:
        if len(self._held) >= self.most or (self._held and now_s - self._claim_s < LOOK_EVERY_S):
            return
        self._claim_s = now_s
        for owner in self.world.leases.owners():
            if is_dead(owner):
                self.world.leases.release(owner)
        room = self.most - len(self._held)
        for run in self.world.leases.claim(self.owner, now_s=now_s, lease_s=self.lease_s, limit=room):
            self._hold(run, look_s=now_s)

    def _hold(self, run: Run, *, look_s: float) -> None:
        if held := self._held.get(run.id):
            held.run, held.look_s = run, look_s
        else:
            self._held[run.id] = _Held(run, look_s)

    def _step(self, held: _Held, full: dict[str, float]) -> None:
        """Ask stages about one run until it has to wait, is watched, or is final.

        An engine without room is noted in ``full`` with the time to ask it again: runs behind this one wait too.
        """
        while held.run.id in self._held and held.run.status is not Status.WATCH:
            try:
                step = self._ask(held.run)
            except ElsewhereError:
                self._leave(held)
                return
            except NoCapacityError as error:
                held.look_s = full[held.run.engine] = self._room_s(held.run.engine, error)
                return
            if not self._apply(held, step) or step.again_after_s > 0:
                return

    def _room_s(self, engine: str, error: NoCapacityError) -> float:
        """When to ask an engine without room again: soon after room was freed, seldom while runs in hand hold it.

        Their end is seen by watching them.
        """
        now_s = self.world.clock.now_s()
        ours = any(
            held.run.status is Status.WATCH and held.run.engine == engine for held in self._held.values()
        )
        patience_s = LOOK_EVERY_S if ours else max(BACK_OFF * (now_s - self._freed_s), SOONEST_S)
        return now_s + min(patience_s, error.again_after_s)

    def _ask(self, run: Run) -> Step:
        if run.cancel_requested and run.status in {Status.FETCH, Status.PLACE}:
            return self._call_off(run)
        try:
            return STAGES[run.status](run, self.world)
        except (ElsewhereError, NoCapacityError, StoreError):
            raise
        except StageError as error:
            return self._fail(run, error.cause, str(error))
        except AnubisError as error:
            return self._fail(run, Cause.USER_ERROR, str(error))
        except Exception as error:  # one failing run never fails its batch
            log.exception("stage %s of run %s", run.status, run.id)
            return self._fail(run, Cause.INTERNAL, f"{type(error).__name__}: {error}")

    def _call_off(self, run: Run) -> Step:
        """A run that was never placed ends here; what somebody placed just before dying has to be ended first."""
        engine = self.world.engines.get(run.engine)
        if run.status is Status.PLACE and engine and (placement := engine.placed(run)):
            return Step(status=Status.WATCH, placement=placement)
        return conclude(run, self.world.clock.now_s(), Cause.CANCELLED, "cancelled before it started")

    def _fail(self, run: Run, cause: Cause, reason: str) -> Step:
        """A run that cannot go on: whoever wants to hear of failures does, unless telling is what failed."""
        if run.status in {Status.ANALYSE, Status.ALERT}:
            return conclude(run, self.world.clock.now_s(), cause, reason)
        return Step(status=Status.ANALYSE, cause=cause, reason=reason)

    def _watch(self, watched: Sequence[_Held]) -> None:
        runs = [held.run for held in watched if held.run.id in self._held]
        looks = watch.watch(runs, self.world)
        for held in watched:
            look = looks.get(held.run.id)
            if look is None:
                continue
            if look.elsewhere:
                self._leave(held)
            elif look.step is None:
                held.look_s = self.world.clock.now_s() + look.again_after_s
            elif self._apply(held, look.step):
                self._free(held.run.engine)
                self._step(held, {})

    def _leave(self, held: _Held) -> None:
        """Let a reconciler on the run's own machine have it."""
        if self._apply(held, Step(status=held.run.status, again_after_s=ELSEWHERE_S)):
            del self._held[held.run.id]
            self.world.leases.release(self.owner, [held.run.id])

    def _free(self, engine: str) -> None:
        """Room may have been freed: what waits for it is looked at next."""
        self._freed_s = self.world.clock.now_s()
        for held in self._held.values():
            if held.run.status is Status.PLACE and held.run.engine == engine:
                held.look_s = self._freed_s

    def _apply(self, held: _Held, step: Step) -> bool:
        now_s = self.world.clock.now_s()
        if step.spawned:
            self.world.runs.add(step.spawned, [_spawned(held.run, run, now_s) for run, _ in step.spawned])
        try:
            run = self.world.leases.apply(self.owner, held.run, step, now_s=now_s)
        except LeaseLostError:
            log.warning("another reconciler took run %s over", held.run.id)
            del self._held[held.run.id]
            return False
        held.run, held.look_s = run, now_s + step.again_after_s
        if run.status.final:
            del self._held[run.id]
        if self.changed:
            self.changed(run)
        return True


def _spawned(cause: Run, run: Run, now_s: float) -> Event:
    return Event(run_id=run.id, kind="submitted", time_s=now_s, data={"caused_by": cause.id})
