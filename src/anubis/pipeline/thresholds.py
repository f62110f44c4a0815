"""Bounds of descriptors: checked for every run, gone when no descriptor lists them any more."""

from collections.abc import Iterator

from anubis.analysis.wording import percent
from anubis.model.alert import AlertKind, AlertRow
from anubis.model.metric import Better, Metric, Threshold
from anubis.model.points import Point
from anubis.model.series import SeriesVerdict

BOUNDS = ("min", "max", "sigma", "change")


def crossed(metric: Metric, point: Point, before: SeriesVerdict | None) -> Iterator[tuple[str, AlertRow]]:
    """The bounds that a point crosses, by name. ``before`` judges the series without this point; relative bounds
    need its level, and are silent while there is none.
    """
    bounds = metric.threshold or Threshold()
    if bounds.min is not None and point.value < bounds.min:
        yield "min", _row(point, bounds.min, f"below its minimum of {bounds.min:g} {point.units}")
    if bounds.max is not None and point.value > bounds.max:
        yield "max", _row(point, bounds.max, f"above its maximum of {bounds.max:g} {point.units}")
    if before is None or not before.level:
        return
    effect = point.value / before.level - 1
    if bounds.min_effect is not None and abs(effect) < bounds.min_effect:
        return
    if bounds.sigma is not None and before.noise_floor and abs(effect) > bounds.sigma * before.noise_floor:
        words = f"{abs(effect) / before.noise_floor:.1f} sigma from its level (limit {bounds.sigma:g})"
        yield "sigma", _row(point, before.level, words)
    if bounds.change is not None and _worse(effect, metric.better) > bounds.change:
        words = f"{percent(effect, sign=True)} % from its level (limit {percent(bounds.change)} %)"
        yield "change", _row(point, before.level, words)


def _worse(effect: float, better: Better) -> float:
    """How much for the worse; for a metric without direction every change is."""
    return {Better.HIGHER: -effect, Better.LOWER: effect, Better.NONE: abs(effect)}[better]


def _row(point: Point, reference: float, note: str) -> AlertRow:
    return AlertRow(
        series_key=point.series_key,
        fingerprint=point.fingerprint,
        metric=point.metric,
        units=point.units,
        better=point.better,
        kind=AlertKind.THRESHOLD,
        effect=point.value / reference - 1 if reference else 0.0,
        interval=None,
        before=reference,
        after=point.value,
        n_before=0,
        n_after=1,
        note=note,
    )
