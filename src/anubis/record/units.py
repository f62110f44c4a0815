"""The table of units that can be converted into each other."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict, List, Optional, Tuple

#: The unit of a plain number, and of a value that was given without one.
NO_UNITS = "none"
#: Units of one quantity, each as a fraction of the first unit of its row. Spellings with several meanings are left out,
#: such as KB and m.
_SCALES: "List[Dict[str, Tuple[int, int]]]" = [
    {
        "s": (1, 1), "sec": (1, 1), "second": (1, 1), "seconds": (1, 1),
        "ms": (1, 10**3), "msec": (1, 10**3), "milliseconds": (1, 10**3),
        "us": (1, 10**6), "usec": (1, 10**6), "µs": (1, 10**6), "μs": (1, 10**6), "microseconds": (1, 10**6),
        "ns": (1, 10**9), "nsec": (1, 10**9), "nanoseconds": (1, 10**9),
        "min": (60, 1), "minutes": (60, 1), "h": (3600, 1), "hours": (3600, 1),
    },
    {
        "bytes": (1, 1), "B": (1, 1), "byte": (1, 1),
        "kB": (10**3, 1), "MB": (10**6, 1), "GB": (10**9, 1), "TB": (10**12, 1),
        "KiB": (1 << 10, 1), "MiB": (1 << 20, 1), "GiB": (1 << 30, 1), "TiB": (1 << 40, 1),
    },
    {"Hz": (1, 1), "kHz": (10**3, 1), "MHz": (10**6, 1), "GHz": (10**9, 1)},
]  # fmt: skip
_TABLE = {unit: (row, fraction) for row, units in enumerate(_SCALES) for unit, fraction in units.items()}


def ratio(units: str, to: str) -> "Optional[Tuple[int, int]]":
    """The fraction by which values in ``units`` are multiplied to be in the unit ``to``; None if that is not possible.

    Rates are converted too: MB/s to GB/s.
    """
    if units == to:
        return 1, 1
    one, _, per = units.partition("/")
    other, _, other_per = to.partition("/")
    if per != other_per or one not in _TABLE or other not in _TABLE:
        return None
    (row, (above, below)), (other_row, (other_above, other_below)) = _TABLE[one], _TABLE[other]
    return (above * other_below, below * other_above) if row == other_row else None


def conflict(metric: str, units: str, other: str) -> str:
    """What is wrong if values of one metric are in two units."""
    return f'metric "{metric}" has values in "{units}" and in "{other}", which cannot be converted'
