"""The background worker of this installation."""

from typing import TYPE_CHECKING

from anubis.client.protocol import tools as protocol
from anubis.late import late
from anubis.model.errors import StoreError
from anubis.pipeline import worker
from anubis.pipeline.lease_owner import is_dead
from anubis.wiring import Installation

if TYPE_CHECKING:
    from anubis.client.embedded import driving
else:  # "anubis submit" only starts a worker
    driving = late("anubis.client.embedded.driving")


class Workers(protocol.Workers):
    """``Workers`` (see the protocol): at most one process for each home folder."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    def start(self) -> bool:
        unfinished = self._installation.world.runs.unfinished()
        return unfinished > 0 and worker.start(self._installation.settings.home)

    def pick_up(self) -> bool:
        world = self._installation.world
        try:
            if not world.runs.unfinished() or any(not is_dead(owner) for owner in world.leases.owners()):
                return False
            return worker.start(self._installation.settings.home)
        except (StoreError, OSError):  # the command that was called has done what it could
            return False

    def run(self) -> bool:
        home, unfinished = self._installation.settings.home, self._installation.world.runs.unfinished

        def drive(lock: worker.WorkerLock) -> None:
            reconciler = driving.reconciler(self._installation)
            idle = worker.idle(home, lock, unfinished, lambda: reconciler.chores.outstanding)
            reconciler.drive(until=idle)

        return worker.work(home, drive, unfinished)
