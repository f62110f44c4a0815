"""Points become series: one for each metric and kind of machine, in subject order."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from anubis.model.descriptor import Descriptor
from anubis.model.points import OWN_METRICS, Point
from anubis.model.series import Series, SeriesVerdict

#: Changes further back than this many points are history, not news.
RECENT = 40


def in_order(points: Sequence[Point]) -> list[Point]:
    """Subject order; runs of one subject in the order of their submission."""
    return sorted(points, key=lambda point: (point.order_s, point.run_id))


def by_series(points: Sequence[Point]) -> Mapping[tuple[str, str, str], list[Point]]:
    """Points of several series apart, each in order, by series key, fingerprint and metric."""
    apart: dict[tuple[str, str, str], list[Point]] = defaultdict(list)
    for point in in_order(points):
        apart[point.series_key, point.fingerprint, point.metric].append(point)
    return apart


def series_of(points: Sequence[Point]) -> Series:
    """One series of points that are in order. The error of a point is that of the mean of its repeats."""
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


def judged_metrics(descriptor: Descriptor, metrics: Sequence[str]) -> list[str]:
    """Which metrics verdicts are made of: all that the benchmark gives, the agent's own only where they are declared
    or there are no others.
    """
    declared = {metric.name for metric in descriptor.output.metrics}
    given = [metric for metric in metrics if metric in declared or metric not in OWN_METRICS]
    return given or list(metrics)


def is_unstable(points: Sequence[Point], verdict: SeriesVerdict) -> bool:
    """Whether the level changed while the subject stayed the same (an A/A comparison that differs), among the recent
    points and beyond doubt about where.

    Such a series tells of its machine or surroundings, not of its subject. It is stable again when that has not
    happened for ``RECENT`` points.
    """
    for change in verdict.changes:
        subjects = {point.subject for point in points[change.earliest - 1 : change.latest + 1]}
        if change.index >= len(points) - RECENT and len(subjects) == 1 and "" not in subjects:
            return True
    return False
