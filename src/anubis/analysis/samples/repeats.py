"""Standard errors of points from the repeats of their runs."""

import math
import statistics
from collections.abc import Sequence

#: Weight of the repeats of the other runs in the variance of a run, in degrees of freedom.
_OTHERS = 4


def repeat_errors(
    values: Sequence[float], spreads: Sequence[float | None], counts: Sequence[int]
) -> tuple[float, ...]:
    """The standard error of each value, from the standard deviations and the numbers of repeats; () if all are unknown.

    The variance of few repeats is shrunk towards that of the repeats of the other runs, and a single repeat has theirs:
    its error is unknown, not zero. Variances are compared as ratios of the squared value if all values are positive.
    """
    units = [abs(value) for value in values] if min(values, default=0.0) > 0 else [1.0] * len(values)
    known = [
        (spread / unit) ** 2 if spread is not None and count > 1 else None
        for spread, unit, count in zip(spreads, units, counts, strict=True)
    ]
    typical = [
        variance / _median_ratio(count - 1)
        for variance, count in zip(known, counts, strict=True)
        if variance is not None
    ]
    if not any(typical):
        return ()
    pooled = statistics.median(typical)
    return tuple(
        unit * math.sqrt(_shrunk(variance, count - 1, pooled) / count)
        for variance, count, unit in zip(known, counts, units, strict=True)
    )


def _shrunk(variance: float | None, freedom: int, pooled: float) -> float:
    if variance is None:
        return pooled
    return (_OTHERS * pooled + freedom * variance) / (_OTHERS + freedom)


def _median_ratio(freedom: int) -> float:
    """The median of a variance estimate over the variance, for normal noise (Wilson & Hilferty 1931, PNAS 17:684-688)."""
    return (1 - 2 / (9 * freedom)) ** 3
