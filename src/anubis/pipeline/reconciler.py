"""Moves runs: claims what is due under a lease, asks the stage, applies the answer in one transaction.

Any process may drive it (the command line, a background worker, a server), and any of them may die at any
moment: a lease that runs out, or whose holder is known to be dead, lets the next one continue.

One thread, the loop, decides and writes. Stages and chores run in other threads and only hand in answers, so none
of them can stall the loop; leases are renewed by a thread of their own. An answer counts only while the lease under
which it was asked for is held.
"""

import logging
from collections import defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Event as Signal

from anubis.contracts.chores import Chore
from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import LeaseLostError, NoCapacityError, StoreError
from anubis.model.run import Event, Run, Step
from anubis.model.status import Status
from anubis.pipeline.chore_turns import ChoreTurns
from anubis.pipeline.held_runs import LOOK_EVERY_S, Held, HeldRuns
from anubis.pipeline.stage_call import Answer, ask, fail, observe
from anubis.pipeline.stage_pool import EnginePool, StagePool
from anubis.pipeline.stages.watch import Pause
from anubis.pipeline.threads import StartThread, Threads

log = logging.getLogger(__name__)

#: How long to leave a database alone that did not answer, seconds.
STORE_AWAY_S = 1.0
#: How long a run that only another machine can see is left to it, seconds.
ELSEWHERE_S = 5.0
#: How long a run is left alone whose stage has no answer, or whose step cannot be written, seconds.
UNWRITABLE_S = 60.0
#: How long stages and chores in progress are waited for at the end, seconds.
CLOSE_S, LAST_CHORES_S = 2.0, 15.0


