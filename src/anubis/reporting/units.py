"""Text of quantities for people: numbers with units, durations, sizes, shares and times."""

import math
import time

from anubis.analysis.quantities import number, percent, scale_of

#: Seconds in the smaller unit, its count in the larger one, the count from which the next row applies, both names.
_LONG = ((1, 60, 3600, "min", "s"), (60, 60, 1440, "h", "min"), (3600, 24, math.inf, "d", "h"))
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def with_unit(value: float, units: str) -> str:
    """A number and its unit: ``912.4 img/s``, ``12.3 ms``; the unit ``none`` is not shown."""
    factor, unit = scale_of(value, units)
    return f"{number(value * factor)} {unit}".rstrip()


def duration(seconds: float) -> str:
    """Three significant digits below a minute, then the two largest units: ``12.3 ms``, ``4 min 9 s``."""
    if seconds < 0:
        return f"-{duration(-seconds)}"
    if seconds == 0:
        return "0 s"
    for unit, factor in (("ns", 1e9), ("us", 1e6), ("ms", 1e3), ("s", 1.0)):
        rounded = float(f"{seconds * factor:.3g}")
        if rounded < (60 if unit == "s" else 1000):
            return f"{rounded:.{_decimals(rounded)}f} {unit}"
    for small_s, per_large, limit, large, small in _LONG:
        count = round(seconds / small_s)
        if count < limit:
            rest = count % per_large
            return f"{count // per_large} {large}" + (f" {rest} {small}" if rest else "")
    raise AssertionError(seconds)  # the last limit is infinite


def size(count: float) -> str:
    """Bytes with a binary prefix: ``1.46 KiB``."""
    amount = float(count)
    for unit in _BYTE_UNITS:
        rounded = float(f"{amount:.3g}") if amount < 1000 else float(round(amount))
        if rounded < 1024 or unit == _BYTE_UNITS[-1]:
            break
        amount /= 1024
    return f"{rounded:.0f} {unit}" if unit == "B" else f"{rounded:.{_decimals(rounded)}f} {unit}"


def _decimals(rounded: float) -> int:
    """Decimal places for three significant digits."""
    return 2 if rounded < 10 else 1 if rounded < 100 else 0


def share(ratio: float, *, sign: bool = False) -> str:
    """A ratio in per cent: 0.0213 is ``2.1 %``."""
    return f"{percent(ratio, sign=sign, digits=2 if 0 < abs(ratio) < 0.001 else 1)} %"


def moment(at_s: float) -> str:
    """Local time, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at_s))


def short_moment(at_s: float, *, now_s: float) -> str:
    """Local time in at most eleven characters: month, day and time in the current year, else the date."""
    at, now = time.localtime(at_s), time.localtime(now_s)
    return time.strftime("%m-%d %H:%M" if at.tm_year == now.tm_year else "%Y-%m-%d", at)


def exact_moment(at_s: float) -> str:
    """Local time, to the millisecond."""
    whole, thousandths = divmod(round(at_s * 1000), 1000)
    return f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(whole))}.{thousandths:03d}"


def counted(count: int, noun: str) -> str:
    """A number and its noun: ``1 run``, ``2 runs``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
