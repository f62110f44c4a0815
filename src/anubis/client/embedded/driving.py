"""Driving runs and delivering notices from this process."""

import math
from collections.abc import Callable, Sequence

from anubis.model.errors import FullError, ReadOnlyError
from anubis.model.run import Run
from anubis.pipeline import worker
from anubis.pipeline.completion import Waiting
from anubis.pipeline.lease_owner import new_owner
from anubis.pipeline.reconciler import Reconciler
from anubis.wiring import Installation

#: How long a run in the foreground waits for a database that does not answer, seconds.
PATIENCE_S = 120.0


def drive(
    installation: Installation, run_ids: Sequence[str], changed: Callable[[Run], None] | None = None
) -> list[Run]:
    """Drive due runs until these are final; the runs as they ended. Other processes may drive some of them.

    Raises StoreError if the database cannot be written: at once if it is read-only or full, else after a while.
    """
    runs = installation.world.runs
    try:
        installation.world.leases.release(new_owner())  # changes nothing
    except (FullError, ReadOnlyError) as error:
        raise type(error)(
            f"{error.message}; no run can be continued or followed",
            remedy="free space on its disk, or make its folder writable; anubis status shows the state of a run",
        ) from error
    waiting = Waiting(runs, run_ids, changed)
    driver = reconciler(installation, waiting.note, patience_s=PATIENCE_S)
    driver.drive(until=waiting.over)
    if runs.unfinished() or driver.chores.outstanding:
        worker.start(installation.settings.home)
    return [runs.get(run_id) for run_id in run_ids]


def reconciler(
    installation: Installation,
    changed: Callable[[Run], None] | None = None,
    *,
    patience_s: float = math.inf,
) -> Reconciler:
    """A reconciler of this process. ``patience_s`` is how long it waits for a database that does not answer."""
    installation.store.keep_room()
    return Reconciler(
        installation.world,
        new_owner(),
        lease_s=installation.settings.lease_s,
        changed=changed,
        chores=[installation.relay],
        patience_s=patience_s,
    )
