"""The gate: runs of one subject against the level of their series before it, or against runs that somebody names."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isfinite, nextafter

from anubis.contracts.world import World
from anubis.judging.baseline import LOOKED_AT, Key, Level, Newcomer, levels
from anubis.judging.series import in_order, judged_metrics
from anubis.model.alert import AlertState
from anubis.model.identity import series_key
from anubis.model.ids import short_id
from anubis.model.points import Point, PointBlock
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.model.verdict import Comparison, Sides
from anubis.reporting.gate_report import Report, Weighing

#: Smaller effects do not count, unless a descriptor says otherwise.
MIN_EFFECT = 0.02
#: Runs below which a side needs the noise of its history.
FEW_RUNS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """Who meets whom."""

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
    #: Subject of the newest point of the baseline.
    baseline: str = ""
    note: str = ""

    @property
    def everything(self) -> list[Point]:
        return [point for points in self.points.values() for point in points]


def weigh(contests: Iterable[Contest], world: World, *, min_effect: float | None = None) -> Report:
    """Judge every metric of every contender; all of them are adjusted together for their number.

    ``min_effect`` stands for every metric; None: as the descriptor says, else ``MIN_EFFECT``. Runs that failed, on
    either side, are failures in the report and no evidence.
    """
    from anubis.analysis.samples.compare import compare_many  # noqa: PLC0415  numpy and scipy are needed only here
    from anubis.analysis.samples.multiplicity import mean_effect  # noqa: PLC0415

    weighings: list[Weighing] = []
    groups: list[_Group] = []
    for contest in contests:
        weighings += _failures(contest)
        groups += _opposed(contest, world, min_effect)
    verdicts = iter(compare_many(side for group in groups for side in group.sides).verdicts)
    for group, name in zip(groups, _names(groups), strict=True):
        own = tuple(next(verdicts) for _ in group.sides)
        effect, interval, count = mean_effect(own)
        comparison = Comparison(verdicts=own, mean_effect=effect, mean_interval=interval, mean_count=count)
        newest = max(group.everything, key=lambda point: point.order_s)
        weighings.append(
            Weighing(
                benchmark=name,
                baseline=group.baseline,
                contender=newest.subject,
                comparison=comparison if own else None,
                note=group.note,
            )
        )
    return Report(weighings=tuple(weighings))


def _failures(contest: Contest) -> Iterator[Weighing]:
    """One for each benchmark of which runs failed, with the words of the last of them."""
    for side, runs in (("contender", contest.contender), ("baseline", contest.baseline or ())):
        failed: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in runs:
            if run.status is not Status.SUCCEEDED:
                failed[run.descriptor.info.name, run.series_key].append(run)
        for (name, _), those in failed.items():
            last = those[-1]
            words = f"{last.cause}: {last.reason}" if last.cause else f"it is not over ({last.status})"
            subject = last.descriptor.subject
            yield Weighing(
                benchmark=name,
                baseline="",
                contender=subject.commit or subject.version or "",
                failure=f"{len(those)} of its {side}'s runs, the last of them {short_id(last.id)}, {words}",
            )


def _opposed(contest: Contest, world: World, min_effect: float | None) -> list[_Group]:
    """The contender's points, each with what it is compared with."""
    good = {run.id: run for run in contest.contender if run.status is Status.SUCCEEDED}
    groups = _groups(good, world.points.of(list(good)))
    if not groups:
        return []
    blocks = _blocks(groups, world)
    accepted = world.alerts.find(states=(AlertState.ACCEPTED,))
    before = levels(blocks, {(g.series_key, g.fingerprint): _newcomer(g) for g in groups}, accepted)
    opponents = before if contest.baseline is None else _named(contest.baseline, groups, world)
    measured: dict[tuple[str, str], set[str]] = defaultdict(set)
    for block in blocks:
        measured[block.series_key, block.metric].add(block.fingerprint)
    for group in groups:
        _oppose(group, opponents, before, min_effect)
        group.note = _note(group, measured, is_named=opponents is not before)
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
        group.points = {metric: group.points[metric] for metric in judged}
    return list(groups.values())


def _newcomer(group: _Group) -> Newcomer:
    points = group.everything
    return Newcomer(
        min(point.order_s for point in points),
        frozenset(point.subject for point in points),
        frozenset(point.run_id for point in points),
    )


