"""Axes: from values to positions, and the values at which an axis is labelled."""

import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from anubis.analysis.quantities import number

#: The largest value over the smallest from which an axis of positive values is logarithmic.
LOG_FROM = 20.0
#: Steps of an axis of time, in seconds, and the format of their labels (UTC).
_TIMES = (
    (60, "%H:%M"),
    (300, "%H:%M"),
    (900, "%H:%M"),
    (3600, "%H:%M"),
    (4 * 3600, "%d %b %H:%M"),
    (86_400, "%d %b"),
    (7 * 86_400, "%d %b"),
    (30 * 86_400, "%b %Y"),
    (91 * 86_400, "%b %Y"),
    (365 * 86_400, "%Y"),
)


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis from ``low`` to ``high`` that begins at pixel ``start`` and ends at pixel ``end``."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def at(self, value: float) -> float:
        """The pixel of a value; one outside of the axis is at its end."""
        value = min(max(value, self.low), self.high)
        if self.log:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:  # halved, because a difference of very large values is infinite
            share = (value / 2 - self.low / 2) / (self.high / 2 - self.low / 2)
        return self.start + share * (self.end - self.start)


def value_axis(values: Sequence[float], start: float, end: float, *, log: bool | None = None) -> Axis:
    """An axis for finite values with a small margin; logarithmic (None: if the values suggest it) if all are positive."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    positive = low > 0
    if positive and (high / low >= LOG_FROM if log is None else log) and high > low:
        margin = (high / low) ** 0.05
        least, most = low / margin, high * margin
        if least > 0 and math.isfinite(most) and math.isfinite(most / least):
            return Axis(least, most, start, end, log=True)
    margin = (high / 2 - low / 2) * 0.12 or abs(low) * 0.05 or 1.0
    if low - margin == low or high + margin == high:  # fewer digits than a float has between them
        margin = max(abs(low), abs(high)) * 1e-9 or 1.0
    bounds = [low - margin, high + margin]
    if positive and bounds[0] < 0:
        bounds[0] = 0.0
    limit = sys.float_info.max
    return Axis(max(bounds[0], -limit), min(bounds[1], limit), start, end)


def position_axis(low: float, high: float, start: float, end: float) -> Axis:
    """An axis for positions; one position is in its middle."""
    return Axis(low, high, start, end) if high > low else Axis(low - 1, low + 1, start, end)


def ticks(axis: Axis, most: int = 6) -> list[tuple[float, str]]:
    """Round values of an axis with their labels, ascending."""
    found = _powers(axis, most) if axis.log else []
    if len(found) >= 2:
        return [(value, number(value)) for value in found]
    step = _step(axis, most)
    first = math.ceil(axis.low / step)
    values = [(first + at) * step for at in range(most + 2)]
    inside = [value for value in values if axis.low <= value <= axis.high]
    decimals = max(0, -math.floor(math.log10(step) + 1e-9))
    return [(value, _label(value, decimals)) for value in inside]


def _label(value: float, decimals: int) -> str:
    if decimals > 6 or abs(value) >= 1e9:
        return f"{value:.9g}"
    return f"{value + 0.0:.{decimals}f}"


def _step(axis: Axis, most: int) -> float:
    """A step of 1, 2 or 5 times a power of ten with at most ``most`` steps on the axis."""
    rough = (axis.high / 2 - axis.low / 2) / most * 2
    power = 10.0 ** math.floor(math.log10(rough))
    step = next((power * factor for factor in (1, 2, 5, 10) if power * factor >= rough), power * 10)
    return step if step > 0 and math.isfinite(step) else rough


def _powers(axis: Axis, most: int) -> list[float]:
    """Powers of ten of a logarithmic axis, with 2 and 5 times them if there is room."""
    first, last = math.floor(math.log10(axis.low)), math.ceil(math.log10(axis.high))
    for factors in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        found = [
            factor * 10.0**power
            for power in range(max(first, -307), min(last, 307) + 1)
            for factor in factors
            if axis.low <= factor * 10.0**power <= axis.high
        ]
        if len(found) <= most + 2:
            return found
    return found[:: math.ceil(len(found) / most)]


def time_ticks(axis: Axis, most: int = 6) -> list[tuple[float, str]]:
    """Round times (UTC) of an axis with their labels; none for times outside of the calendar."""
    if not (axis.low >= 0 and axis.high < 253_402_300_800):
        return []
    span = axis.high - axis.low
    seconds, form = next(((each, form) for each, form in _TIMES if span / each <= most), _TIMES[-1])
    step = seconds * max(1, math.ceil(span / seconds / most))
    first = math.ceil(axis.low / step) * step
    values = [first + at * step for at in range(most + 1) if first + at * step <= axis.high]
    return [(value, time.strftime(form, time.gmtime(value))) for value in values]
