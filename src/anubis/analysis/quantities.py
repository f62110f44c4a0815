"""Text of values, levels and effects: one form and one unit in tables, verdicts and alerts."""

import math
from collections.abc import Sequence

#: Upper limit in seconds (exclusive), factor and unit.
_SECONDS = ((1e-6, 1e9, "ns"), (1e-3, 1e6, "us"), (1.0, 1e3, "ms"))
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
#: Numbers of significant digits that are tried until two different values have different texts.
_DIGITS = (6, 9, 17)


def percent(ratio: float, *, sign: bool = False, digits: int = 1) -> str:
    """A ratio in per cent, without the percent sign: -0.0441 is "-4.4"."""
    value = 100 * ratio
    if abs(value) >= 1e5:
        return f"{value:+.2g}" if sign else f"{value:.2g}"
    text = f"{value:+.{digits}f}" if sign else f"{value:.{digits}f}"
    return text if float(text) else f"{0:.{digits}f}"


def level_text(value: float | None) -> str:
    """A value with four significant digits or its whole part; with an exponent only if it is very large or small."""
    if value is None:
        return "none"
    size = abs(value)
    if value == 0:
        return "0"
    if not 1e-4 <= size < 1e12:
        return f"{value:.4g}"
    decimals = max(0, 3 - math.floor(math.log10(size)))
    return f"{value:.{decimals}f}"


def number(value: float) -> str:
    """A whole number as it is; else four significant digits or the whole part, as in verdicts."""
    if math.isfinite(value) and value == int(value) and abs(value) < 1e12:
        return str(int(value))
    return level_text(value) if math.isfinite(value) else str(value)


def scale_of(value: float, units: str) -> tuple[float, str]:
    """A factor and a unit that make seconds and bytes of this size readable; other units are not changed."""
    size = abs(value)
    if units == "s":
        return next(((factor, unit) for least, factor, unit in _SECONDS if 0 < size < least), (1.0, "s"))
    if units == "bytes":
        power = min(int(math.log2(size) / 10), len(_BYTE_UNITS) - 1) if 1 <= size < math.inf else 0
        return 1024.0**-power, _BYTE_UNITS[power]
    return 1.0, "" if units == "none" else units


def common_scale(values: Sequence[float | None], units: str) -> tuple[float, str]:
    """The scale of values that are shown together: that of the largest."""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value)]
    return scale_of(max(sizes, default=0.0), units)


def levels_text(before: float | None, after: float | None, units: str) -> str:
    """Two levels in one unit: ``912.4 -> 871.9 img/s``."""
    factor, unit = common_scale((before, after), units)
    old, new = (level_text(None if value is None else value * factor) for value in (before, after))
    return f"{old} -> {new} {unit}".rstrip()


def apart(value: float, other: float, units: str) -> tuple[str, str]:
    """Two values with their unit, with as many digits as distinguish them: ``49.99 ms`` and ``50 ms``."""
    factor, unit = common_scale((value, other), units)
    texts = [number(each * factor) for each in (value, other)]
    for digits in _DIGITS:
        if float(texts[0]) != float(texts[1]) or value == other:
            break
        texts = [f"{each * factor:.{digits}g}" for each in (value, other)]
    one, two = (f"{text} {unit}".rstrip() for text in texts)
    return one, two


def effect_text(effect: float, interval: tuple[float, float] | None) -> str:
    """An effect with its interval, in per cent: ``-4.4 % [-5.8, -3.1]``."""
    digits = _digits(effect)
    text = f"{percent(effect, sign=True, digits=digits)} %"
    if interval is None:
        return text
    low, high = (percent(end, sign=True, digits=digits) for end in interval)
    return f"{text} [{low}, {high}]"


def effect_between(
    before: float | None,
    after: float | None,
    effect: float,
    interval: tuple[float, float] | None,
    estimator: str,
) -> str:
    """The effect as it is printed beside two medians.

    If it differs from the ratio of the medians, its estimator and that ratio follow:
    ``+93.5 % [+88.1, +99.2] (Hodges-Lehmann; medians +64.3 %)``.
    """
    text = effect_text(effect, interval)
    if before is None or after is None or before == after == 0:
        return text
    if before == 0:
        return f"{text} (relative to the contender)"
    ratio, digits = (after - before) / abs(before), _digits(effect)
    if abs(effect - ratio) <= 10.0 ** -(digits + 2):
        return text
    return f"{text} ({estimator}; medians {percent(ratio, sign=True, digits=digits)} %)"


def _digits(effect: float) -> int:
    """Decimal places of an effect in per cent."""
    return 1 if abs(effect) >= 0.001 or effect == 0 else 2
