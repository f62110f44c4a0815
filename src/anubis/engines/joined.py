"""Engine ``joined``: runs the benchmark on a machine that joined this installation with ``anubis worker --join``.

The engine only writes and reads rows. A worker takes attempts that wait, measures them with its own engine ``process`` or
``container``, ships their records and reports their states. A worker without a request for the time of a lease has lost
its attempts. That time is what this process has observed, by the monotonic clock: neither a service that was away nor a
clock that jumps ends an attempt.
"""

import logging
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from anubis.contracts.engine import Capabilities, Mounting
from anubis.contracts.machines.joined import JoinedWorkers
from anubis.contracts.world import Surroundings
from anubis.model.cause import Cause
from anubis.model.errors import ConflictError, PlugInError, RevokedError
from anubis.model.hardware import Strategy
from anubis.model.launch import Launch
from anubis.model.machines.joined import Assignment, JoinedWorker
from anubis.model.run import Observation, Placement, Run, Seen
from anubis.pipeline.host import peers
from anubis.pipeline.joined import handover
from anubis.pipeline.joined.matching import engine_of, labels_of, waits_for
from anubis.pipeline.joined.silence import Silence
from anubis.pipeline.joined.turns import closed
from anubis.pipeline.record_result import result_of
from anubis.record import layout
from anubis.record.files import FolderFiles
from anubis.record.reading import Record

log = logging.getLogger(__name__)

#: How often a change is tried again that another writer made obsolete.
_ATTEMPTS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedSettings:
    """Settings of this engine."""

    #: Folder of what workers are handed over.
    folder: Path
    #: Folder of all records.
    records: Path
    #: A worker without a request for so long has lost its attempts; seconds.
    lease_s: float


def build(surroundings: Surroundings) -> "JoinedEngine":
    """Build the engine; its entry point names this function."""
    core = surroundings.settings
    settings = JoinedSettings(folder=core.home / handover.FOLDER, records=core.records, lease_s=core.lease_s)
    return JoinedEngine(settings, surroundings.joined)


