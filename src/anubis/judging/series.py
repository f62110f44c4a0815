"""From points to series: one for each metric and kind of machine, in subject order."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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


def series_of(points: Sequence[Point]) -> Series:
    """One series from ordered points. The error of a point is the standard error of the mean of its repeats."""
    latest = points[-1]
    return Series(
        values=tuple(point.value for point in points),
        errors=tuple(
            point.spread / math.sqrt(point.count) if point.spread is not None else 0.0 for point in points
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
    declared = {metric.name for metric in descriptor.output.metrics}
    of_benchmark = [metric for metric in metrics if metric in declared or metric not in OWN_METRICS]
    return of_benchmark or list(metrics)


def is_unstable(points: Sequence[Point], verdict: SeriesVerdict) -> bool:
    """Whether the level changed among the recent points while the subject stayed the same (a failed A/A comparison).

    The change counts only if its whole range of possible positions has one subject. Such a series reflects its machine
    or environment rather than its subject. It is stable again after ``RECENT`` points without such a change.
    """
    for change in verdict.changes:
        subjects = {point.subject for point in points[change.earliest - 1 : change.latest + 1]}
        if change.index >= len(points) - RECENT and len(subjects) == 1 and "" not in subjects:
            return True
    return False
