"""OpenMetrics text with timestamps, for the backfill of Prometheus (``promtool tsdb create-blocks-from openmetrics``).

Format: https://prometheus.io/docs/specs/om/open_metrics_spec/ (version 1.0)
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import BinaryIO

from anubis.model.history import Measurement
from anubis.transfer.history_findings import Findings
from anubis.transfer.history_formats import Format

_PREFIX = "anubis_"
_ILLEGAL = re.compile(r"[^a-zA-Z0-9_]+")
_UNIT_WORDS = {
    "%": "percent",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "µs": "microseconds",
}
_UNIT_WORDS |= {"ns": "nanoseconds", "B": "bytes", "none": ""}

Labels = tuple[tuple[str, str], ...]
#: Labels -> time in seconds -> value.
Family = dict[Labels, dict[Decimal, float]]


def write(measurements: Iterable[Measurement], stream: BinaryIO, findings: Findings) -> None:
    """One gauge family for each metric and unit, and one for its spread; of equal times (to the nanosecond) the last value is kept.

    The original names are in the labels ``benchmark`` and ``metric``. Commits are left out: each would be a separate series
    with a single value.
    """
    families: dict[tuple[str, str], Family] = {}
    units: dict[tuple[str, str], str] = {}
    doubled = 0
    for each in measurements:
        unit = _legal(_UNIT_WORDS.get(each.units, each.units.replace("/", "_per_").replace("%", "percent")))
        labels = _labels(each)
        for kind, value in (("", each.value), ("spread_", each.spread)):
            if value is None:
                continue
            key = _family_name(f"{kind}{each.metric}", unit), kind
            units[key] = unit
            times = families.setdefault(key, {}).setdefault(labels, {})
            time_s = _nanoseconds(each.time_s)
            doubled += not kind and time_s in times
            times[time_s] = value
    if doubled:
        findings.warn(
            f"{doubled} values have the same name, labels and time as another and were left out",
            "export to csv or parquet to keep all of them",
        )
    taken: set[str] = set()
    for key in sorted(families):
        name = _unique(key[0], units[key], taken)
        taken.add(name)
        stream.write("".join(_lines(name, units[key], key[1], families[key])).encode())
    stream.write(b"# EOF\n")


def _lines(name: str, unit: str, kind: str, family: Family) -> Iterator[str]:
    what = "Standard deviation over the repeats of each run" if kind else "Value of each run"
    yield f"# TYPE {name} gauge\n"
    if unit:
        yield f"# UNIT {name} {unit}\n"
    yield f"# HELP {name} {what}.\n"
    for labels, times in sorted(family.items()):
        shown = ",".join(f'{key}="{_escaped(value)}"' for key, value in labels)
        for time_s in sorted(times):
            yield f"{name}{{{shown}}} {times[time_s]!r} {time_s:f}\n"


def _nanoseconds(time_s: float) -> Decimal:
    """The time to the nanosecond, which is as exact as readers of the format are."""
    return round(Decimal(repr(time_s)), 9).normalize()


def _family_name(metric: str, unit: str) -> str:
    """A valid name that ends in its unit, as the specification requires."""
    name = _PREFIX + (_legal(metric) or "value")
    return f"{name}_{unit}" if unit and not name.endswith(f"_{unit}") else name


def _unique(name: str, unit: str, taken: set[str]) -> str:
    base, tail = (name.removesuffix(f"_{unit}"), f"_{unit}") if unit else (name, "")
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{base}_{number}{tail}"
    return found


def _labels(measurement: Measurement) -> Labels:
    """Labels with valid, unique names, in order; empty values are left out, because they equal absent labels."""
    fixed = {"benchmark": measurement.benchmark, "metric": measurement.metric, "machine": measurement.machine}
    fixed["fingerprint"] = measurement.fingerprint
    found = {key: value for key, value in fixed.items() if value}
    free: Mapping[str, str] = {**measurement.labels, **measurement.parameters, **measurement.facts}
    for key in sorted(free):
        if not free[key]:
            continue
        name = base = _label_name(key)
        number = 1
        while name in fixed or name in found:
            number += 1
            name = f"{base}_{number}"
        found[name] = free[key]
    return tuple(sorted(found.items()))


def _label_name(key: str) -> str:
    name = _legal(key) or "label"
    return f"label_{name}" if name[0].isdigit() or name in {"le", "quantile"} else name


def _legal(words: str) -> str:
    """The text with only letters, digits and single underscores, without underscores at the ends."""
    return re.sub(r"_+", "_", _ILLEGAL.sub("_", words)).strip("_")


def _escaped(words: str) -> str:
    return words.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')


FORMAT = Format(name="openmetrics", title="OpenMetrics text", write=write)
