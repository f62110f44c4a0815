"""The scale on which samples are compared: logs if all values are positive, else differences."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from anubis.analysis.samples.spread import median

#: Largest log ratio whose ratio is finite in a double.
MAX_LOG = 709.0


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of the computation: logs, or differences in units of the baseline."""

    logs: bool
    #: Divisor of the values; a power of two for logs.
    unit: float

    def work(self, values: Sequence[float]) -> list[float]:
        """Sorted working values."""
        if self.logs:
            return sorted([math.log(value / self.unit) for value in values])
        return sorted([value / self.unit for value in values])

    def work_sessions(self, sessions: Sequence[Sequence[float]]) -> list[list[float]]:
        """Sorted working values of each session."""
        if all(len(session) == 1 for session in sessions):  # the most common case, as one list
            return [[self.value(session[0])] for session in sessions]
        return [self.work(session) for session in sessions]

    def value(self, value: float) -> float:
        """One working value."""
        return math.log(value / self.unit) if self.logs else value / self.unit

    def centre(self, values: Sequence[float]) -> float:
        """The working value of the median."""
        return self.value(median(sorted(values)))

    def effect(self, difference: float) -> float:
        """A difference of working values as a ratio minus one."""
        return math.expm1(min(difference, MAX_LOG)) if self.logs else difference

    def distance(self, effect: float) -> float:
        """The inverse of ``effect``."""
        if not self.logs:
            return effect
        return math.log1p(effect) if effect > -1 else -math.inf


def scale_of(
    baseline: Sequence[float], contender: Sequence[float] = (), history: Sequence[float] = ()
) -> Scale:
    """The scale on which two samples are compared: logs if all values are positive.

    Logs are those of multiples of a power of two below the least value: which values are equal after rounding then
    depends on their ratios only, not on the metric's unit.
    """
    everything = [*baseline, *contender, *history]
    least = min(everything, default=1.0)
    if least > 0:
        unit = math.ldexp(1.0, math.frexp(least)[1] - 1)
        return Scale(logs=True, unit=unit if max(everything, default=1.0) / unit < math.inf else 1.0)
    largest = max(abs(value) for value in everything)
    middles = (abs(median(sorted(side))) for side in (baseline, contender) if len(side))
    unit = next((middle for middle in middles if middle > 0), largest) or 1.0
    return Scale(logs=False, unit=max(unit, largest * 1e-100))
