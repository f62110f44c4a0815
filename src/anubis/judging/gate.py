"""The gate: compares runs of one subject with the earlier level of their series, or with given baseline runs."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf, isfinite, nextafter

from anubis.analysis.quantities import effect_text
from anubis.analysis.samples.compare import compare_many
from anubis.analysis.samples.multiplicity import mean_effect
from anubis.analysis.samples.spread import ROBUST_FROM
from anubis.contracts.world import World
from anubis.judging.alert_rules import is_level_shift
from anubis.judging.baseline import (
    ContenderRuns,
    Key,
    Level,
    baseline_levels,
    session_sizes,
)
from anubis.judging.gate_bounds import BoundedMetric, check_bounds
from anubis.judging.gate_history import Contenders, gate_histories
from anubis.judging.gate_names import names, same_benchmark
from anubis.judging.rounds import Slot, pairs_of, slots_of
from anubis.judging.series import in_order, judged_metrics
from anubis.judging.units import Place, in_unit, joined, place_of
from anubis.judging.unstable_history import with_unstable_histories
from anubis.model.alert import Alert, AlertKind, AlertState
from anubis.model.points import Point, PointBlock
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.model.verdict import Comparison, CrossedBound, Sides, Verdict
from anubis.reporting.gate_report import BenchmarkComparison, Report
from anubis.reporting.markup import short_subject
from anubis.reporting.status_words import WORDS

#: Smallest effect that counts, unless the descriptor sets another one.
MIN_EFFECT = 0.02
#: States of alerts whose change of level is known.
_KNOWN_LEVELS = (AlertState.CONFIRMED, AlertState.ACKNOWLEDGED, AlertState.ACCEPTED, AlertState.MUTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSides:
    """The runs to judge and the runs they are compared with."""

    contender: Sequence[Run]
    #: None: the current level of each series.
    baseline: Sequence[Run] | None = None


@dataclass(slots=True, kw_only=True)
class _Group:
    """The contender's points of one benchmark, with the same parameters, on one machine."""

    series_key: str
    fingerprint: str
    run: Run
    points: dict[str, list[Point]] = field(default_factory=lambda: defaultdict(list))
    sides: list[Sides] = field(default_factory=list)
    crossed: tuple[CrossedBound, ...] = ()
    #: Subject of the newest point of the baseline.
    baseline: str = ""
    #: Number of subjects of the baseline; 0: there is none.
    baseline_subjects: int = 0
    #: Metrics of which only the contender's subject has earlier values.
    same_subject: set[str] = field(default_factory=set)
    #: Runs of the baseline during which the machine was disturbed.
    disturbed: set[str] = field(default_factory=set)
    note: str = ""
    #: Whether the baseline runs were given; else it is the history.
    is_given: bool = False

    @property
    def all_points(self) -> list[Point]:
        return [point for points in self.points.values() for point in points]


def compare_sides(
    gate_sides: Iterable[GateSides],
    world: World,
    *,
    min_effect: float | None = None,
    metrics: Collection[str] = (),
) -> Report:
    """Judge every (or every named) metric of every contender; the p values are adjusted for the number of all metrics.

    ``min_effect`` applies to every metric; None: the value of the descriptor, else ``MIN_EFFECT``. Failed runs on
    either side are reported as failures and not compared.
    """
    comparisons: list[BenchmarkComparison] = []
    groups: list[_Group] = []
    for sides in gate_sides:
        comparisons += _failures(sides, world)
        groups += _compared_groups(sides, world, min_effect, metrics)
    verdicts = iter(_verdicts(groups, world))
    for group, name in zip(
        groups, names((group.run, group.series_key, group.fingerprint) for group in groups), strict=True
    ):
        of_group = tuple(next(verdicts) for _ in group.sides)
        effect, interval, count = mean_effect(of_group)
        comparison = Comparison(
            verdicts=of_group, mean_effect=effect, mean_interval=interval, mean_count=count
        )
        newest = max(group.all_points, key=lambda point: point.order_s)
        comparisons.append(
            BenchmarkComparison(
                benchmark=name,
                baseline=group.baseline,
                baseline_subjects=group.baseline_subjects,
                contender=newest.subject,
                comparison=comparison if of_group else None,
                crossed=group.crossed,
                disturbed_baseline=len(group.disturbed),
                disturbed_contender=len({point.run_id for point in group.all_points if point.contaminated}),
                note=group.note,
            )
        )
    return Report(comparisons=tuple(comparisons))


def _verdicts(groups: Sequence[_Group], world: World) -> Sequence[Verdict]:
    """The verdicts of all sides. A metric with an unstable history is compared with all of its levels."""
    verdicts = compare_many(side for group in groups for side in group.sides).verdicts
    following, all_notes = iter(verdicts), []
    for group in groups:
        found = list(islice(following, len(group.sides)))
        if group.is_given:
            continue
        group.sides, notes = with_unstable_histories(group.sides, found, group.points, world)
        group.note = "; ".join(filter(None, (group.note, *notes)))
        all_notes += notes
    return compare_many(side for group in groups for side in group.sides).verdicts if all_notes else verdicts


