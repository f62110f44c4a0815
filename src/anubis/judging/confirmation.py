"""Confirm before telling: the contender, and the baseline where it still can, run again."""

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
    """Whether the alert has to wait for runs that confirm it: they were asked for, and have not all ended."""
    return (
        wanted(run, alert) > 0 and alert.told is None and (not alert.ordered or _pending(run, alert, world))
    )


def wanted(run: Run, alert: Alert) -> int:
    """Confirming runs asked for by those who would be told."""
    return max((notify.confirm_runs or 0 for notify in listeners(run, alert)), default=0)


def listeners(run: Run, alert: Alert) -> Sequence[Notify]:
    """Who asked to hear of alerts of this kind."""
    return [notify for notify in run.descriptor.notify if alert.kind in notify.on]


def confirming_runs(run: Run, alert: Alert, world: World) -> list[tuple[Run, str]]:
    """The runs to order now, interleaved, with their texts; none for a run that confirms itself."""
    if run.parent_id is not None:
        return []
    sides = [one for one in (_baseline(run, alert, world), run) if one is not None]
    ordered = [side for _ in range(wanted(run, alert)) for side in sides]
    return [
        (_again(side, run, alert, number, world), world.runs.text(side.id))
        for number, side in enumerate(ordered)
    ]


def _pending(run: Run, alert: Alert, world: World) -> bool:
    """Is a confirming run of this alert not final yet? The one at hand counts as final."""
    rows = world.runs.find(RunQuery(family_id=_family(alert), limit=1000))
    return any(not row.status.final for row in rows if row.id != run.id)


def _family(alert: Alert) -> str:
    """The family of an alert's confirming runs: derived from its id, so that it is found again."""
    return f"{alert.id[:8]}-{alert.id[8:12]}-8000-8000-{alert.id[12:]:0<12}"


def _baseline(run: Run, alert: Alert, world: World) -> Run | None:
    """The last run of the old level, if it can run again from its script archive."""
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
        cell={},
    )
