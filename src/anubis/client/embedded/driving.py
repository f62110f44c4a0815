"""Driving runs and delivering notices from this process."""

from collections.abc import Callable, Sequence

from anubis.model.run import Run
from anubis.pipeline import worker
from anubis.pipeline.completion import Waiting
from anubis.pipeline.lease_owner import new_owner
from anubis.pipeline.reconciler import Reconciler
from anubis.wiring import Installation


def drive(
    installation: Installation, run_ids: Sequence[str], changed: Callable[[Run], None] | None = None
) -> list[Run]:
    """Drive due runs until these are final; the runs as they ended. Other processes may drive some of them."""
    runs = installation.world.runs
    waiting = Waiting(runs, run_ids, changed)
    reconciler(installation, waiting.note).drive(until=waiting.over)
    if runs.unfinished() or not installation.relay.turn():
        worker.start(installation.settings.home)
    return [runs.get(run_id) for run_id in run_ids]


def reconciler(installation: Installation, changed: Callable[[Run], None] | None = None) -> Reconciler:
    return Reconciler(installation.world, new_owner(), lease_s=installation.settings.lease_s, changed=changed)