def _blocks(groups: Sequence[_Group], world: World) -> Sequence[PointBlock]:
    """The histories of everything the contender measured, its own points among them."""
    runs = max(len(next(iter(group.points.values()))) for group in groups)
    latest_s = max(points[-1].order_s for group in groups for points in group.points.values())
    return world.points.histories(
        list({group.series_key for group in groups}),
        list({metric for group in groups for metric in group.points}),
        before_s=nextafter(latest_s, inf),
        most=LOOKED_AT + 2 * runs,
    )


def _named(runs: Sequence[Run], groups: Sequence[_Group], world: World) -> dict[Key, Level]:
    """The points of the baseline's runs, under the keys of the contender's series; one series meets one, whatever
    their names.
    """
    good = {run.id: run for run in runs if run.status is Status.SUCCEEDED}
    by_series: dict[str, list[Point]] = defaultdict(list)
    for point in in_order([point for point in world.points.of(list(good)) if isfinite(point.value)]):
        by_series[point.series_key].append(point)
    found: dict[Key, list[Point]] = defaultdict(list)
    theirs = {run.series_key: run for run in good.values()}
    ours = {group.series_key: group.run for group in groups}
    for key, run in ours.items():
        same = set(theirs) if len(theirs) == len(ours) == 1 else _same_benchmark(run, theirs)
        for point in in_order([point for other in same for point in by_series[other]]):
            found[key, point.fingerprint, point.metric, point.units].append(point)
    return {
        key: Level(tuple(point.value for point in those), those[-1].subject) for key, those in found.items()
    }


def _same_benchmark(run: Run, theirs: Mapping[str, Run]) -> set[str]:
    """The baseline's series that a run is compared with: its own, else those that differ in labels alone, else the
    only one of its name.
    """
    if run.series_key in theirs:
        return {run.series_key}
    named = {key: one for key, one in theirs.items() if one.descriptor.info.name == run.descriptor.info.name}
    alike = {key for key, one in named.items() if _without_labels(one) == _without_labels(run)}
    return alike or (set(named) if len(named) == 1 else set())


def _without_labels(run: Run) -> str:
    return series_key(replace(run.descriptor, info=replace(run.descriptor.info, labels={})))


def _oppose(
    group: _Group, opponents: dict[Key, Level], before: dict[Key, Level], min_effect: float | None
) -> None:
    own = {metric.name: metric for metric in group.run.descriptor.output.metrics}
    for name, points in group.points.items():
        newest = points[-1]
        key = (group.series_key, group.fingerprint, name, newest.units)
        if key not in opponents:
            continue
        baseline = opponents[key]
        threshold = own[name].threshold if name in own else None
        effect = min_effect if min_effect is not None else threshold.min_effect if threshold else None
        few = min(len(points), len(baseline.values)) < FEW_RUNS
        group.baseline = baseline.subject
        group.sides.append(
            Sides(
                metric=name,
                baseline=baseline.values,
                contender=tuple(point.value for point in points),
                units=newest.units,
                better=newest.better,
                min_effect=MIN_EFFECT if effect is None else effect,
                history=before[key].values if few and key in before else (),
            )
        )


def _note(group: _Group, measured: Mapping[tuple[str, str], set[str]], *, is_named: bool) -> str:
    """What was not compared, and why; empty when everything was. ``measured``: series and metric -> machines."""
    compared = {side.metric for side in group.sides}
    missing = [metric for metric in group.points if metric not in compared]
    if not missing:
        return ""
    what = f"{len(missing)} metrics have" if len(missing) > 1 else f"{missing[0]} has"
    if is_named:
        return f"{what} no value in the baseline on this machine"
    machines = set[str]().union(*(measured.get((group.series_key, metric), set()) for metric in missing))
    if machines - {group.fingerprint}:
        return f"{what} no earlier values on this machine, and those of other machines are not compared"
    return f"{what} no earlier values: these are the first of their history"


def _names(groups: Sequence[_Group]) -> Iterator[str]:
    """The name of each benchmark, with what tells it apart where several have that name."""
    names = Counter(group.run.descriptor.info.name for group in groups)
    keys = Counter(group.series_key for group in groups)
    for group in groups:
        name = group.run.descriptor.info.name
        parts = _cell(group.run) if names[name] > keys[group.series_key] else []
        if keys[group.series_key] > 1:
            parts.append(f"machine {group.fingerprint[:8]}")
        yield f"{name} ({', '.join(parts)})" if parts else name


def _cell(run: Run) -> list[str]:
    """What distinguishes a run in its family, or its labels if it belongs to none."""
    words = {
        name.rpartition(".")[2]: value for name, value in run.cell.items() if name not in {"round", "file"}
    }
    return [f"{name}={value}" for name, value in (words or run.descriptor.info.labels).items()]
