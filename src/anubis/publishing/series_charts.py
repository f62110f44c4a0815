"""From the overview of a series to its chart."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import median

from anubis.analysis.quantities import effect_text
from anubis.judging.series_overview import SeriesOverview
from anubis.model.alert import Alert, AlertState
from anubis.model.series import ChangePoint, ChangeState
from anubis.publishing.series_words import WORDS, words_of
from anubis.reporting.charts.data import (
    BaselineMark,
    ChangeMark,
    ChartPoint,
    LevelMark,
    SeriesChart,
    Tone,
)

#: Most points of a normal distribution lie within so many median absolute deviations of its median: 95 %.
_BAND = 1.4826 * 1.96


def chart_of(
    one: SeriesOverview,
    *,
    alerts: Iterable[Alert] = (),
    measured: Collection[tuple[float, str]] = (),
    by_time: bool = False,
) -> SeriesChart:
    """The chart of a series by its positions, or by time.

    ``alerts`` are those of its benchmark: accepted ones are baselines. ``measured`` are (position, subject) of other metrics of
    the same runs: where this metric has no value, the chart has a gap.
    """
    own = {point.order_s for point in one.points}
    places = sorted(
        [(point.order_s, number, point.subject) for number, point in enumerate(one.points)]
        + [(order_s, -1, subject) for order_s, subject in measured if order_s not in own]
    )
    points, x_of = [], {}
    for at, (order_s, number, subject) in enumerate(places):
        x = order_s if by_time else float(at)
        if number < 0:
            points.append(ChartPoint(x=x, value=None, label=subject))
            continue
        point = one.points[number]
        x_of[number] = x
        points.append(
            ChartPoint(x=x, value=point.value, label=subject, disturbed=point.contaminated, run=point.run_id)
        )
    last, words = one.points[-1], words_of(one)
    return SeriesChart(
        title=last.metric,
        description=f"{words.word}: {words.sentence}",
        units=last.units,
        better=last.better,
        points=tuple(points),
        levels=tuple(_levels(one, [x_of[at] for at in range(len(one.points))])),
        changes=tuple(_marks(one, [x_of[at] for at in range(len(one.points))])),
        baselines=tuple(_baselines(one, alerts, x_of)),
        time_axis=by_time,
    )


def measured_together(one: SeriesOverview, others: Iterable[SeriesOverview]) -> set[tuple[float, str]]:
    """Position and subject of all runs of the same series and machine, by any of its metrics."""
    key = one.points[-1].series_key, one.points[-1].fingerprint
    return {
        (point.order_s, point.subject)
        for other in others
        if (other.points[-1].series_key, other.points[-1].fingerprint) == key
        for point in other.points
    }


def _levels(one: SeriesOverview, xs: Sequence[float]) -> Iterator[LevelMark]:
    """One level between changes with its band; the modes after the last change if there is no stable level."""
    found = one.verdict.instability
    for start, end in pairwise([0, *(change.index for change in one.verdict.changes), len(one.points)]):
        values = [point.value for point in one.points[start:end]]
        if found is not None and end == len(one.points):
            for mode in found.modes:
                yield LevelMark(start=xs[start], end=xs[end - 1], value=mode.level)
            continue
        centre = median(values)
        width = _BAND * median(abs(value - centre) for value in values)
        known = len(values) >= 4
        yield LevelMark(
            start=xs[start],
            end=xs[end - 1],
            value=centre,
            low=centre - width if known else None,
            high=centre + width if known else None,
        )


def _marks(one: SeriesOverview, xs: Sequence[float]) -> Iterator[ChangeMark]:
    shifts: list[ChangePoint] = [*one.verdict.changes]
    if one.verdict.suspected is not None:
        shifts.append(one.verdict.suspected)
    for change in shifts:
        suspected = change.state is ChangeState.SUSPECTED
        text = effect_text(change.effect, None)
        last = len(xs) - 1
        yield ChangeMark(
            x=xs[min(change.index, last)],
            earliest=xs[min(change.earliest, last)],
            latest=xs[min(change.latest, last)],
            tone=Tone.UNSURE if suspected else WORDS[change.judgement][1],
            text=f"{text} suspected" if suspected else text,
        )


def _baselines(
    one: SeriesOverview, alerts: Iterable[Alert], x_of: dict[int, float]
) -> Iterator[BaselineMark]:
    at = {point.run_id: number for number, point in enumerate(one.points)}
    last = one.points[-1]
    for alert in alerts:
        is_own = any(
            (row.series_key, row.fingerprint, row.metric) == (last.series_key, last.fingerprint, last.metric)
            for row in alert.rows
        )
        if alert.state is AlertState.ACCEPTED and is_own and alert.run_id in at:
            why = f"accepted baseline: {alert.why}" if alert.why else "accepted baseline"
            yield BaselineMark(x=x_of[at[alert.run_id]], text=why)
