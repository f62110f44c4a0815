"""The state of every series, as ``anubis series`` shows it, and judging all stored history again."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

from anubis.analysis.changes.detection import judge_many
from anubis.analysis.samples.compare import scale_of
from anubis.analysis.samples.sessions import split_noise
from anubis.contracts.points import SeriesRow
from anubis.contracts.world import World
from anubis.judging.alert_events import alert_event, deliveries_of
from anubis.judging.alert_rules import JudgedSeries, shift_alerts
from anubis.judging.alert_triage import run_of
from anubis.judging.series import is_unstable, series_of, session_units, subject_points
from anubis.model.alert import Alert
from anubis.model.delivery import Delivery
from anubis.model.errors import ConflictError
from anubis.model.labels import is_control
from anubis.model.points import OWN_METRICS, Point, PointBlock
from anubis.model.run import Event
from anubis.model.series import SeriesVerdict

#: Runs of a series that are judged: by default, and in a listing of many series.
MOST_RUNS, LISTED_RUNS = 10_000, 200


class SeriesState(StrEnum):
    """The current state of a series."""

    #: Too short to detect a change.
    NEW = "new"
    STABLE = "stable"
    #: Its newest points lie outside the prediction interval of its level, but are too few to confirm a change.
    SUSPECTED = "suspected"
    #: It has no stable level, or its level changes while the subject stays the same: it raises no alerts.
    UNSTABLE = "unstable"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesOverview:
    """One metric of one benchmark on one machine, oldest point first, with its verdict and state."""

    benchmark: str
    labels: Mapping[str, str]
    points: Sequence[Point]
    verdict: SeriesVerdict
    state: SeriesState
    #: The noise of the current level, split: standard deviation of sessions around the level, and of runs around their
    #: session, as ratios; None if no subject has several runs in a session.
    noise_between: float | None = None
    noise_within: float | None = None
    #: Number of stored points before these, which were not read.
    earlier: int = 0

    @property
    def judged(self) -> JudgedSeries:
        """The input of the alert rules."""
        unstable = self.state is SeriesState.UNSTABLE
        return JudgedSeries(
            points=self.points, verdict=self.verdict, unstable=unstable, is_part=self.earlier > 0
        )


def series_overviews(
    world: World, *, benchmark: str | None = None, metric: str | None = None, newest: int = MOST_RUNS
) -> list[SeriesOverview]:
    """Every series of one benchmark or of all, judged by the points of its ``newest`` runs.

    Controls are left out. The metrics that the agent adds to every run are included only if ``metric`` names them or there are no others.
    """
    rows = {
        row.series_key: row
        for row in world.points.series()
        if benchmark in {None, row.benchmark} and not is_control(row.labels)
    }
    metrics = {key: {metric} if metric else _shown(row.metrics) for key, row in rows.items()}
    names = sorted(set().union(*metrics.values()))
    measured = [
        (rows[block.series_key], block, points)
        for block in world.points.histories(list(metrics), names, most=newest)
        if block.metric in metrics[block.series_key] and (points := _points(block))
    ]
    histories = [subject_points(points) for _, _, points in measured]
    verdicts = judge_many([series_of(points) for points in histories])
    overviews = [
        replace(
            _with_split_noise(_overview(row, points, verdict), runs),
            earlier=row.points[block.fingerprint, block.metric, block.units] - len(block.run_ids),
        )
        for points, verdict, (row, block, runs) in zip(histories, verdicts, measured, strict=True)
    ]
    return sorted(overviews, key=lambda one: (one.benchmark, *one.judged.key))


def rejudge(world: World, *, benchmark: str | None = None, tell: bool = False) -> list[Alert]:
    """Judge all stored history again; open, update and resolve alerts accordingly. Returns the changed alerts.

    Notifications are sent only if ``tell`` is true; otherwise the changes count as delivered.
    """
    now_s = world.clock.now_s()
    by_benchmark: dict[str, list[JudgedSeries]] = defaultdict(list)
    for one in series_overviews(world, benchmark=benchmark):
        if one.state is not SeriesState.NEW:
            by_benchmark[one.benchmark].append(one.judged)
    changed: list[Alert] = []
    for name, series in by_benchmark.items():
        alerts = None
        while alerts is None:
            with suppress(ConflictError):
                alerts = _rejudged(world, name, series, now_s, tell=tell)
        changed += alerts
    return changed


def _rejudged(
    world: World, benchmark: str, series: Sequence[JudgedSeries], now_s: float, *, tell: bool
) -> list[Alert]:
    """The changed alerts of one benchmark, which are stored. Raises ConflictError if another writer changed one."""
    known = world.alerts.find(benchmark=benchmark)
    before = {alert.id: alert for alert in known}
    alerts: list[Alert] = []
    events: list[Event] = []
    deliveries: list[Delivery] = []
    for alert in shift_alerts(benchmark, series, known, now_s, lambda _: False):
        if alert.id in before and before[alert.id].state is alert.state:
            alerts.append(alert)
            continue
        run = run_of(alert, world)
        if tell:
            deliveries += deliveries_of(run, alert, now_s)
        alerts.append(replace(alert, told=alert.state))
        events.append(alert_event(run, alert, now_s))
    world.alerts.put(alerts, events, deliveries)
    return alerts


def _shown(metrics: Sequence[str]) -> set[str]:
    """The metrics of the benchmark; the metrics that the agent adds to every run only if there are no others."""
    return {metric for metric in metrics if metric not in OWN_METRICS} or set(metrics)


def _points(block: PointBlock) -> list[Point]:
    columns = zip(
        block.run_ids,
        block.values,
        block.spreads,
        block.counts,
        block.orders_s,
        block.subjects,
        block.sessions,
        block.contaminated,
        strict=True,
    )
    return [
        Point(
            run_id=run_id,
            series_key=block.series_key,
            fingerprint=block.fingerprint,
            metric=block.metric,
            units=block.units,
            value=value,
            spread=spread,
            count=count,
            better=block.better,
            order_s=order_s,
            subject=subject,
            session=session,
            contaminated=contaminated,
        )
        for run_id, value, spread, count, order_s, subject, session, contaminated in columns
        if isfinite(value)
    ]


def _with_split_noise(overview: SeriesOverview, runs: Sequence[Point]) -> SeriesOverview:
    """The overview with the noise of its current level, from all runs of that level."""
    changes = overview.verdict.changes
    start = overview.points[changes[-1].index if changes else 0]
    level = [point for point in runs if point.order_s >= start.order_s]
    units = session_units(level)
    if len(units) == len(level):  # no session has several runs
        return overview
    scale = scale_of([point.value for point in level], ())
    split = split_noise([scale.work([point.value for point in unit]) for unit in units])
    if split is None:
        return overview
    between, within = map(scale.effect, split)
    return replace(overview, noise_between=between, noise_within=within)


def _overview(row: SeriesRow, points: Sequence[Point], verdict: SeriesVerdict) -> SeriesOverview:
    state = SeriesState.STABLE
    if verdict.noise_floor is None and not verdict.changes:
        state = SeriesState.NEW
    elif is_unstable(points, verdict):
        state = SeriesState.UNSTABLE
    elif verdict.suspected:
        state = SeriesState.SUSPECTED
    return SeriesOverview(
        benchmark=row.benchmark, labels=row.labels, points=points, verdict=verdict, state=state
    )
