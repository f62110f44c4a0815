"""Bounds from descriptors, checked for every run until no descriptor sets them any more."""

from collections.abc import Iterator, Mapping

from anubis.analysis.verdict_text import percent
from anubis.model.alert import AlertKind, AlertRow
from anubis.model.metric import Better, Metric, Threshold
from anubis.model.points import Point
from anubis.model.series import SeriesVerdict

BOUNDS = ("min", "max", "sigma", "change")


def crossed_bounds(
    metric: Metric, point: Point, before: SeriesVerdict | None, open_rows: Mapping[str, AlertRow]
) -> Iterator[tuple[str, AlertRow]]:
    """The bounds that a point crosses, by name.

    ``before`` is the verdict of the series without this point; relative bounds need its level and are not checked
    without it. ``open_rows`` are the rows of bounds that were crossed before, by name: after a change for the worse the
    bound stays relative to the level before that change, even if the level of the series has changed since.
    """
    bounds = metric.threshold or Threshold()
    if bounds.min is not None and point.value < bounds.min:
        yield "min", _row(point, bounds.min, None, f"below its minimum of {bounds.min:g} {point.units}")
    if bounds.max is not None and point.value > bounds.max:
        yield "max", _row(point, bounds.max, None, f"above its maximum of {bounds.max:g} {point.units}")
    for bound in ("sigma", "change"):
        since = open_rows.get(bound)
        if since is not None and _worse(since.effect, metric.better) > 0:
            level, noise = since.before, since.noise_floor
        elif before is not None and before.level is not None:
            level, noise = before.level, before.noise_floor
        else:
            continue
        if level and (note := _beyond(bound, point.value / level - 1, noise, bounds, metric.better)):
            yield bound, _row(point, level, noise, note)


def _beyond(bound: str, effect: float, noise: float | None, bounds: Threshold, better: Better) -> str:
    """Text that says how far an effect is beyond a relative bound; empty if it is not."""
    if bounds.min_effect is not None and abs(effect) < bounds.min_effect:
        return ""
    if bound == "sigma" and bounds.sigma is not None and noise and abs(effect) > bounds.sigma * noise:
        return f"{abs(effect) / noise:.1f} sigma from its level (limit {bounds.sigma:g})"
    if bound == "change" and bounds.change is not None and _worse(effect, better) > bounds.change:
        return f"{percent(effect, sign=True)} % from its level (limit {percent(bounds.change)} %)"
    return ""


def _worse(effect: float, better: Better) -> float:
    """The effect in the worse direction; for a metric without direction, its size."""
    return {Better.HIGHER: -effect, Better.LOWER: effect, Better.NONE: abs(effect)}[better]


def _row(point: Point, reference: float, noise_floor: float | None, note: str) -> AlertRow:
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
        noise_floor=noise_floor,
        note=note,
    )
