"""Stage analyse: judges the new points by their history and the descriptor's bounds, and the failure of the run."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from anubis.analysis.verdict_text import crossed_sentence
from anubis.contracts.world import World
from anubis.judging.alert_events import alert_event
from anubis.judging.alert_rules import OPEN, JudgedSeries, SeriesKey, alert_id, key_of, shift_alerts
from anubis.judging.confirmation import CONFIRMS, waits
from anubis.judging.series import (
    in_order,
    is_unstable,
    judged_metrics,
    series_of,
    subject_points,
)
from anubis.judging.thresholds import BOUNDS, alert_row, crossed_bounds, references_of
from anubis.judging.units import in_newest_unit
from anubis.late import late
from anubis.model.alert import Alert, AlertKind, AlertRow, AlertState
from anubis.model.labels import is_control
from anubis.model.points import OWN_METRICS, Point
from anubis.model.run import CROSSED_EVENT, Event, Run, Step
from anubis.model.series import Sensitivity, SeriesVerdict
from anubis.model.status import Status
from anubis.model.verdict import CrossedBound
from anubis.pipeline.conclusion import conclude

if TYPE_CHECKING:
    from anubis.analysis.changes import detection
    from anubis.judging import confirmation_evidence as evidence
else:  # numpy and scipy, which short series do not need
    detection = late("anubis.analysis.changes.detection")
    evidence = late("anubis.judging.confirmation_evidence")

#: Changes are searched only in series with at least this many points; for shorter ones numpy is not imported.
FEWEST_POINTS = 6
#: Newest points by which a series is judged first, so that the cost of a run does not grow with its history.
NEWEST_POINTS = 300
#: Newest points that are read to decide about an alert.
MOST_POINTS = 10_000
NEVER_SUCCEEDED = "no failure alert: no earlier run of this series succeeded"


@dataclass(frozen=True, slots=True, kw_only=True)
class _History:
    """The points of one series, in order and in one unit."""

    points: Sequence[Point]
    #: The same with one point for runs that count once.
    joined: Sequence[Point]
    #: Whether the series may have points before these.
    is_part: bool

    @classmethod
    def of(cls, points: Sequence[Point], *, is_part: bool) -> "_History":
        return cls(points=points, joined=subject_points(points), is_part=is_part)

    @property
    def key(self) -> SeriesKey:
        point = self.points[-1]
        return point.series_key, point.fingerprint, point.metric


def analyse(run: Run, world: World) -> Step:
    """Open, update and resolve alerts. A run without alerts, such as one of an A/A control, is final at once."""
    now_s = world.clock.now_s()
    if is_control(run.descriptor.info.labels):
        return conclude(run, now_s, run.cause, run.reason)
    stored = world.alerts.find(benchmark=run.descriptor.info.name)
    settled = {alert.id: after for alert in stored if (after := _decided(run, alert, world))}
    known = [settled.get(alert.id, alert) for alert in stored]
    changed, remarks = _failure(run, known, world)
    changed += settled.values()
    if run.cause is None:
        histories = _histories(run, world)
        if (
            CONFIRMS not in run.cell
        ):  # a confirming run is evidence only about its alert, never pooled with the series
            changed += _shifts(run, histories, known, world, settled.keys())
        thresholds, crossed = _thresholds(run, histories, known, now_s)
        changed += thresholds
        remarks += [_crossed_event(run, bound, now_s) for bound in crossed]
    if not changed and not any(alert.state in OPEN for alert in known):
        return conclude(run, now_s, run.cause, run.reason, events=remarks)
    before = {alert.id: alert for alert in stored}
    events = [
        alert_event(run, alert, now_s) for alert in changed if _has_new_state(alert, before.get(alert.id))
    ]
    return Step(
        status=Status.ALERT,
        cause=run.cause,
        reason=run.reason,
        alerts=tuple(changed),
        events=(*remarks, *events),
    )


def _decided(run: Run, alert: Alert, world: World) -> Alert | None:
    """The alert after the decision about its confirming runs, if they have all been measured."""
    return evidence.decided(run, alert, world) if alert.ordered else None


def _has_new_state(alert: Alert, before: Alert | None) -> bool:
    return before is None or before.state is not alert.state


def _histories(run: Run, world: World) -> list[_History]:
    """The series of this run's points; only those of metrics that are judged."""
    mine = {point.metric: point for point in world.points.of([run.id])}
    return [_history(mine[metric], world) for metric in judged_metrics(run.descriptor, list(mine))]


