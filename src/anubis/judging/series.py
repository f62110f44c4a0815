"""From points to series: one for each metric and kind of machine, in subject order."""

import statistics
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from anubis.analysis.samples.repeats import repeat_errors
from anubis.model.descriptor import Descriptor
from anubis.model.points import OWN_METRICS, Point
from anubis.model.series import ChangePoint, Series, SeriesVerdict

#: Changes within this many newest points are recent; older changes raise no alert.
RECENT = 40


def in_order(points: Sequence[Point]) -> list[Point]:
    """The points in subject order; runs of one subject in the order of their submission."""
    return sorted(points, key=lambda point: (point.order_s, point.run_id))


def by_series(points: Sequence[Point]) -> Mapping[tuple[str, str, str], list[Point]]:
    """Points grouped by series key, fingerprint and metric; each group is in order."""
    groups: dict[tuple[str, str, str], list[Point]] = defaultdict(list)
    for point in in_order(points):
        groups[point.series_key, point.fingerprint, point.metric].append(point)
    return groups


def names_one_code(subject: str) -> bool:
    """Whether all runs of the subject measured the same code: it is known and had no changes outside of it."""
    return bool(subject) and not subject.endswith("-dirty")


def series_of(points: Sequence[Point]) -> Series:
    """One series from ordered points, with the standard errors of the repeats of their runs.

    The spread of a point over several runs is not one of repeats: like a single repeat it has the error of the others.
    """
    latest = points[-1]
    return Series(
        values=tuple(point.value for point in points),
        errors=repeat_errors(
            [point.value for point in points],
            [point.spread if point.runs == 1 else None for point in points],
            [point.count for point in points],
        ),
        subjects=tuple(point.subject for point in points),
        metric=latest.metric,
        units=latest.units,
        better=latest.better,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectRange:
    """The subjects between which a level changed; empty texts where they are unknown."""

    #: On both sides of the most probable position.
    last_old: str
    first_new: str
    #: The range that contains the position with 95 % confidence; empty if it is the same.
    earliest_old: str
    latest_new: str


def subject_range(points: Sequence[Point], change: ChangePoint) -> SubjectRange:
    """The subjects between which a change of a series lies."""
    last_old, first_new = points[change.index - 1].subject, points[change.index].subject
    wide = points[max(0, change.earliest - 1)].subject, points[change.latest].subject
    earliest_old, latest_new = ("", "") if wide == (last_old, first_new) else wide
    return SubjectRange(
        last_old=last_old, first_new=first_new, earliest_old=earliest_old, latest_new=latest_new
    )


def judged_metrics(descriptor: Descriptor, metrics: Sequence[str]) -> list[str]:
    """The metrics that are judged: all metrics of the benchmark.

    The metrics that the agent adds to every run are judged only if they are declared or if there are no others.
    """
    declared = {metric.name for metric in descriptor.metrics}
    of_benchmark = [metric for metric in metrics if metric in declared or metric not in OWN_METRICS]
    return of_benchmark or list(metrics)


def is_unstable(points: Sequence[Point], verdict: SeriesVerdict) -> bool:
    """Whether the series has no stable level, or its level changed while the subject stayed the same.

    The latter is a failed A/A comparison among the recent points. The change counts only if its whole range of possible positions has one subject. Such a series reflects its machine
    or environment rather than its subject. It is stable again after ``RECENT`` points without such a change.
    """
    if verdict.instability is not None:
        return True
    for change in verdict.changes:
        subjects = {point.subject for point in points[change.earliest - 1 : change.latest + 1]}
        if change.index >= len(points) - RECENT and len(subjects) == 1 and "" not in subjects:
            return True
    return False


def session_units(points: Sequence[Point]) -> list[list[Point]]:
    """The runs of each subject in each session together; other runs each alone."""
    units: dict[tuple[str, ...], list[Point]] = {}
    for point in points:
        is_unit = point.session and names_one_code(point.subject)
        units.setdefault((point.subject, point.session) if is_unit else (point.run_id,), []).append(point)
    return list(units.values())


def subject_points(points: Sequence[Point]) -> list[Point]:
    """Ordered points in which measuring an old subject again adds no point, so that it does not blur the series.

    Runs that were made after a run of a later position are part of the last point of their subject from before; if
    there is none, all of them are one point. Runs of unknown subjects, or with changes outside of the subject, remain.
    """
    if len({(point.subject, point.order_s) for point in points}) == len(points):
        return list(points)  # the usual series: no subject was measured twice
    units: dict[tuple[str, float] | str, list[Point]] = {}
    first_later = _first_later(points)
    last: dict[tuple[str, float], str] = {}
    for point in points:
        if point.run_id < first_later[point.order_s]:
            last[point.subject, point.order_s] = point.run_id
    for point in points:
        subject = (point.subject, point.order_s)
        is_late = point.run_id >= last.get(subject, "") and names_one_code(point.subject)
        units.setdefault(subject if is_late else point.run_id, []).append(point)
    return [_summary(unit) if len(unit) > 1 else unit[0] for unit in units.values()]


def _first_later(points: Sequence[Point]) -> dict[float, str]:
    """For each position the first id of a run at a later one. Ids are in the order of submission."""
    none = "~"  # after every id
    first: dict[float, str] = {}
    for point in points:
        first[point.order_s] = min(first.get(point.order_s, none), point.run_id)
    later, result = none, {}
    for order_s in sorted(first, reverse=True):
        result[order_s] = later
        later = min(later, first[order_s])
    return result


def _summary(unit: Sequence[Point]) -> Point:
    """One point for several runs: the median over sessions of their medians, and the spread of the runs.

    Two sessions have no robust centre: the value is then that of the first, which was measured with its neighbours.
    """
    sessions: dict[str, list[float]] = defaultdict(list)
    for point in unit:
        sessions[point.session or point.run_id].append(point.value)
    values = [point.value for point in unit]
    medians = [statistics.median(each) for each in sessions.values()]
    return replace(
        unit[0],
        value=statistics.median(medians) if len(medians) > 2 else medians[0],
        spread=statistics.stdev(values),
        count=len(values),
        runs=len(values),
        contaminated=any(point.contaminated for point in unit),
    )