class JoinedEngine:
    """Queues attempts for joined workers."""

    name = "joined"

    def __init__(self, settings: JoinedSettings, workers: JoinedWorkers | None) -> None:
        self._settings = settings
        self._given = workers
        self._silence = Silence(settings.lease_s, time.monotonic)
        self.capabilities = Capabilities(
            strategies=frozenset(Strategy),
            mounting=Mounting(agent=(), inside="/anubis", one_machine=True),
            images=True,
            encloses=True,  # each worker compares its engine with the permissions
            privileged=True,  # each worker decides
            data=True,
            instance_types=True,
            gpus=math.inf,
            cpus=math.inf,
            memory_gb=math.inf,
            queue=True,
            remote=True,
        )

    def placed(self, run: Run) -> Placement | None:
        stored = self._workers.get_attempt(run.id, run.attempt)
        return None if stored is None or stored.is_revoked else _placement(run)

    def place(self, run: Run, launch: Launch) -> Placement:
        name, stored = f"{run.id}.{run.attempt}", self._workers.get_attempt(run.id, run.attempt)
        if stored is None:
            # Before the row: a worker that takes the attempt finds what it needs.
            handover.write(self._settings.folder, name, launch.handover)
            stored = self._workers.queue(self._assignment(run, launch))
        if stored.is_revoked:
            handover.remove(self._settings.folder, name)
            raise RevokedError(f"attempt {name} was revoked before a worker had it")
        return _placement(run)

    def revoke(self, run: Run) -> bool:
        revoked = replace(closed(self._assignment(run), Seen.LOST, "revoked"), is_revoked=True)
        for _ in range(_ATTEMPTS):
            stored = self._workers.get_attempt(run.id, run.attempt) or self._workers.queue(revoked)
            if stored.is_revoked:
                handover.remove(self._settings.folder, stored.name)
                return True
            if stored.is_taken or not stored.is_open:
                return False
            with suppress(ConflictError):
                self._workers.change(replace(closed(stored, Seen.LOST, "revoked"), is_revoked=True))
        return False

    def observe(self, placements: Sequence[Placement]) -> Mapping[str, Observation]:
        names = {each.name: _attempt_of(each) for each in placements}
        found = self._workers.attempts(list(names.values()))
        workers = {each.name: each for each in self._workers.find()}
        live = [each for each in workers.values() if self._answers(each)]
        seen = {}
        for name, key in names.items():
            try:
                seen[name] = self._look(found.get(key), workers, live)
            except Exception:  # affects no other placement
                log.exception("cannot observe placement %s", name)
        return seen

    def cancel(self, placement: Placement) -> None:
        for _ in range(_ATTEMPTS):
            stored = self._workers.get_attempt(*_attempt_of(placement))
            if stored is None or not stored.is_open or stored.cancel:
                return
            after = replace(stored, cancel=True)
            if not stored.worker:
                after = closed(after, Seen.ENDED, "cancelled before a worker had it", Cause.CANCELLED)
            with suppress(ConflictError):
                self._workers.change(after)
                return

    def logs(self, placement: Placement) -> Iterator[bytes]:
        stored = self._workers.get_attempt(*_attempt_of(placement))
        yield stored.reason.encode() if stored else b""

    @property
    def _workers(self) -> JoinedWorkers:
        if self._given is None:
            raise PlugInError("the engine joined needs a database", remedy="use it through an installation")
        return self._given

    def _assignment(self, run: Run, launch: Launch | None = None) -> Assignment:
        descriptor, at_once = run.descriptor, launch.at_once if launch else 0
        return Assignment(
            run_id=run.id,
            attempt=run.attempt,
            queued_s=time.time(),
            labels=labels_of(descriptor),
            engine=engine_of(descriptor),
            priority=descriptor.info.priority,
            family=run.family_id or "" if at_once else "",
            at_once=at_once,
        )

    def _answers(self, worker: JoinedWorker) -> bool:
        """Whether the worker sends requests."""
        silent = self._silence.is_over(worker.name, worker.beats)
        seen_s = worker.seen_s
        return not silent and seen_s is not None and abs(time.time() - seen_s) < self._settings.lease_s

    def _look(
        self,
        stored: Assignment | None,
        workers: Mapping[str, JoinedWorker],
        live: Sequence[JoinedWorker],
    ) -> Observation:
        if stored is None:
            return Observation(seen=Seen.LOST, reason="nothing is known about the attempt any more")
        if stored.is_open and not stored.worker:
            return Observation(seen=Seen.WAITING, reason=waits_for(stored, live))
        if stored.is_open:
            worker = workers.get(stored.worker)
            beats = worker.beats if worker else 0
            if self._silence.is_over(stored.worker, beats):
                stored = self._workers.close_silent(self._given_up(stored), beats=beats) or stored
        if not stored.is_open:
            handover.remove(self._settings.folder, stored.name)
        return Observation(
            seen=stored.seen,
            exit_code=stored.exit_code,
            reason=stored.reason or f"on worker {stored.worker}",
            cause=stored.cause,
            queued_s=None if stored.assigned_s is None else max(0.0, stored.assigned_s - stored.queued_s),
        )

    def _given_up(self, stored: Assignment) -> Assignment:
        """An attempt whose worker is silent: ended if its record is complete, else lost."""
        measured = Path(layout.role_folder(str(self._settings.records), stored.run_id, stored.attempt))
        folders = [measured, *peers.records(measured)]
        result = result_of(Record(FolderFiles(str(measured)))) if measured.exists() else None
        if result and all((each / layout.EXIT).exists() for each in folders):
            return replace(
                closed(stored, Seen.ENDED, result.reason, result.cause), exit_code=result.exit_code
            )
        lease_s = self._settings.lease_s
        return closed(stored, Seen.LOST, f"worker {stored.worker} sent no request for {lease_s:g} s")


def _placement(run: Run) -> Placement:
    return Placement(engine=JoinedEngine.name, name=f"{run.id}.{run.attempt}")


def _attempt_of(placement: Placement) -> tuple[str, int]:
    run_id, _, attempt = placement.name.rpartition(".")
    return (run_id, int(attempt)) if attempt.isdecimal() else (placement.name, 0)