def _history(point: Point, world: World) -> _History:
    """The newest points of a series; all of them if the given point is older, or if most of these count only once."""
    newest = _read(point, world, limit=NEWEST_POINTS)
    is_read = any(one.run_id == point.run_id for one in newest.points)
    is_enough = is_read and len(newest.joined) > NEWEST_POINTS // 2
    return newest if is_enough or not newest.is_part else _whole(newest, world)


def _whole(history: _History, world: World) -> _History:
    """All points of the same series."""
    return _read(history.points[-1], world, limit=MOST_POINTS)


def _read(point: Point, world: World, *, limit: int) -> _History:
    points = world.points.history(point.series_key, point.metric, point.fingerprint, limit=limit)
    return _History.of(in_newest_unit(in_order(points)), is_part=len(points) == limit)


def _shifts(
    run: Run, histories: Sequence[_History], known: Sequence[Alert], world: World, settled: Collection[str]
) -> list[Alert]:
    """The changed alerts about level shifts.

    If the newest points show that an alert may open, end or get another state, or that the series has no stable level,
    which silences it, all points of the series decide.
    """
    now_s, waiting = world.clock.now_s(), partial(waits, run, world=world)

    def changed_by(judged: Sequence[JudgedSeries]) -> list[Alert]:
        return shift_alerts(run.descriptor.info.name, judged, known, now_s, waiting, settled=settled)

    judged = _judge(histories)
    changed = changed_by(judged)
    before = {alert.id: alert for alert in known}
    due = {key for alert in changed for key in _decided_keys(before.get(alert.id), alert)}
    due |= {one.key for one in judged if one.verdict.instability is not None}
    if not any(history.is_part and history.key in due for history in histories):
        return changed
    return changed_by(
        _judge(
            [
                _whole(history, world) if history.is_part and history.key in due else history
                for history in histories
            ]
        )
    )


def _decided_keys(before: Alert | None, after: Alert) -> set[SeriesKey]:
    """The series about which an alert changes more than numbers."""
    after_keys = set(map(key_of, after.rows))
    if before is None or (before.state, before.run_id) != (after.state, after.run_id):
        return after_keys
    return after_keys ^ set(map(key_of, before.rows))


def _judge(histories: Sequence[_History]) -> list[JudgedSeries]:
    """The verdicts about the series that are long enough. Parts of series also show changes that are almost confirmed."""
    judged = []
    for is_part, sensitivity in ((False, Sensitivity.NORMAL), (True, Sensitivity.SENSITIVE)):
        series = [history.joined for history in histories if history.is_part is is_part]
        long = [points for points in series if len(points) >= FEWEST_POINTS]
        if not long:
            continue
        verdicts = detection.judge_many(list(map(series_of, long)), sensitivity=sensitivity)
        judged += [
            JudgedSeries(
                points=points, verdict=verdict, unstable=is_unstable(points, verdict), is_part=is_part
            )
            for points, verdict in zip(long, verdicts, strict=True)
        ]
    return judged


def _failure(run: Run, known: Sequence[Alert], world: World) -> tuple[list[Alert], list[Event]]:
    """One alert for all consecutive failures of a benchmark; the next success resolves it.

    A series that never succeeded opens no alert, because the failure may be a mistake in a new descriptor; an event
    states this.
    """
    now_s = world.clock.now_s()
    identity = alert_id(run.descriptor.info.name, run.series_key, "failure")
    last = next((alert for alert in known if alert.id == identity), None)
    is_open = _is_open(last)
    if run.cause is None and last and is_open:
        why = "the benchmark succeeds again"
        return [replace(last, state=AlertState.RESOLVED, changed_s=now_s, actor="", why=why)], []
    if run.cause is None or run.cancel_requested or is_open:
        return [], []
    if not _has_succeeded(run, world):
        return [], [Event(run_id=run.id, kind="note", time_s=now_s, message=NEVER_SUCCEEDED)]
    return [replace(_opened(run, identity, AlertKind.FAILURE, now_s, last), why=_failure_text(run))], []


def _has_succeeded(run: Run, world: World) -> bool:
    """Whether the series has points: only runs that succeeded have some."""
    metrics = [metric.name for metric in run.descriptor.metrics]
    return bool(world.points.histories([run.series_key], [*OWN_METRICS, *metrics], most=1))


