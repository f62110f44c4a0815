"""Drives runs: claims due runs under a lease, asks the stage what to do, applies the answer in one transaction.

Any process may use it (the command line, a background worker, a server), and any of them may die at any
time: when a lease expires, or its holder is known to be dead, another process continues.

One thread, the loop, decides and writes. Stages and chores run in other threads and only return answers, so none
of them can stall the loop; a separate thread renews the leases. An answer is applied only while the lease under
which it was requested is held.
"""

import logging
import math
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from threading import Event as Signal

from anubis.contracts.chores import Chore
from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import ConflictError, LeaseLostError, NoCapacityError, QuotaError, StoreError
from anubis.model.run import Event, Run, Step
from anubis.model.status import Phase, Status
from anubis.pipeline.chore_turns import ChoreTurns
from anubis.pipeline.held_runs import LOOK_EVERY_S, SOON_S, Held, HeldRuns, in_turn
from anubis.pipeline.run_environment import is_needed_no_more
from anubis.pipeline.stage_call import Answer, ask, fail, observe
from anubis.pipeline.stage_pool import EnginePool, StagePool
from anubis.pipeline.stages.watch import Pause
from anubis.pipeline.threads import StartThread, Threads

log = logging.getLogger(__name__)

#: Pause after the database did not answer, seconds.
STORE_AWAY_S = 1.0
#: Pause before a run is due again that only a reconciler on another machine can drive, seconds.
ELSEWHERE_S = 5.0
#: More conflicts in a row than any number of writers cause: a stage that repeats its mistake.
MOST_CONFLICTS = 100
#: Pause after a stage had no answer or the step of a run could not be written, seconds.
UNWRITABLE_S = 60.0
#: Maximum wait for stages and for chores in progress at the end, seconds.
CLOSE_S, LAST_CHORES_S = 2.0, 15.0


@dataclass(slots=True, eq=False)
class _Call:
    """One call of a stage, with the runs as they were at its start."""

    asked: Sequence[tuple[Held, Run]]
    pool: StagePool


