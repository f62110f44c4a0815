"""One attempt at a joined worker: stages fetch and place, then its placement is observed and its record shipped."""

import logging
import shutil
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

from anubis.api.runs import run_from_json
from anubis.client.joining.connection import WorkerConnection
from anubis.client.joining.machine import Machine
from anubis.client.joining.shipping import Shipping
from anubis.client.joining.spool import Spool
from anubis.model.cause import Cause
from anubis.model.errors import (
    AnubisError,
    ConflictError,
    ElsewhereError,
    NoCapacityError,
    NotFoundError,
    StageError,
    StoreError,
)
from anubis.model.identity import digest
from anubis.model.machines.joined import Report
from anubis.model.run import Observation, Run, Seen, Step, stepped
from anubis.model.status import Status
from anubis.pipeline.joined.matching import engine_of
from anubis.pipeline.stages import fetch, place
from anubis.pipeline.stages.watch import back_off_s
from anubis.record import layout

log = logging.getLogger(__name__)

#: Pause before an attempt that cannot be prepared now is tried again, seconds.
AGAIN_S = 1.0
_OVER = frozenset({Seen.ENDED, Seen.LOST})


class Attempt:
    """One attempt. Used by one thread."""

    def __init__(
        self, key: tuple[str, int], machine: Machine, connection: WorkerConnection, spool: Spool
    ) -> None:
        self.key = key
        self.is_cancelled = False
        #: Whether the service still has it; else it is ended here, and its record is deleted.
        self.is_wanted = True
        self._machine = machine
        self._connection = connection
        self._spool = spool
        #: None until the service has sent it.
        self._run: Run | None = None
        self._token = ""
        self._observation = Observation(seen=Seen.WAITING)
        self._since_s = self._look_s = time.monotonic()
        self._measured = Path(layout.role_folder(str(machine.settings.records), *key))
        self._shipping = Shipping(partial(connection.record_url, *key), log.warning)

    @classmethod
    def begun(cls, run: Run, machine: Machine, connection: WorkerConnection, spool: Spool) -> "Attempt":
        """An attempt that an earlier worker of this home folder has begun."""
        attempt = cls((run.id, run.attempt), machine, connection, spool)
        attempt._resume(run)
        return attempt

    @property
    def is_over(self) -> bool:
        """Whether it has ended, and the service has its record."""
        return self._observation.seen in _OVER

    @property
    def report(self) -> Report:
        """What the service gets to know."""
        seen = self._observation
        return Report(
            run_id=self.key[0],
            attempt=self.key[1],
            seen=seen.seen,
            reason=seen.reason,
            exit_code=seen.exit_code,
            cause=seen.cause,
        )

    @property
    def _is_called_off(self) -> bool:
        """Whether it was cancelled before anything of it was here."""
        return self.is_cancelled and self._run is None

    def due_s(self) -> float:
        """Monotonic time of the next step."""
        return self._look_s

    def hurry(self) -> None:
        """Let the next step be due now."""
        self._look_s = 0.0

    def step(self) -> None:
        """Do what is due. A failure of the service or of this disk is repeated later."""
        now_s = time.monotonic()
        if self.is_over or now_s < self._look_s:
            return
        self._look_s = now_s + AGAIN_S
        try:
            self._advance(now_s)
        except (NoCapacityError, ConflictError, ElsewhereError) as error:
            self._waits(error.message)
        except StoreError as error:
            log.warning("%s", error)
        except NotFoundError:  # the service has given it up, or another worker has it
            self.is_wanted = False
            self.hurry()
        except StageError as error:
            self._fail(error.cause, str(error))
        except AnubisError as error:
            self._fail(Cause.USER_ERROR, str(error))
        except Exception as error:
            log.exception("attempt %s of run %s failed", self.key[1], self.key[0])
            self._fail(Cause.INTERNAL, f"{type(error).__name__}: {error}")

    def clean(self) -> None:
        """Delete what is kept of it here: the service has the record, or does not want it."""
        self._shipping.stop()
        attempt = self._measured.parent.parent
        shutil.rmtree(attempt, ignore_errors=True)
        if attempt.parent.is_dir() and not any(attempt.parent.iterdir()):
            shutil.rmtree(attempt.parent, ignore_errors=True)
        self._machine.forget(self.key[0])
        if self._run is not None:
            self._spool.forget(self._run)

    def stop(self) -> None:
        """End the threads; the benchmark continues."""
        self._shipping.stop()

    def _advance(self, now_s: float) -> None:
        if self.is_wanted and not self._token and not self._is_called_off:
            self._open()
        run = self._run
        if run is None:  # never begun
            self._fail(Cause.CANCELLED, "cancelled before it started")
        elif run.status is Status.WATCH:
            self._watch(run, now_s)
        elif self.is_cancelled or not self.is_wanted:
            self._call_off(run)
        else:
            self._prepare(run, now_s)

    def _open(self) -> None:
        """Get what is needed from the service. Raises AnubisError."""
        work = self._connection.work(*self.key)
        run = run_from_json(work.run)
        if digest(run.descriptor) != run.digest:
            raise StageError(
                "the descriptor has fields that this worker does not know",
                cause=Cause.USER_ERROR,
                remedy="upgrade Anubis on the machine of the worker",
            )
        if self._run is None:
            self._spool.begin(run)
            self._resume(run)
        self._machine.give(run.id, run.descriptor, work.variables, work.secrets)
        self._machine.permit(run.project, work.permits, work.secrets)
        self._token = work.token

    def _resume(self, run: Run) -> None:
        """Begin, or continue what was placed before."""
        engine = engine_of(run.descriptor)
        fresh = replace(
            run,
            engine=engine,
            status=Status.FETCH,
            created_s=time.time(),
            placement=None,
            placed_s=None,
            cause=None,
            reason="",
            phase=None,
            phase_s=None,
            folder=None,
        )
        placement = self._machine.world.engine(engine).placed(fresh)
        if placement is not None:
            fresh = stepped(fresh, Step(status=Status.WATCH, placement=placement), now_s=time.time())
        self._run = fresh

    def _prepare(self, run: Run, now_s: float) -> None:
        """Fetch, or place."""
        world = self._machine.world
        if run.status is Status.FETCH:
            script = run.descriptor.ml.script
            if script is not None and not self._machine.has_script(script.script):
                self._machine.store_script(script.script, self._connection.script(*self.key))
            answer = fetch.fetch(run, world)
        else:
            answer = place.place(run, world, now_s - self._since_s)
        if not isinstance(answer, Step):
            self._look_s = now_s + (answer.again_after_s or AGAIN_S)
            return
        if answer.next_attempt:  # the claim was revoked; the service decides about another attempt
            self._observation = Observation(seen=Seen.LOST, reason=answer.reason)
            return
        self._machine.events.append(answer.events)
        self._run = stepped(run, answer, now_s=time.time())
        if answer.status is not run.status:
            self._since_s = now_s
        self._look_s = now_s + answer.again_after_s
        self._waits(answer.reason)

    def _watch(self, run: Run, now_s: float) -> None:
        """Observe the placement; it is over once its record is shipped."""
        engine = self._machine.world.engine(run.engine)
        assert run.placement is not None
        if self.is_cancelled or not self.is_wanted:
            engine.cancel(run.placement)
        seen = engine.observe([run.placement]).get(run.placement.name)
        self._look_s = now_s + back_off_s(now_s - self._since_s)
        if seen is None:
            return
        if self.is_wanted and seen.seen is not Seen.WAITING:
            self._shipping.look(self._measured, self._token)
        if seen.seen in _OVER and self.is_wanted and not self._shipping.is_complete:
            self._observation = Observation(seen=Seen.RUNNING, reason="the record is being shipped")
            return
        if refusal := self._shipping.refusal if self.is_wanted else "":
            reason = f"the service refuses the record: {refusal}"
            if seen.seen in _OVER:
                seen = Observation(seen=Seen.ENDED, cause=Cause.INTERNAL, reason=reason)
            else:
                engine.cancel(run.placement)
        self._observation = seen

    def _call_off(self, run: Run) -> None:
        """End an attempt that was not placed."""
        engine = self._machine.world.engine(run.engine)
        if not engine.revoke(run):
            placement = engine.placed(run)
            self._run = stepped(run, Step(status=Status.WATCH, placement=placement), now_s=time.time())
            return
        self._fail(Cause.CANCELLED, "cancelled before it started")

    def _fail(self, cause: Cause, reason: str) -> None:
        self._observation = Observation(seen=Seen.ENDED, cause=cause, reason=reason)

    def _waits(self, reason: str) -> None:
        if self._observation.seen is Seen.WAITING:
            self._observation = Observation(seen=Seen.WAITING, reason=reason)
