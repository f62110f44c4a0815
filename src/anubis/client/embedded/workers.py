"""The background worker of this installation."""

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from anubis.client.protocol import tools as protocol
from anubis.late import late
from anubis.model.errors import BadInputError, ConflictError, StoreError
from anubis.model.labels import is_label
from anubis.model.machines import token as machine_token
from anubis.model.machines.joined import Assignment, JoinedWorker
from anubis.model.run import Seen
from anubis.pipeline import worker
from anubis.pipeline.joined.turns import closed
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
        #: A worker was started, which may not have claimed any runs yet.
        self._is_started = False

    def start(self) -> bool:
        self._is_started = self._unfinished() > 0 and worker.start(self._installation.settings.home)
        return self._is_started

    def pick_up(self) -> bool:
        try:
            return not self._is_started and not self._is_driven() and self.start()
        except (StoreError, OSError):  # the command that was called has done what it could
            return False

    def _unfinished(self) -> int:
        """The number of runs that are not final, and of sweeps that may have further runs."""
        world = self._installation.world
        return world.runs.unfinished() + len(world.sweeps.running())

    def _is_driven(self) -> bool:
        """Whether a process holds a lease. A process that is stopped lives but does not renew its leases."""
        world = self._installation.world
        lease_s = self._installation.settings.lease_s
        owners = world.leases.drivers(now_s=world.clock.now_s(), lease_s=lease_s)
        return any(not is_dead(owner) for owner in owners)

    def keep_schedules(self) -> None:
        home, stopped = self._installation.settings.home, threading.Event()
        reconciler = driving.reconciler(self._installation, keeps_schedules=True)
        # The lock only keeps others from starting a worker in the background, so it is not needed.
        with worker.only_worker(home) as lock, worker.ended_by_signal(stopped):
            reconciler.drive(until=worker.stopped(home, lock, stopped))

    def run(self) -> bool:
        home, unfinished = self._installation.settings.home, self._unfinished

        def drive(lock: worker.WorkerLock) -> None:
            reconciler = driving.reconciler(self._installation)
            idle = worker.idle(home, lock, unfinished, lambda: reconciler.chores.outstanding)
            reconciler.drive(until=idle)

        return worker.work(home, drive, unfinished)

    def find(self) -> Sequence[protocol.WorkerNow]:
        joined = self._installation.store.joined
        attempts = joined.open()
        return [_now(worker, attempts) for worker in joined.find()]

    def get(self, name: str) -> protocol.WorkerNow:
        joined = self._installation.store.joined
        return _now(joined.get(name), joined.assigned(name))

    def make_token(self, name: str) -> str:
        if not is_label(name):
            raise BadInputError(
                f"{name!r} is not the name of a worker",
                remedy="use up to 63 letters, digits and - _ . between them",
            )
        token = machine_token.new_token(machine_token.WORKER)
        now_s = self._installation.clock.now_s()
        self._installation.store.joined.add(name, machine_token.digest_of(token), now_s=now_s)
        return token

    def revoke(self, name: str) -> protocol.WorkerNow:
        joined = self._installation.store.joined
        joined.revoke(name, now_s=self._installation.clock.now_s())
        for each in joined.assigned(name):
            with suppress(ConflictError):  # it has just ended
                joined.change(closed(each, Seen.LOST, f"the token of worker {name} was revoked"))
        return self.get(name)


def _now(worker: JoinedWorker, attempts: Sequence[Assignment]) -> protocol.WorkerNow:
    return protocol.WorkerNow(
        worker=worker, attempts=[each for each in attempts if each.worker == worker.name]
    )


def deliver(installation: Installation) -> None:
    """Deliver the notices of alerts that are due; a background worker retries what cannot be delivered at the moment.

    In a service its reconcilers deliver them: a request waits for no receiver.
    """
    if installation.is_served:
        return
    if installation.relay.turn() is not None:
        worker.start(installation.settings.home)
