"""Space in the home folder of this installation."""

from collections.abc import Sequence

from anubis.client.protocol import tools as protocol
from anubis.contracts.garbage import Garbage
from anubis.contracts.sweeps import SweepPhase
from anubis.store import garbage
from anubis.wiring import Installation

#: More sweeps than an installation has.
_ALL = 1_000_000


class Storage(protocol.Storage):
    """``Storage`` (see the protocol) below the home folder."""

    def __init__(self, installation: Installation) -> None:
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
        return files

    def pack(self, *, before_s: float, dry_run: bool = False) -> Sequence[Garbage]:
        world = self._world
        return list(garbage.pack(self._home, world.runs, world.records, before_s=before_s, dry_run=dry_run))