@dataclass(slots=True, eq=False)
class _Call:
    """A question to a stage: the runs as they were when it was asked."""

    asked: Sequence[tuple[Held, Run]]
    pool: StagePool


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
        chores: Sequence[Chore] = (),
        start: StartThread | None = None,
    ) -> None:
        self.world = world
        self.owner = owner
        self.changed = changed
        self._clock = world.clock
        self._start = start or Threads()
        #: Set by other threads when there is something to do.
        self._wake = Signal()
        self.held = HeldRuns(
            world.leases, owner, world.clock, lease_s=lease_s, most=most, lost=self._wake.set
        )
        self.chores = ChoreTurns(chores, self._clock.monotonic_s(), self._start, self._wake.set)
        self._pools: dict[str, EnginePool] = {}
        #: Filled by the threads of stages.
        self._ended: deque[tuple[_Call, Mapping[str, Answer]]] = deque()
        self._answers: deque[tuple[Held, Run, Answer]] = deque()
        self._away = ""

    def drive(self, until: Callable[[], bool]) -> None:
        """Work until the condition holds, give chores a last turn, then give the leases back."""
        try:
            self._start("lease keeper", self.held.keeper.keep)
            while not self._holds(until):
                self._wait(self._patient_turn())
            last_s = self._clock.monotonic_s() + LAST_CHORES_S
            self.chores.ask(self._clock.monotonic_s())
            while not self.chores.rested and self._clock.monotonic_s() < last_s:
                self._wait(self._patient_turn())
        finally:
            self.close()

    def close(self) -> None:
        """Give the leases back, so that others need not wait for them to run out.

        Stages in progress have a moment to end. A lease whose stage does not end in time is left to run out: what
        the stage does to the world must not happen under the lease of another.
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
        """Look once at everything that is due; seconds until there may be something to do again."""
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
        times = [self.chores.next_s(), *(held.look_s for held in self.held.idle())]
        # What is due already waits for the end of a call, which wakes the loop.
        return min([time_s - now_s for time_s in times if time_s > now_s] + [LOOK_EVERY_S])

    def _wait(self, seconds: float) -> None:
        """Wait for that long, or until another thread has something."""
        self._clock.wait(self._wake, seconds)
        self._wake.clear()

    def _patient_turn(self) -> float:
        """A turn that outlives a database that is away for a while."""
        try:
            wait_s = self.turn()
        except StoreError as error:
            self._note_away(error)
            return STORE_AWAY_S
        self._away = ""
        return wait_s

    def _holds(self, condition: Callable[[], bool]) -> bool:
        """Whether the condition holds: it is asked again when the database does not answer."""
        try:
            return condition()
        except StoreError as error:
            self._note_away(error)
            return False

    def _note_away(self, error: StoreError) -> None:
        if self._away != str(error):  # once, however long it lasts
            self._away = str(error)
            log.warning("%s; trying again every %g s", error, STORE_AWAY_S)

    def _start_due(self) -> None:
        """Ask the stages of runs that are due, as far as the pools of their engines have room."""
        now_s = self._clock.monotonic_s()
        due: dict[str, list[Held]] = defaultdict(list)
        for held in self.held.idle():
            if held.look_s <= now_s:
                due[held.run.engine].append(held)
        for engine, waiting in due.items():
            pool = self._pool(engine)
            self._watch(pool, engine, [each for each in waiting if each.run.status is Status.WATCH])
            for held in sorted(
                (each for each in waiting if each.run.status is not Status.WATCH), key=lambda held: held.order
            ):
                if not pool.stages.may_start(now_s):
                    break
                if held.needs_room and now_s < pool.full_until_s:
                    held.look_s = pool.full_until_s
                    continue
                if held.needs_room:
                    self._note_cancellations(at_once=True)  # what was cancelled already must not start
                self._call(pool.stages, [held], partial(ask, held.run, self.world))

    def _watch(self, pool: EnginePool, engine: str, due: Sequence[Held]) -> None:
        if not due:
            return
        if not pool.watches.may_start(self._clock.monotonic_s()):
            pool.stop.set()  # what is watched now is watched again, together with these
            return
        pool.stop.clear()
        placed_s = {held.run.id: held.placed_s for held in due}
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
            log.warning("no thread for a stage: %s", error)
            for each in held:
                each.look_s = self._clock.monotonic_s() + STORE_AWAY_S
            return
        self.held.busy.update(each.run.id for each in held)

    def _run(self, call: _Call, work: Callable[[], Mapping[str, Answer]]) -> None:
        """In a thread of a pool. Nothing is asked when the process was stopped until the leases had run out."""
        valid = all(self.held.keeper.holds(run.id) for _, run in call.asked)
        try:
            answers = work() if valid else {}
        except BaseException:  # for example an error of a plug-in that has no text
            log.exception("%s has no answer", call.pool.name)
            answers = {run.id: Pause(again_after_s=UNWRITABLE_S) for _, run in call.asked}
        self._ended.append((call, answers))
        self._wake.set()

    def _take_answers(self) -> None:
        """Apply what the stages have answered. An answer that the database does not take is tried again."""
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

    def _settle(self, held: Held, asked: Run, answer: Answer) -> None:
        """Apply one answer, or note when to ask again."""
        now_s, pool = self._clock.monotonic_s(), self._pool(asked.engine)
        if isinstance(answer, Step):
            self._apply(held, answer)
            if asked.status is Status.WATCH and held.run.status is not Status.WATCH:
                self._free(pool, asked.engine, now_s)
            return
        if isinstance(answer, NoCapacityError):
            pool.full(answer, now_s, ours=self.held.watches(asked.engine))
            held.look_s = pool.full_until_s
        elif isinstance(answer, StoreError):
            self._note_away(answer)
            held.look_s = now_s + STORE_AWAY_S
        elif answer.elsewhere:
            self._leave(held)
        else:
            held.look_s = now_s + (answer.again_after_s or 0.0)
        if held.run.cancel_requested and not asked.cancel_requested:  # cancelled while it was asked about
            held.look_s = now_s

    def _leave(self, held: Held) -> None:
        """Let a reconciler on the run's own machine have it."""
        if self._apply(held, Step(status=held.run.status, again_after_s=ELSEWHERE_S)):
            self.held.release(held)

    def _free(self, pool: EnginePool, engine: str, now_s: float) -> None:
        """Room may have been freed: what waits for it is due now."""
        pool.freed(now_s)
        for held in self.held:
            if held.run.status is Status.PLACE and held.run.engine == engine:
                held.look_s = min(held.look_s, now_s)

    def _apply(self, held: Held, step: Step, *, rescue: bool = False) -> bool:
        """Write the step and note the run as it is now; whether it is still in hand or final.

        A step that cannot be written fails its run, so that no other run is held up.
        """
        now_s = self._clock.monotonic_s()
        try:
            run = self._write(held.run, step)
        except StoreError:
            raise
        except LeaseLostError:
            log.warning("another reconciler took run %s over", held.run.id)
            self.held.forget(held)
            return False
        except Exception as error:
            log.exception("a step of run %s cannot be written", held.run.id)
            held.look_s = now_s + UNWRITABLE_S
            if rescue or step.status is Status.WATCH:  # what is running is not given up
                return False
            reason = f"{type(error).__name__}: {error}"
            return self._apply(held, fail(held.run, self.world, Cause.INTERNAL, reason), rescue=True)
        if run.placement != held.run.placement:
            held.placed_s = now_s
        held.run, held.look_s = run, now_s + step.again_after_s
        if run.status.final:
            self.held.forget(held)
        if step.alerts:
            self.chores.ask(now_s)
        if self.changed:
            self.changed(run)
        return True

    def _write(self, run: Run, step: Step) -> Run:
        now_s = self._clock.now_s()
        if step.spawned:
            events = [
                Event(run_id=new.id, kind="submitted", time_s=now_s, data={"caused_by": run.id})
                for new, _ in step.spawned
            ]
            self.world.runs.add(step.spawned, events)
        return self.world.leases.apply(self.owner, run, step, now_s=now_s)
