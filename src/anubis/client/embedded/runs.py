"""Runs of this installation."""

import contextlib
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.client.embedded.references import find_run
from anubis.client.protocol import runs as protocol
from anubis.contracts.events import PURGED_EVENT
from anubis.contracts.runs import RunQuery, RunRow, StoredNames
from anubis.late import late
from anubis.model.errors import BadInputError, FullError, ReadOnlyError
from anubis.model.problem import Problem
from anubis.model.run import Event, Run
from anubis.submission.person import person
from anubis.wiring import Installation, build

if TYPE_CHECKING:
    from anubis.client.embedded import driving, replay, submission
    from anubis.describe.drafting import DescriptorText
else:  # listings need neither the reconciler nor pydantic
    driving = late("anubis.client.embedded.driving")
    replay = late("anubis.client.embedded.replay")
    submission = late("anubis.client.embedded.submission")


#: With less free space than this, a disk counts as full: a transaction of a database may not fit.
ROOM_BYTES = 1 << 20
#: More runs than belong together.
_ALL = 100_000


class Runs(protocol.Runs):
    """``Runs`` (see the protocol) in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._world = installation.world

    def submit(
        self,
        files: "Sequence[Path | DescriptorText]",
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | str | None = None,
        rounds: int = 1,
        control: bool = False,
        warned: Callable[[Path, Problem], None] | None = None,
        overlays: Sequence[Path] = (),
        needs: Sequence[str] = (),
    ) -> list[Run]:
        return submission.submit(
            self._installation,
            files,
            overrides=overrides or {},
            script=script,
            rounds=rounds,
            control=control,
            warned=warned,
            overlays=overlays,
            needs=needs,
        )

    def submit_all(
        self,
        requests: Sequence[protocol.SubmitRequest],
        *,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> list[list[str]]:
        return submission.submit_all(self._installation, requests, warned=warned)

    def replay(
        self, ref: str, *, overrides: Mapping[str, str] | None = None, folder: Path | None = None
    ) -> protocol.Replayed:
        return replay.replay(self._installation, self.get(ref), overrides=overrides or {}, folder=folder)

    def compared(self, replayed: protocol.Replayed) -> protocol.Replayed:
        return replay.compared(self._installation, replayed)

    def wait(self, run_ids: Sequence[str], changed: Callable[[Run], None] | None = None) -> list[Run]:
        return driving.drive(self._installation, run_ids, changed)

    def get(self, ref: str) -> Run:
        return find_run(self._world.runs, ref)

    def find(self, query: RunQuery) -> Sequence[RunRow]:
        return self._world.runs.find(query)

    def family(self, ref: str) -> Sequence[RunRow]:
        run = self.get(ref)
        query = RunQuery(family_id=run.family_id) if run.family_id else RunQuery(ids=(run.id,))
        return self._world.runs.find(replace(query, limit=_ALL, newest_first=False))

    def names(self) -> StoredNames:
        return self._world.runs.names()

    def short_ids(self, run_ids: Iterable[str]) -> Mapping[str, str]:
        return self._world.runs.short_ids(run_ids)

    def events(self, ref: str, *, after_seq: int = 0) -> Sequence[Event]:
        return self._world.events.read(self.get(ref).id, after_seq=after_seq)

    def text(self, ref: str) -> str:
        return self._world.runs.text(self.get(ref).id)

    def cancel(self, refs: Sequence[str], *, why: str = "", cascade: bool = False) -> list[Run]:
        runs = [self.get(ref) for ref in refs]
        if cascade:
            runs += self._caused_by([run.id for run in runs])
        now_s, actor = self._world.clock.now_s(), person(self._installation.settings)
        asked = set(
            self._world.runs.request_cancel(
                [run.id for run in runs],
                [
                    Event(run_id=run.id, kind="cancel_requested", time_s=now_s, message=why, actor=actor)
                    for run in runs
                ],
            )
        )
        for run in runs:
            engine = self._world.engines.get(run.engine)
            if run.id in asked and run.placement and engine:
                engine.cancel(run.placement)
        return [run for run in runs if run.id in asked]

    def _caused_by(self, run_ids: Sequence[str]) -> list[Run]:
        """The runs that these caused, directly or through others."""
        known, due = set(run_ids), list(run_ids)
        caused: list[Run] = []
        while due:
            rows = self._world.runs.find(RunQuery(parent_id=due.pop(), limit=_ALL))
            new = [row.id for row in rows if row.id not in known]
            known.update(new)
            due += new
            caused += [self._world.runs.get(run_id) for run_id in new]
        return caused

    def purge(self, refs: Sequence[str]) -> list[str]:
        runs = [self.get(ref) for ref in refs]
        if busy := [run.id for run in runs if not run.status.final]:
            raise BadInputError(
                f"not final yet: {', '.join(busy)}", remedy="cancel them first (anubis cancel)"
            )
        ids = [run.id for run in runs]
        self._refuse_held(ids)
        now_s, actor = self._world.clock.now_s(), person(self._installation.settings)
        events = [
            Event(run_id=run_id, kind=PURGED_EVENT, time_s=now_s, message="purged", actor=actor)
            for run_id in ids
        ]
        sealed = [run_id for run_id in ids if self._world.records.attempts(run_id)]
        with contextlib.suppress(FullError):  # noted again below, when there is space
            self._installation.sealer.note_purged(sealed)
        try:
            removed = self._world.runs.remove(ids, events)
        except (FullError, ReadOnlyError):
            if shutil.disk_usage(self._installation.settings.home).free > ROOM_BYTES:
                raise
            self._remove_files(ids)  # makes room for the log of the database
            with contextlib.closing(build(self._installation.settings)) as installation:
                removed = installation.world.runs.remove(ids, events)
        self._remove_files(removed)
        gone = set(removed)
        self._installation.sealer.note_purged(run_id for run_id in sealed if run_id in gone)
        self._refuse_held(set(ids) - gone)  # held meanwhile
        return ids

    def _refuse_held(self, run_ids: Iterable[str]) -> None:
        """Raise BadInputError if any of the runs is held."""
        if held := self._installation.store.holds.held(run_ids):
            raise BadInputError(
                f"held, so not deleted: {', '.join(held)}",
                remedy="anubis hold list shows why; anubis hold remove RUN ends a hold",
            )

    def _remove_files(self, run_ids: Sequence[str]) -> None:
        self._world.environments.remove(run_ids)
        for run_id in run_ids:
            self._world.records.remove(run_id)

    def engines(self) -> list[str]:
        return sorted(self._world.engines)
