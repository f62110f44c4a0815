"""Space in the home folder of this installation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from anubis.client.embedded.references import find_run
from anubis.client.protocol import tools as protocol
from anubis.contracts.events import HELD_EVENT, RELEASED_EVENT
from anubis.contracts.garbage import Expired, Garbage, Hold
from anubis.contracts.sweeps import SweepPhase
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.run import Event
from anubis.store import garbage
from anubis.submission.person import person
from anubis.wiring import Installation

if TYPE_CHECKING:
    from anubis.client.embedded import driving
    from anubis.store.bucket import archives
    from anubis.store.bucket import garbage as bucket_garbage
    from anubis.transfer.daily import archive
else:  # "anubis gc" needs none of them
    archive = late("anubis.transfer.daily.archive")
    driving = late("anubis.client.embedded.driving")
    archives = late("anubis.store.bucket.archives")
    bucket_garbage = late("anubis.store.bucket.garbage")

#: More sweeps than an installation has.
_ALL = 1_000_000


class Storage(protocol.Storage):
    """``Storage`` (see the protocol) below the home folder."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._holds = installation.store.holds
        self._home = installation.settings.home
        self._world = installation.world
        self._store = installation.store

    def collect(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        stored = self._world.sweeps.find(limit=_ALL)
        sweeps = [sweep for sweep in stored if sweep.phase is not SweepPhase.ENDED]
        scripts = {each.script for each in self._store.schedules.find() if each.script}
        scripts |= {each.script for each in self._store.triggers.find() if each.script}
        files = list(
            garbage.find(self._home, self._world.runs, before_s=before_s, sweeps=sweeps, scripts=scripts)
        )
        if not dry_run:
            for each in files:
                garbage.remove(each)
        ours = {script.script for sweep in sweeps if (script := sweep.descriptor.ml.script)}
        return files + self._collect_in_bucket(scripts | ours, before_s=before_s, dry_run=dry_run)

    def _collect_in_bucket(self, scripts: set[str], *, before_s: float, dry_run: bool) -> list[Garbage]:
        """``scripts`` are those that are needed although no run has them."""
        bucket = self._installation.bucket
        if bucket is None:
            return []
        runs, database = self._world.runs, self._installation.settings.database_url

        def needed() -> set[str]:
            return garbage.scripts_of(runs)[0] | scripts

        found = list(bucket_garbage.find(bucket, database, runs, needed, before_s=before_s))
        if not dry_run:
            for each in found:
                bucket_garbage.remove(bucket, each)
        return found

    def pack(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        world = self._world
        return list(garbage.pack(self._home, world.runs, world.records, before_s=before_s, dry_run=dry_run))

    def hold(self, refs: Sequence[str], *, why: str) -> Sequence[Hold]:
        if not why.strip():
            raise BadInputError("a hold needs a reason", remedy="add --why TEXT")
        ids = self._ids(refs)
        now_s, actor = self._world.clock.now_s(), person(self._installation.settings)
        holds = [Hold(run_id=run_id, why=why, actor=actor, created_s=now_s) for run_id in ids]
        self._holds.add(holds, self._events(ids, HELD_EVENT, why))
        held = set(ids)
        return [hold for hold in self._holds.find() if hold.run_id in held]

    def holds(self) -> Sequence[Hold]:
        return self._holds.find()

    def release(self, refs: Sequence[str]) -> Sequence[str]:
        ids = self._ids(refs)
        return self._holds.remove(ids, self._events(ids, RELEASED_EVENT, ""))

    def archive(self, place: Path | str, *, today: bool = False) -> Sequence[Mapping[str, Any]]:
        found = archives.place_of(place, self._installation.settings.bucket_endpoint)
        with found.locked() as is_writer:
            if not is_writer:
                raise BadInputError(
                    f"another process writes the archive {found.name}", remedy="try again when it has ended"
                )
            return archive.Archive(found.objects).write(self._world, today=today)

    def expire(self, *, dry_run: bool = False) -> Sequence[Expired]:
        pages = driving.retention(self._installation).expire(dry_run=dry_run)
        return [each for page in pages for each in page]

    def _ids(self, refs: Sequence[str]) -> list[str]:
        return list(dict.fromkeys(find_run(self._world.runs, ref).id for ref in refs))

    def _events(self, run_ids: Sequence[str], kind: str, message: str) -> list[Event]:
        now_s, actor = self._world.clock.now_s(), person(self._installation.settings)
        return [
            Event(run_id=run_id, kind=kind, time_s=now_s, message=message, actor=actor) for run_id in run_ids
        ]
