"""Bounds from descriptors: which of them a value crosses."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from anubis.analysis.quantities import apart, percent
from anubis.model.alert import AlertKind, AlertRow
from anubis.model.metric import Better, Metric, Threshold
from anubis.model.points import Point
from anubis.model.series import SeriesVerdict
from anubis.model.verdict import CrossedBound

BOUNDS = ("min", "max", "sigma", "change")
RELATIVE = ("sigma", "change")


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The level to which a relative bound refers."""

    #: In the metric's unit.
    level: float
    #: Standard deviation of one value around the level, as a ratio; None if unknown.
    noise_floor: float | None


def crossed_bounds(
    metric: Metric, value: float, units: str, references: Mapping[str, Reference]
) -> Iterator[CrossedBound]:
    """The bounds of a metric that a value crosses.

    ``references`` are the references of the relative bounds, by bound; a relative bound without one is not checked.
    """
    bounds = metric.threshold or Threshold()
    if bounds.min is not None and value < bounds.min:
        yield _absolute(metric, "min", value, bounds.min, units)
    if bounds.max is not None and value > bounds.max:
        yield _absolute(metric, "max", value, bounds.max, units)
    for bound in RELATIVE:
        reference = references.get(bound)
        if reference is None or not reference.level:
            continue
        if note := _beyond(bound, value, units, reference, metric):
            yield CrossedBound(
                metric=metric.name,
                units=units,
                bound=bound,
                value=value,
                reference=reference.level,
                noise_floor=reference.noise_floor,
                note=note,
            )


def references_of(
    metric: Metric, before: SeriesVerdict | None, open_rows: Mapping[str, AlertRow]
) -> dict[str, Reference]:
    """The references of the relative bounds for a run.

    ``before`` is the verdict of its series without it. ``open_rows`` are the rows of bounds that were crossed before, by
    name: after a change for the worse a bound stays relative to the level before that change, even if the level of the
    series has changed since.
    """
    found: dict[str, Reference] = {}
    for bound in RELATIVE:
        since = open_rows.get(bound)
        if since is not None and _worsening(since.effect, metric.better) > 0:
            found[bound] = Reference(level=since.before, noise_floor=since.noise_floor)
        elif before is not None and before.level is not None:
            found[bound] = Reference(level=before.level, noise_floor=before.noise_floor)
    return found


def alert_row(point: Point, crossed: CrossedBound) -> AlertRow:
    """The row of the alert of a crossed bound."""
    reference = crossed.reference
    return AlertRow(
        series_key=point.series_key,
        fingerprint=point.fingerprint,
        metric=point.metric,
        units=point.units,
        better=point.better,
        kind=AlertKind.THRESHOLD,
        effect=(point.value - reference) / abs(reference) if reference else 0.0,
        interval=None,
        before=reference,
        after=point.value,
        n_before=0,
        n_after=1,
        noise_floor=crossed.noise_floor,
        note=crossed.note,
    )


def _worsening(effect: float, better: Better) -> float:
    """The effect in the worse direction; for a metric without direction, its size."""
    return {Better.HIGHER: -effect, Better.LOWER: effect, Better.NONE: abs(effect)}[better]


def _absolute(metric: Metric, bound: str, value: float, limit: float, units: str) -> CrossedBound:
    _, text = apart(value, limit, units)
    side = "below its minimum" if bound == "min" else "above its maximum"
    return CrossedBound(
        metric=metric.name,
        units=units,
        bound=bound,
        value=value,
        reference=limit,
        note=f"{side} of {text}",
    )


def _beyond(bound: str, value: float, units: str, reference: Reference, metric: Metric) -> str:
    """Text that says how far a value is beyond a relative bound; empty if it is not."""
    bounds = metric.threshold or Threshold()
    effect = (value - reference.level) / abs(reference.level)
    if bounds.min_effect is not None and abs(effect) < bounds.min_effect:
        return ""
    _, text = apart(value, reference.level, units)
    level, noise = f"its level of {text}", reference.noise_floor
    if bound == "sigma" and bounds.sigma is not None and noise and abs(effect) > bounds.sigma * noise:
        return f"{abs(effect) / noise:.1f} sigma from {level} (limit {bounds.sigma:g})"
    if bound == "change" and bounds.change is not None and _worsening(effect, metric.better) > bounds.change:
        return f"{percent(effect, sign=True)} % from {level} (limit {percent(bounds.change)} %)"
    return ""
