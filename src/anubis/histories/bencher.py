"""Bencher Metric Format (BMF): one report, as Bencher's adapters make it and ``bencher run --adapter json`` takes it.

Format: https://bencher.dev/docs/reference/bencher-metric-format
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

from anubis.model.history import Measurement
from anubis.model.metric import Better
from anubis.transfer import history_values
from anubis.transfer.history_findings import Findings
from anubis.transfer.history_formats import FileHead, Format, HistoryFile
from anubis.transfer.json_file import BROKEN, mapping, parse

_TEXT = r'"(?:[^"\\]|\\.)*"'
_DETECT = re.compile(
    rf'\s*\{{\s*{_TEXT}\s*:\s*\{{\s*{_TEXT}\s*:\s*\{{\s*"(?:value|lower_value|upper_value)"\s*:'
)
#: Bencher strips this from names: it only silences its own alerts.
_IGNORE = re.compile(r"(?:[-_ /]?bencher[-_ ]?ignore)$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Measure:
    unit: str
    better: Better


#: Bencher's own measures, by slug; any other is a plain number without direction.
_MEASURES = {
    "latency": _Measure("ns", Better.LOWER),
    "throughput": _Measure("ops/s", Better.HIGHER),
    "build-time": _Measure("s", Better.LOWER),
    "file-size": _Measure("B", Better.LOWER),
}
_IN_NS = {"ns": 1.0, "us": 1e3, "µs": 1e3, "ms": 1e6, "s": 1e9, "sec": 1e9, "seconds": 1e9}


def detect(head: FileHead) -> bool:
    return _DETECT.match(head.text) is not None


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """One measurement for each benchmark and measure.

    ``lower_value`` and ``upper_value`` are bounds of whatever kind the adapter chose, so they give no spread.
    """
    findings = reading.findings
    document = parse(reading.path.read_bytes(), findings)
    if document is BROKEN or not (document := mapping(document, findings, "")):
        return
    time_s = reading.time_s()
    for name, measures in document.items():
        for slug, raw in mapping(measures, findings, name).items():
            path = f"{name}.{slug}"
            figures = mapping(raw, findings, path)
            value = reading.value(figures.get("value"), f"{path}.value") if figures else None
            if value is None:
                continue
            if not history_values.text(name) or not history_values.text(slug):
                findings.error(
                    "a benchmark or measure has no name", "name it, or delete its entry", path=path
                )
                continue
            known = _MEASURES.get(slug, _Measure("none", Better.NONE))
            yield Measurement(
                benchmark=_IGNORE.sub("", history_values.text(name)) or history_values.text(name),
                metric=history_values.text(slug),
                value=value,
                units=known.unit,
                better=known.better,
                time_s=time_s,
            )


def write(measurements: Iterable[Measurement], stream: BinaryIO, findings: Findings) -> None:
    """The newest value of each benchmark and metric, since BMF holds one report.

    Times of the metrics ``time`` and ``latency`` become Bencher's measure ``latency`` in nanoseconds. Bounds are one
    standard deviation around the value. BMF has no units: other values are written as they are.
    """
    newest: dict[tuple[str, str], Measurement] = {}
    older = 0
    for each in measurements:
        key = _benchmark(each), _slug(each)
        kept = newest.get(key)
        older += kept is not None
        if kept is None or _order(each) >= _order(kept):
            newest[key] = each
    if older:
        findings.warn(
            f"BMF holds one report, so {older} older values were left out",
            "export to csv or parquet to keep all of them",
        )
    report: dict[str, dict[str, dict[str, float]]] = {}
    for (benchmark, slug), each in newest.items():
        scale = _IN_NS[each.units] if slug == "latency" else 1.0
        bounds = {"value": each.value * scale}
        if each.spread is not None:
            bounds["lower_value"] = (each.value - each.spread) * scale
            bounds["upper_value"] = (each.value + each.spread) * scale
        report.setdefault(benchmark, {})[slug] = bounds
    stream.write(json.dumps(report, ensure_ascii=False, indent=2).encode() + b"\n")


def _order(measurement: Measurement) -> tuple[float, float]:
    when_s = measurement.time_s if measurement.commit_s is None else measurement.commit_s
    return when_s, measurement.time_s


def _benchmark(measurement: Measurement) -> str:
    words = {**measurement.labels, **measurement.parameters}
    words.pop("imported_from", None)
    if not words:
        return measurement.benchmark
    return f"{measurement.benchmark}[{','.join(f'{key}={value}' for key, value in sorted(words.items()))}]"


def _slug(measurement: Measurement) -> str:
    if measurement.metric in {"time", "latency"} and measurement.units in _IN_NS:
        return "latency"
    return measurement.metric


FORMAT = Format(name="bmf", title="Bencher Metric Format JSON", detect=detect, read=read, write=write)
