"""Fewer points for a chart, without losing what a reader looks for: extremes and gaps."""

import math
from collections.abc import Sequence


def kept(values: Sequence[float | None], most: int) -> list[int]:
    """The positions of at most ``most`` (at least 8) values, ascending.

    All values are divided into buckets of equal length. Each keeps its lowest and highest value, and one missing value if it has
    any; the first and last values are kept too. So a single outlier and a single gap remain visible.
    """
    count = len(values)
    if count <= max(8, most):
        return list(range(count))
    buckets = max(1, (max(8, most) - 2) // 3)
    found = {0, count - 1}
    for bucket in range(buckets):
        start, end = bucket * count // buckets, (bucket + 1) * count // buckets
        found.update(_extremes(values, start, end))
    return sorted(found)


def _extremes(values: Sequence[float | None], start: int, end: int) -> list[int]:
    low = high = missing = -1
    lowest, highest = math.inf, -math.inf
    for at in range(start, end):
        value = values[at]
        if value is None or not math.isfinite(value):
            missing = at
            continue
        if low < 0 or value < lowest:
            low, lowest = at, value
        if high < 0 or value > highest:
            high, highest = at, value
    return [at for at in (low, high, missing) if at >= 0]
