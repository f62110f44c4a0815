"""Everything that is known of every series: what ``anubis series`` shows, and judging all of history again."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite

from anubis.contracts.points import SeriesRow
from anubis.contracts.world import World
from anubis.judging.alert_events import alert_event, deliveries_of
from anubis.judging.alert_rules import Judged, shifted
from anubis.judging.alert_triage import run_of
from anubis.judging.series import is_unstable, series_of
from anubis.model.alert import Alert
from anubis.model.points import OWN_METRICS, Point, PointBlock
from anubis.model.series import SeriesVerdict


class SeriesState(StrEnum):
    """What a series is good for at the moment."""

    #: Too short to tell a change.
    NEW = "new"
    STABLE = "stable"
    #: Its newest points lie outside what its level predicts, and are too few to be sure.
    SUSPECTED = "suspected"
    #: Its level changes while the subject stays the same: it tells of its surroundings, and alerts nobody.
    UNSTABLE = "unstable"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surveyed:
    """One metric of one benchmark on one machine, oldest point first, and what is said about it."""

    benchmark: str
    labels: Mapping[str, str]
    points: Sequence[Point]
    verdict: SeriesVerdict
    state: SeriesState

    @property
    def judged(self) -> Judged:
        """In the form that alerts are made of."""
        unstable = self.state is SeriesState.UNSTABLE
        return Judged(points=self.points, verdict=self.verdict, unstable=unstable)


def survey(world: World, *, benchmark: str | None = None, metric: str | None = None) -> list[Surveyed]:
    """Every series of one benchmark or of all, judged; what every run has anyway only where it is judged or named."""
    from anubis.analysis.changes.detection import judge_many  # noqa: PLC0415  numpy and scipy are needed only here

    rows = {row.series_key: row for row in world.points.series() if benchmark in {None, row.benchmark}}
    wanted = {key: {metric} if metric else _shown(row.metrics) for key, row in rows.items()}
    histories = [
        points
        for block in world.points.histories(list(wanted), sorted(set().union(*wanted.values())))
        if block.metric in wanted[block.series_key] and (points := _points(block))
    ]
    verdicts = judge_many([series_of(points) for points in histories])
    found = [
        _surveyed(rows[points[-1].series_key], points, verdict)
        for points, verdict in zip(histories, verdicts, strict=True)
    ]
    return sorted(found, key=lambda one: (one.benchmark, *one.judged.key))


def judge_again(world: World, *, benchmark: str | None = None, tell: bool = False) -> list[Alert]:
    """Judge all of history again, and open, update and resolve alerts accordingly; those that are different now.

    Nobody hears of it, now or later, unless ``tell``: then those who asked for it in the descriptors do.
    """
    now_s = world.clock.now_s()
    by_benchmark: dict[str, list[Judged]] = defaultdict(list)
    for one in survey(world, benchmark=benchmark):
        if one.state is not SeriesState.NEW:
            by_benchmark[one.benchmark].append(one.judged)
    changed: list[Alert] = []
    for name, series in by_benchmark.items():
        known = world.alerts.find(benchmark=name)
        before = {alert.id: alert for alert in known}
        alerts, events, deliveries = [], [], []
        for alert in shifted(name, series, known, now_s, lambda _: False):
            if alert.id in before and before[alert.id].state is alert.state:
                alerts.append(alert)
                continue
            run = run_of(alert, world)
            if tell:
                deliveries += deliveries_of(run, alert, now_s)
            alerts.append(replace(alert, told=alert.state))
            events.append(alert_event(run, alert, now_s))
        world.alerts.put(alerts, events, deliveries)
        changed += alerts
    return changed


def _shown(metrics: Sequence[str]) -> set[str]:
    """What every run has anyway tells of a benchmark only where there is nothing else."""
    return {metric for metric in metrics if metric not in OWN_METRICS} or set(metrics)


def _points(block: PointBlock) -> list[Point]:
    columns = zip(
        block.run_ids, block.values, block.spreads, block.counts, block.orders_s, block.subjects, strict=True
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
        )
        for run_id, value, spread, count, order_s, subject in columns
        if isfinite(value)
    ]


def _surveyed(row: SeriesRow, points: Sequence[Point], verdict: SeriesVerdict) -> Surveyed:
    state = SeriesState.STABLE
    if verdict.noise_floor is None and not verdict.changes:
        state = SeriesState.NEW
    elif is_unstable(points, verdict):
        state = SeriesState.UNSTABLE
    elif verdict.suspected:
        state = SeriesState.SUSPECTED
    return Surveyed(benchmark=row.benchmark, labels=row.labels, points=points, verdict=verdict, state=state)
