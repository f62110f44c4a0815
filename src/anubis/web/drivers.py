"""The reconcilers of a service: each in one thread, with separate connections to the database."""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator

from anubis.client.embedded.driving import reconciler
from anubis.model.run import Run
from anubis.pipeline import worker
from anubis.pipeline.held_runs import LOOK_EVERY_S
from anubis.pipeline.reconciler import Reconciler
from anubis.settings import Settings
from anubis.wiring import build

log = logging.getLogger(__name__)


class Drivers:
    """Reconcilers that drive runs, schedules and chores until they are stopped."""

    def __init__(
        self,
        settings: Settings,
        count: int,
        changed: Callable[[Run], None],
        failed: Callable[[], None],
        look_every_s: Callable[[], float] = lambda: LOOK_EVERY_S,
    ) -> None:
        """``changed`` is called, in any thread, with every run that moved; ``failed`` when a reconciler ended by an error.

        ``look_every_s`` is the interval between queries for new runs, as long as ``look`` is not called.
        """
        self._look_every_s = look_every_s
        self._reconcilers: list[Reconciler] = []
        self._settings = settings
        self._changed = changed
        self._failed = failed
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(target=self._drive, name=f"reconciler {number}", daemon=True)
            for number in range(1, count + 1)
        ]
        #: The error that ended a reconciler.
        self.error: BaseException | None = None

    @property
    def alive(self) -> int:
        """Number of reconcilers that work."""
        return sum(thread.is_alive() for thread in self._threads)

    @property
    def complete(self) -> bool:
        """Whether all reconcilers work."""
        return self.alive == len(self._threads)

    @contextlib.contextmanager
    def driving(self) -> Iterator[None]:
        """Drive until the end of the block; the leases are released then."""
        for thread in self._threads:
            thread.start()
        try:
            yield
        finally:
            self.stop()
            for thread in self._threads:
                thread.join()

    def stop(self) -> None:
        """Ask all reconcilers to end."""
        self._stop.set()
        self.look()

    def look(self) -> None:
        """There may be new runs or cancellations. May be called in any thread."""
        for each in tuple(self._reconcilers):
            each.look()

    def _drive(self) -> None:
        home = self._settings.home
        try:
            with contextlib.closing(build(self._settings)) as installation:
                driver = reconciler(
                    installation, self._note, keeps_schedules=True, look_every_s=self._look_every_s
                )
                self._reconcilers.append(driver)
                # The lock only keeps commands from starting a worker in the background, so it is not needed.
                with worker.only_worker(home) as lock:
                    driver.drive(until=worker.stopped(home, lock, self._stop))
        except BaseException as error:  # the service ends, so that its supervisor starts it again
            log.exception("a reconciler ended")
            self.error = error
            self._failed()

    def _note(self, run: Run) -> None:
        log.info(
            "run %s is %s",
            run.id,
            run.status.value,
            extra={"run_id": run.id, "status": run.status.value, "cause": run.cause and run.cause.value},
        )
        self._changed(run)
