"""Space in the home folder of this installation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

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
else:
    driving = late("anubis.client.embedded.driving")

#: More sweeps than an installation has.
_ALL = 1_000_000


class Storage(protocol.Storage):
    """``Storage`` (see the protocol) below the home folder."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._holds = installation.store.holds
        self._home = installation.settings.home
        self._world = installation.world

    def collect(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        stored = self._world.sweeps.find(limit=_ALL)
        sweeps = [sweep for sweep in stored if sweep.phase is not SweepPhase.ENDED]
        files = list(garbage.find(self._home, self._world.runs, before_s=before_s, sweeps=sweeps))
        if not dry_run:
            for each in files:
                garbage.remove(each)
        return files

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