def _failures(sides: GateSides, world: World) -> Iterator[BenchmarkComparison]:
    """One entry for each benchmark with failed runs, with the cause and reason of the last failure."""
    for side, runs in (("contender", sides.contender), ("baseline", sides.baseline or ())):
        failed: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in runs:
            if run.status is not Status.SUCCEEDED:
                failed[run.descriptor.info.name, run.series_key].append(run)
        for (name, _), failed_runs in failed.items():
            last = failed_runs[-1]
            why = f"{last.cause}: {last.reason}" if last.cause else f"not final yet ({WORDS[last.status]})"
            subject, short = last.descriptor.subject, world.runs.short_ids([last.id])[last.id]
            yield BenchmarkComparison(
                benchmark=name,
                baseline="",
                contender=subject.commit or subject.version or "",
                failure=f"{len(failed_runs)} {side} runs without success, last {short}: {why}",
            )


def _compared_groups(
    sides: GateSides, world: World, min_effect: float | None, metrics: Collection[str]
) -> list[_Group]:
    """The points of the contender in groups, each with the values it is compared with."""
    good = {run.id: run for run in sides.contender if run.status is Status.SUCCEEDED}
    points = world.points.of(list(good))
    groups = _groups(good, [point for point in points if not metrics or point.metric in metrics])
    if not groups:
        return []
    units = {place_of(points[-1]): points[-1].units for group in groups for points in group.points.values()}
    alerts = world.alerts.find(states=_KNOWN_LEVELS)
    contenders = {(group.series_key, group.fingerprint): _contender_runs(group) for group in groups}
    blocks = joined(_blocks(groups, contenders, alerts, world), units)
    before = baseline_levels(blocks, contenders, alerts)
    baselines = before if sides.baseline is None else _given_levels(sides.baseline, groups, world, units)
    slots = slots_of([*sides.contender, *(sides.baseline or ())])
    measured: dict[tuple[str, str], set[str]] = defaultdict(set)
    for block in blocks:
        measured[block.series_key, block.metric].add(block.fingerprint)
    own = {run.id for run in sides.contender}
    earlier = {place_of(block) for block in blocks if not own.issuperset(block.run_ids)}
    for group in groups:
        place = (group.series_key, group.fingerprint)
        group.is_given = baselines is not before
        group.same_subject = {metric for metric in group.points if (*place, metric) in earlier}
        _add_sides(group, baselines, before, min_effect, slots)
        bounds = check_bounds(_bounded_metrics(group, baselines, before))
        group.crossed = bounds.crossed
        notes = [
            _note(group, measured),
            bounds.note,
            _open_alerts(group, alerts),
        ]
        group.note = "; ".join(note for note in notes if note)
    return groups


def _groups(runs: dict[str, Run], points: Iterable[Point]) -> list[_Group]:
    groups: dict[tuple[str, str], _Group] = {}
    for point in in_order([point for point in points if isfinite(point.value)]):
        run = runs[point.run_id]
        key = (point.series_key, point.fingerprint)
        group = groups.setdefault(key, _Group(series_key=key[0], fingerprint=key[1], run=run))
        group.run = run
        group.points[point.metric].append(point)
    for group in groups.values():
        judged = judged_metrics(group.run.descriptor, list(group.points))
        group.points = {
            metric: in_unit(points, points[-1].units) for metric in judged if (points := group.points[metric])
        }
    return list(groups.values())


def _contender_runs(group: _Group) -> ContenderRuns:
    points = group.all_points
    return ContenderRuns(
        min(point.order_s for point in points),
        frozenset(point.subject for point in points),
        frozenset(point.run_id for point in points),
    )


def _blocks(
    groups: Sequence[_Group], contenders: Contenders, alerts: Iterable[Alert], world: World
) -> Sequence[PointBlock]:
    """The histories of all series that the contender measured, including its own points."""
    metrics = {metric for group in groups for metric in group.points}
    latest_s = max(points[-1].order_s for group in groups for points in group.points.values())
    # An accepted level may begin long ago.
    has_accepted = any(alert.state is AlertState.ACCEPTED for alert in alerts)
    return gate_histories(
        world,
        contenders,
        metrics,
        metrics if has_accepted else {next(iter(group.points)) for group in groups},
        before_s=nextafter(latest_s, inf),
        runs=max(len(next(iter(group.points.values()))) for group in groups),
    )


def _given_levels(
    runs: Sequence[Run], groups: Sequence[_Group], world: World, units: Mapping[Place, str]
) -> dict[Key, Level]:
    """The points of the given baseline runs, under the keys of the contender's series.

    If each side has a single series, the two are compared even if their names differ.
    """
    good = {run.id: run for run in runs if run.status is Status.SUCCEEDED}
    by_series: dict[str, list[Point]] = defaultdict(list)
    for point in in_order([point for point in world.points.of(list(good)) if isfinite(point.value)]):
        by_series[point.series_key].append(point)
    by_key: dict[Key, list[Point]] = defaultdict(list)
    of_baseline = {run.series_key: run for run in good.values()}
    of_contender = {group.series_key: group.run for group in groups}
    for key, run in of_contender.items():
        is_single = len(of_baseline) == len(of_contender) == 1
        same = set(of_baseline) if is_single else same_benchmark(run, of_baseline)
        for point in in_order([point for other in same for point in by_series[other]]):
            to = units.get((key, point.fingerprint, point.metric), point.units)
            by_key[key, point.fingerprint, point.metric, to] += in_unit([point], to)
    return {
        key: Level(
            tuple(point.value for point in points),
            points[-1].subject,
            len({point.subject for point in points}),
            frozenset(point.run_id for point in points if point.contaminated),
            run_ids=tuple(point.run_id for point in points),
        )
        for key, points in by_key.items()
    }


