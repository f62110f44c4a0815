"""Confirming runs: before an alert is delivered, the contender and, if possible, the baseline run again."""

from collections.abc import Sequence
from dataclasses import replace

from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.judging.series import in_order
from anubis.model.alert import Alert
from anubis.model.descriptor import Notify
from anubis.model.ids import derived_run_id
from anubis.model.run import Run
from anubis.model.status import Status


def waits(run: Run, alert: Alert, world: World) -> bool:
    """Whether the alert must wait for confirming runs: they were requested and have not all ended."""
    return (
        requested_runs(run, alert) > 0
        and alert.told is None
        and (not alert.ordered or _pending(run, alert, world))
    )


def requested_runs(run: Run, alert: Alert) -> int:
    """The number of confirming runs that the matching ``[[notify]]`` entries request."""
    return max((notify.confirm_runs or 0 for notify in subscriptions(run, alert)), default=0)


def subscriptions(run: Run, alert: Alert) -> Sequence[Notify]:
    """The ``[[notify]]`` entries of the descriptor that match the kind of the alert."""
    return [notify for notify in run.descriptor.notify if alert.kind in notify.on]


def confirming_runs(run: Run, alert: Alert, world: World) -> list[tuple[Run, str]]:
    """The confirming runs to submit now, interleaved, with their descriptor texts; none if the run itself confirms another."""
    if run.parent_id is not None:
        return []
    sides = [one for one in (_baseline(run, alert, world), run) if one is not None]
    ordered = [side for _ in range(requested_runs(run, alert)) for side in sides]
    return [
        (_again(side, run, alert, number, world), world.runs.text(side.id))
        for number, side in enumerate(ordered)
    ]


def _pending(run: Run, alert: Alert, world: World) -> bool:
    """Whether a confirming run of this alert is not final yet; ``run`` itself counts as final."""
    rows = world.runs.find(RunQuery(family_id=_family(alert), limit=1000))
    return any(not row.status.final for row in rows if row.id != run.id)


def _family(alert: Alert) -> str:
    """The family id of the confirming runs of an alert, derived from the alert id so that it can be computed again."""
    return f"{alert.id[:8]}-{alert.id[8:12]}-8000-8000-{alert.id[12:]:0<12}"


def _baseline(run: Run, alert: Alert, world: World) -> Run | None:
    """The last run of the old level, if its script archive allows running it again."""
    row = next((row for row in alert.rows if row.series_key == run.series_key), None)
    if row is None or run.descriptor.ml.script is None:
        return None
    points = in_order(world.points.history(row.series_key, row.metric, row.fingerprint))
    first = next((at for at, point in enumerate(points) if point.run_id == alert.run_id), 0)
    return world.runs.get(points[first - 1].run_id) if first else None


def _again(side: Run, cause: Run, alert: Alert, number: int, world: World) -> Run:
    now_s = world.clock.now_s()
    return replace(
        side,
        id=derived_run_id(cause.id, alert.id, number),
        status=Status.FETCH if side.descriptor.ml.script else Status.PLACE,
        created_s=now_s,
        due_s=now_s,
        family_id=_family(alert),
        parent_id=cause.id,
        attempt=1,
        placement=None,
        reason="",
        cause=None,
        placed_s=None,
        ended_s=None,
    )