class Reconciler:
    """Drives runs. Not thread-safe: a process can create several."""

    def __init__(
        self,
        world: World,
        owner: str,
        *,
        lease_s: float = 30.0,
        max_waiting: int = 32,
        changed: Callable[[Run], None] | None = None,
        chores: Sequence[Chore] = (),
        start: StartThread | None = None,
        patience_s: float = math.inf,
        look_every_s: Callable[[], float] = lambda: LOOK_EVERY_S,
    ) -> None:
        """``patience_s`` is how long ``drive`` waits for a database that does not answer.

        ``look_every_s`` is the interval between queries for new runs and cancellations, as long as ``look`` is not called.
        """
        self.world = world
        self.owner = owner
        self.changed = changed
        self._clock = world.clock
        self._start = start or Threads()
        self._look_every_s = look_every_s
        #: Set by other threads when there is something to do.
        self._wake = Signal()
        self.held = HeldRuns(
            world.leases,
            owner,
            world.clock,
            lease_s=lease_s,
            max_waiting=max_waiting,
            lost=self._wake.set,
            look_every_s=look_every_s,
        )
        self.chores = ChoreTurns(chores, self._clock.monotonic_s(), self._start, self._wake.set)
        self._pools: dict[str, EnginePool] = {}
        #: Calls that have ended, with their answers; filled by the threads of stages.
        self._ended: deque[tuple[_Call, Mapping[str, Answer]]] = deque()
        self._answers: deque[tuple[Held, Run, Answer]] = deque()
        self._away = ""
        self._patience_s = patience_s
        #: Runs whose stage cannot read or write the store, by run id.
        self._refused: dict[str, StoreError] = {}
        #: Monotonic time of the first of the turns that failed in succession; None: the last turn succeeded.
        self._away_since_s: float | None = None

    def drive(self, until: Callable[[], bool]) -> None:
        """Work until the condition holds, give chores a last turn, then release the leases.

        Raises StoreError if the database does not answer for too long.
        """
        try:
            self._drive(until)
        except BaseException:
            with suppress(StoreError):  # the first error is the one to report
                self.close()
            raise
        self.close()

    def look(self) -> None:
        """Query for new runs and cancellations now, and look at the condition of ``drive``. May be called in any thread."""
        self.held.look()
        self._wake.set()

    def _drive(self, until: Callable[[], bool]) -> None:
        self._start("lease keeper", self.held.keeper.keep)
        while not self._holds(until):
            self._wait(self._patient_turn())
        last_s = self._clock.monotonic_s() + LAST_CHORES_S
        self.chores.ask(self._clock.monotonic_s())
        while not self.chores.rested and self._clock.monotonic_s() < last_s:
            self._wait(self._patient_turn())

    def close(self) -> None:
        """Release the leases, so that other reconcilers need not wait until they expire.

        Stages in progress have ``CLOSE_S`` seconds to end. The lease of a stage that does not end in time is not
        released but expires: the effects of the stage must not overlap the lease of another reconciler.
        """
        deadline_s = self._clock.monotonic_s() + CLOSE_S
        self._stop_watching()
        try:
            self._take_answers()
            while self.held.busy and (left_s := deadline_s - self._clock.monotonic_s()) > 0:
                self._wait(left_s)
                self._take_answers()
        finally:
            self.held.close()

    def turn(self) -> float:
        """Process everything that is due; seconds until more may be due."""
        self.held.give_up_lost()
        self.held.claim()
        self._note_cancellations()
        self._take_answers()
        self._start_due()
        while self._ended:
            self._take_answers()
            self._start_due()
        now_s = self._clock.monotonic_s()
        self.chores.take(now_s, early=not len(self.held))
        look_s = max(self.held.next_look_s(), now_s + SOON_S)
        times = [self.chores.next_s(), look_s, *(held.look_s for held in self.held.idle())]
        # Runs that are already due wait for the end of a call, which wakes the loop.
        return min([time_s - now_s for time_s in times if time_s > now_s] + [self._look_every_s()])

    def _wait(self, seconds: float) -> None:
        """Wait for this time, or until another thread wakes the loop."""
        self._clock.wait(self._wake, seconds)
        self._wake.clear()

    def _patient_turn(self) -> float:
        """A turn that continues later if the database is not available."""
        try:
            wait_s = self.turn()
        except StoreError as error:
            self._note_away(error)
            self._give_up_after_patience(error)
            return STORE_AWAY_S
        ids = {held.run.id for held in self.held}
        self._refused = {run_id: error for run_id, error in self._refused.items() if run_id in ids}
        if self._refused:
            self._give_up_after_patience(next(iter(self._refused.values())))
        else:
            self._away, self._away_since_s = "", None
        return wait_s

    def _give_up_after_patience(self, error: StoreError) -> None:
        now_s = self._clock.monotonic_s()
        if self._away_since_s is None:
            self._away_since_s = now_s
        if now_s - self._away_since_s >= self._patience_s:
            raise type(error)(
                f"{error.message} (for {self._patience_s:g} s); the runs remain stored and are not lost",
                remedy=f"{error.remedy or 'repair the database'}; then continue the runs with anubis worker",
            ) from error

    def _holds(self, condition: Callable[[], bool]) -> bool:
        """Return whether the condition holds; False if the database does not answer."""
        try:
            return condition()
        except StoreError as error:
            self._note_away(error)
            return False

    def _note_away(self, error: StoreError) -> None:
        if self._away != str(error):  # one message for each outage
            self._away = str(error)
            span = f" for up to {self._patience_s:g} s" if self._patience_s < math.inf else ""
            log.warning("%s; trying again every %g s%s", error, STORE_AWAY_S, span)

    def _start_due(self) -> None:
        """Start the stages of due runs while the pools of their engines have room."""
        now_s = self._clock.monotonic_s()
        due: dict[str, list[Held]] = defaultdict(list)
        for held in self.held.idle():
            if held.look_s <= now_s:
                due[held.run.engine].append(held)
        for engine, waiting in due.items():
            pool = self._pool(engine)
            self._watch(pool, engine, [each for each in waiting if each.run.status is Status.WATCH])
            for held in in_turn([each for each in waiting if each.run.status is not Status.WATCH]):
                if not pool.stages.may_start(now_s):
                    break
                if held.needs_room and now_s < pool.full_until_s:
                    held.look_s = pool.full_until_s
                    continue
                if held.needs_room:
                    self._note_cancellations(at_once=True)  # a cancelled run must not start
                self._call(pool.stages, [held], partial(ask, held.run, self.world, now_s - held.since_s))

    def _watch(self, pool: EnginePool, engine: str, due: Sequence[Held]) -> None:
        if not due:
            return
        if not pool.watches.may_start(self._clock.monotonic_s()):
            pool.stop.set()  # the runs watched now are watched again together with these
            return
        pool.stop.clear()
        placed_s = {held.run.id: held.since_s for held in due}
        runs = [held.run for held in due]
        self._call(pool.watches, due, partial(observe, engine, placed_s, runs, self.world, pool.stop))

    def _note_cancellations(self, *, at_once: bool = False) -> None:
        if self.held.note_cancellations(at_once=at_once):
            self._stop_watching()

    def _stop_watching(self) -> None:
        for pool in self._pools.values():
            pool.stop.set()

    def _pool(self, engine: str) -> EnginePool:
        if engine not in self._pools:
            self._pools[engine] = EnginePool.of(engine, self._start)
        return self._pools[engine]

    def _call(self, pool: StagePool, held: Sequence[Held], work: Callable[[], Mapping[str, Answer]]) -> None:
        call = _Call([(each, each.run) for each in held], pool)
        try:
            pool.start(call, partial(self._run, call, work), self._clock.monotonic_s())
        except RuntimeError as error:
            log.warning("cannot start a thread for a stage: %s", error)
            for each in held:
                each.look_s = self._clock.monotonic_s() + STORE_AWAY_S
            return
        self.held.busy.update(each.run.id for each in held)

    def _run(self, call: _Call, work: Callable[[], Mapping[str, Answer]]) -> None:
        """Run in a thread of a pool. The stage is not called if the leases expired, for example in a stopped process."""
        valid = all(self.held.keeper.holds(run.id) for _, run in call.asked)
        try:
            answers = work() if valid else {}
        except BaseException:  # for example an error of a plug-in that has no text
            log.exception("%s has no answer", call.pool.name)
            answers = {run.id: Pause(again_after_s=UNWRITABLE_S) for _, run in call.asked}
        self._ended.append((call, answers))
        self._wake.set()

    def _take_answers(self) -> None:
        """Apply the answers of stages. An answer that the database cannot store now is applied later."""
        while self._ended:
            call, answers = self._ended.popleft()
            call.pool.ended(call)
            self._answers.extend((held, run, answers.get(run.id, Pause())) for held, run in call.asked)
        while self._answers:
            held, asked, answer = self._answers.popleft()
            self.held.busy.discard(asked.id)
            try:
                if self.held.has(held):
                    self._settle(held, asked, answer)
            except StoreError:
                self.held.busy.add(asked.id)
                self._answers.appendleft((held, asked, answer))
                raise
            except Exception:  # affects no other run
                log.exception("cannot apply the answer of a stage about run %s", asked.id)
                held.look_s = self._clock.monotonic_s() + UNWRITABLE_S

    def _settle(self, held: Held, asked: Run, answer: Answer) -> None:
        """Apply one answer, or note when to ask again."""
        now_s, pool = self._clock.monotonic_s(), self._pool(asked.engine)
        self._refused.pop(asked.id, None)
        if isinstance(answer, Step):
            if self._apply(held, answer) and held.run.phase is Phase.NEEDS:
                self.held.release(held)  # it would take the place of a run that can start
            if asked.status is Status.WATCH and held.run.status is not Status.WATCH:
                self._free(pool, asked.engine, now_s)
            return
        if isinstance(answer, NoCapacityError):
            pool.full(answer, now_s, ours=self.held.watches(asked.engine))
            held.look_s = pool.full_until_s
        elif isinstance(answer, StoreError):
            self._note_away(answer)
            self._refused[asked.id] = answer
            held.look_s = now_s + STORE_AWAY_S
        elif answer.elsewhere:
            self._leave(held)
        else:
            held.look_s = now_s + (answer.again_after_s or 0.0)
        if held.run.cancel_requested and not asked.cancel_requested:  # cancelled during the call
            held.look_s = now_s

    def _leave(self, held: Held) -> None:
        """Release a run that only a reconciler on another machine can drive."""
        if self._apply(held, Step(status=held.run.status, again_after_s=ELSEWHERE_S)):
            self.held.release(held)

    def _free(self, pool: EnginePool, engine: str, now_s: float) -> None:
        """Make the runs that wait for capacity of this engine due: some may have been freed."""
        pool.freed(now_s)
        for held in self.held:
            if held.run.status is Status.PLACE and held.run.engine == engine:
                held.look_s = min(held.look_s, now_s)

    def _apply(self, held: Held, step: Step, *, rescue: bool = False) -> bool:
        """Write the step and update the held run; False if nothing was written.

        A step that cannot be written fails its run, so that it does not delay other runs.
        """
        now_s = self._clock.monotonic_s()
        try:
            run = self._write(held.run, step)
        except StoreError:
            raise
        except LeaseLostError:
            log.warning("another reconciler took over run %s", held.run.id)
            self.held.forget(held)
            return False
        except ConflictError as error:
            return self._decide_again(held, error)
        except Exception as error:
            log.exception("cannot write a step of run %s", held.run.id)
            held.look_s = now_s + UNWRITABLE_S
            if rescue or step.status is Status.WATCH:  # a running benchmark is not abandoned
                return False
            reason = f"{type(error).__name__}: {error}"
            return self._apply(held, fail(held.run, self.world, Cause.INTERNAL, reason), rescue=True)
        held.look_s = now_s + step.again_after_s
        if step.alerts:
            self.chores.ask(now_s)
        self._update(held, run, now_s)
        return True

    def _update(self, held: Held, run: Run, now_s: float) -> None:
        """Continue with the run as it is stored now."""
        if (run.attempt, run.phase_s) != (held.run.attempt, held.run.phase_s):
            held.since_s = max(now_s, held.look_s) if run.attempt > held.run.attempt else now_s
        held.run, held.conflicts = run, 0
        if is_needed_no_more(run):
            self.world.environments.remove([run.id])
        if run.status.final:
            self.held.forget(held)
        if self.changed:
            try:
                self.changed(run)
            except Exception:  # a defect of a view stops no driver
                log.exception("cannot show a change of run %s", run.id)

    def _decide_again(self, held: Held, error: ConflictError) -> bool:
        """Repeat the stage: another writer changed an alert that it read. Too many conflicts in a row are a defect."""
        held.conflicts += 1
        if held.conflicts > MOST_CONFLICTS:
            return self._apply(held, fail(held.run, self.world, Cause.INTERNAL, str(error)), rescue=True)
        held.look_s = self._clock.monotonic_s()
        return False

    def _write(self, run: Run, step: Step) -> Run:
        now_s = self._clock.now_s()
        if step.spawned:
            events = [
                Event(run_id=new.id, kind="submitted", time_s=now_s, data={"caused_by": run.id})
                for new, _ in step.spawned
            ]
            try:
                self.world.runs.add(step.spawned, events)
            except QuotaError as error:  # the run itself has ended, and nothing repeats its last step
                note = Event(run_id=run.id, kind="note", time_s=now_s, message=error.message)
                step = replace(step, spawned=(), events=(*step.events, note))
        return self.world.leases.apply(self.owner, run, step, now_s=now_s)