def _failure_text(run: Run) -> str:
    """Cause and reason of the failure, as a part of a sentence."""
    return f"{run.cause}".replace("_", " ") + f": {run.reason}".rstrip(". :")


def _thresholds(
    run: Run, histories: Sequence[_History], known: Sequence[Alert], now_s: float
) -> tuple[list[Alert], list[CrossedBound]]:
    """The alerts of bounds that are crossed, are kept again, or are no longer declared; the bounds that are crossed."""
    stored = {alert.id: alert for alert in known if alert.kind is AlertKind.THRESHOLD}
    by_id = {key: alert for key, alert in stored.items() if alert.state is not AlertState.RESOLVED}
    metrics = {metric.name: metric for metric in run.descriptor.metrics if metric.threshold}
    crossing: dict[str, tuple[AlertRow, CrossedBound]] = {}
    looked_at: set[str] = set()
    for points in (history.points for history in histories):
        if metric := metrics.get(points[-1].metric):
            ids = {bound: _bound_id(run, metric.name, bound, points[-1].fingerprint) for bound in BOUNDS}
            looked_at |= set(ids.values())
            open_rows = {bound: by_id[one].rows[0] for bound, one in ids.items() if _is_open(by_id.get(one))}
            point = _point_of(run, points)
            references = references_of(metric, _before(run, points), open_rows)
            for crossed in crossed_bounds(metric, point.value, point.units, references):
                crossing[ids[crossed.bound]] = alert_row(point, crossed), crossed
    changed = [
        replace(
            by_id.get(identity) or _opened(run, identity, AlertKind.THRESHOLD, now_s, stored.get(identity)),
            rows=(row,),
        )
        for identity, (row, _) in crossing.items()
    ]
    over = {
        one.id: _resolution(run, one, one.id in looked_at) for one in by_id.values() if one.id not in crossing
    }
    changed += [
        replace(by_id[identity], state=AlertState.RESOLVED, changed_s=now_s, actor="", why=why)
        for identity, why in over.items()
        if why
    ]
    return changed, [bound for _, bound in crossing.values()]


def _crossed_event(run: Run, crossed: CrossedBound, now_s: float) -> Event:
    data = {"metric": crossed.metric, "bound": crossed.bound}
    return Event(
        run_id=run.id, kind=CROSSED_EVENT, time_s=now_s, message=crossed_sentence(crossed), data=data
    )


def _bound_id(run: Run, metric: str, bound: str, fingerprint: str) -> str:
    return alert_id(run.descriptor.info.name, run.series_key, metric, bound, fingerprint)


def _is_open(alert: Alert | None) -> bool:
    return alert is not None and alert.state in OPEN


def _resolution(run: Run, alert: Alert, looked_at: bool) -> str:
    """Why the alert of a bound that this run does not cross is resolved; empty if it is not."""
    [row] = alert.rows
    if row.series_key != run.series_key:
        return ""
    listed = {
        _bound_id(run, metric.name, bound, row.fingerprint)
        for metric in run.descriptor.metrics
        for bound in BOUNDS
        if metric.threshold and getattr(metric.threshold, bound) is not None
    }
    if alert.id not in listed:
        return "the descriptor no longer declares this bound"
    return "the bound is kept again" if looked_at else ""


def _point_of(run: Run, points: Sequence[Point]) -> Point:
    return next(point for point in points if point.run_id == run.id)


def _before(run: Run, points: Sequence[Point]) -> SeriesVerdict | None:
    """The verdict about the series without this run; None if it is too short to have a level."""
    earlier = [point for point in points if point.run_id != run.id]
    judged = _judge([_History.of(earlier, is_part=False)])
    return judged[0].verdict if judged else None


def _opened(run: Run, identity: str, kind: AlertKind, now_s: float, earlier: Alert | None) -> Alert:
    """A new alert; it replaces an ``earlier`` one with the same identity, which was resolved."""
    subject = run.descriptor.subject
    return Alert(
        id=identity,
        benchmark=run.descriptor.info.name,
        kind=kind,
        state=AlertState.CONFIRMED,
        rows=(),
        run_id=run.id,
        last_old="",
        first_new=subject.commit or subject.version or "",
        opened_s=now_s,
        changed_s=now_s,
        repository=subject.repository or "",
        version=earlier.version if earlier else 0,
    )