def _add_sides(
    group: _Group,
    baselines: dict[Key, Level],
    before: dict[Key, Level],
    min_effect: float | None,
    slots: Mapping[str, Slot],
) -> None:
    declared = {metric.name: metric for metric in group.run.descriptor.metrics}
    for name, points in group.points.items():
        newest = points[-1]
        key = (group.series_key, group.fingerprint, name, newest.units)
        if key not in baselines:
            continue
        baseline = baselines[key]
        threshold = declared[name].threshold if name in declared else None
        effect = min_effect if min_effect is not None else threshold.min_effect if threshold else None
        few = min(len(points), len(baseline.values)) < ROBUST_FROM
        noise = _noise_values(baseline, before.get(key)) if few else ()
        group.baseline = baseline.subject
        group.baseline_subjects = max(group.baseline_subjects, baseline.subjects)
        ordered, sizes = session_sizes(points)
        group.disturbed |= baseline.disturbed
        together = pairs_of(baseline.run_ids, [point.run_id for point in ordered], slots)
        group.sides.append(
            Sides(
                metric=name,
                baseline=baseline.values,
                contender=tuple(point.value for point in ordered),
                units=newest.units,
                better=newest.better,
                min_effect=MIN_EFFECT if effect is None else effect,
                history=noise,
                baseline_sessions=baseline.sessions,
                contender_sessions=sizes if baseline.sessions else (),
                pairs=together.positions,
                contender_second=together.contender_second,
            )
        )


def _noise_values(baseline: Level, before: Level | None) -> tuple[float, ...]:
    """The values around their level that give the noise of one run: those of a long baseline, else of the series."""
    own = baseline.noise_values or baseline.values
    return own if len(own) >= ROBUST_FROM or before is None else before.noise_values


def _bounded_metrics(
    group: _Group, baselines: dict[Key, Level], before: dict[Key, Level]
) -> Iterator[BoundedMetric]:
    for metric in group.run.descriptor.metrics:
        if metric.threshold is None or metric.name not in group.points:
            continue
        points = group.points[metric.name]
        key = (group.series_key, group.fingerprint, metric.name, points[-1].units)
        yield BoundedMetric(
            metric=metric,
            values=tuple(point.value for point in points),
            units=points[-1].units,
            baseline=baselines.get(key),
            history=before.get(key),
        )


def _open_alerts(group: _Group, alerts: Iterable[Alert]) -> str:
    """The open alerts about confirmed changes of earlier subjects, without improvements."""
    contender = _contender_runs(group)
    parts: list[str] = []
    for alert in alerts:
        rows = [
            row
            for row in alert.rows
            if (row.series_key, row.fingerprint) == (group.series_key, group.fingerprint)
        ]
        is_own = alert.run_id in contender.run_ids or alert.first_new in contender.subjects - {""}
        row = next((row for row in rows if row.metric in group.points), None)
        if row is None or is_own or not is_level_shift(alert) or alert.kind is AlertKind.IMPROVEMENT:
            continue
        since = f" since {short_subject(alert.first_new)}" if alert.first_new else ""
        what = f"{alert.kind}{since}, {row.metric} {effect_text(row.effect, row.interval)}"
        parts.append(f"an alert is open: {what}; see anubis alerts show {alert.id[:8]}")
    return "; ".join(parts)


def _note(group: _Group, measured: Mapping[tuple[str, str], set[str]]) -> str:
    """The metrics that were not compared, and why; empty if all were. ``measured``: series and metric -> machines."""
    compared = {side.metric for side in group.sides}
    missing = [metric for metric in group.points if metric not in compared]
    if not missing:
        return ""
    what = f"{len(missing)} metrics have" if len(missing) > 1 else f"{missing[0]} has"
    if group.is_given:
        return f"{what} no value in the baseline on this machine"
    if again := [metric for metric in missing if metric in group.same_subject]:
        what = f"{len(again)} metrics have" if len(again) > 1 else f"{again[0]} has"
        return (
            f"{what} no earlier values of another subject, only of {group.all_points[-1].subject}: set"
            ' subject.commit = "auto" in the descriptor, or name runs with --baseline'
        )
    machines = set[str]().union(*(measured.get((group.series_key, metric), set()) for metric in missing))
    if machines - {group.fingerprint}:
        return f"{what} no earlier values on this machine; values of other machines are not compared"
    return f"{what} no earlier values: this is the first measurement"
