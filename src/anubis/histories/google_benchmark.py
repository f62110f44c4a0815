"""Google Benchmark: the output of ``--benchmark_format=json`` and ``--benchmark_out``.

Format: https://github.com/google/benchmark/blob/main/docs/user_guide.md
"""

import statistics
from collections.abc import Iterator
from typing import Any

from anubis.model.history import Measurement
from anubis.transfer import history_units, history_values
from anubis.transfer.history_formats import FileHead, Format, HistoryFile
from anubis.transfer.json_file import BROKEN, listing, mapping, parse

#: Fields of a row that are not metrics.
_NO_FIGURES = {
    "name",
    "family_index",
    "per_family_instance_index",
    "run_name",
    "run_type",
    "repetitions",
    "repetition_index",
    "threads",
    "iterations",
    "time_unit",
    "label",
    "aggregate_name",
    "aggregate_unit",
    "error_occurred",
    "error_message",
    "skipped",
    "skip_message",
}
_UNITS = {"bytes_per_second": "B/s", "items_per_second": "items/s", "max_bytes_used": "B"}

Row = dict[str, Any]


def detect(head: FileHead) -> bool:
    return '"context"' in head.text and any(
        key in head.text for key in ('"library_build_type"', '"mhz_per_cpu"', '"real_time"')
    )


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """Each metric of each benchmark: median and deviation over its repetitions, or the aggregates if only those exist."""
    findings = reading.findings
    document = parse(reading.path.read_bytes(), findings)
    if document is BROKEN or not (document := mapping(document, findings, "")):
        return
    context = mapping(document.get("context", {}), findings, "context")
    time_s = history_values.seconds(context.get("date"))
    if time_s is None:
        time_s = reading.time_s()
    facts = _facts(context)
    for name, rows in _by_name(reading, document).items():
        threads = history_values.text(rows[0].get("threads"))
        parameters = {"threads": threads} if threads not in {"", "1"} else {}
        for metric, (value, spread, count) in _figures(reading, name, rows).items():
            unit = _unit(metric, rows[0])
            yield Measurement(
                benchmark=name,
                metric=metric,
                value=value,
                units=unit,
                better=history_units.direction(unit),
                spread=spread,
                count=count,
                time_s=time_s,
                parameters=parameters,
                facts=facts,
            )


def _by_name(reading: HistoryFile, document: Row) -> dict[str, list[Row]]:
    """Rows grouped by benchmark. Failed and skipped benchmarks are reported and left out."""
    groups: dict[str, list[Row]] = {}
    failed: set[str] = set()
    for position, raw in enumerate(listing(document.get("benchmarks"), reading.findings, "benchmarks")):
        path = f"benchmarks[{position}]"
        row = mapping(raw, reading.findings, path)
        name = history_values.text(row.get("run_name") or row.get("name"))
        if not name or _aggregate(row) in {"BigO", "RMS"} or "big_o" in row or "rms" in row:
            continue
        if row.get("error_occurred") or row.get("skipped"):
            if name not in failed:
                why = history_values.text(row.get("error_message") or row.get("skip_message"))
                reading.findings.warn(
                    f'"{name}" has no results: {why or "it was skipped"}', "no action is needed", path=path
                )
            failed.add(name)
            continue
        groups.setdefault(name, []).append(row)
    return groups


def _aggregate(row: Row) -> str:
    return history_values.text(row.get("aggregate_name"))


def _figures(reading: HistoryFile, name: str, rows: list[Row]) -> dict[str, tuple[float, float | None, int]]:
    """Metric -> (value, standard deviation, repetitions)."""
    single = [row for row in rows if row.get("run_type", "iteration") == "iteration"]
    if single:
        return {
            metric: (
                statistics.median(found),
                statistics.stdev(found) if len(found) > 1 else None,
                len(found),
            )
            for metric in _metrics(single)
            if (found := _values(reading, name, single, metric))
        }
    by_kind = {_aggregate(row): row for row in rows}
    middle = by_kind.get("median") or by_kind.get("mean")
    if middle is None:
        reading.findings.warn(
            f'"{name}" has neither a median nor a mean',
            "write the file with --benchmark_repetitions",
            path=name,
        )
        return {}
    deviations, repeats = by_kind.get("stddev", {}), history_values.count(middle.get("repetitions"))
    return {
        metric: (
            found[0],
            history_values.soft_number(deviations.get(metric)) if repeats > 1 else None,
            repeats,
        )
        for metric in _metrics([middle])
        if (found := _values(reading, name, [middle], metric))
    }


def _metrics(rows: list[Row]) -> list[str]:
    return list(
        dict.fromkeys(
            key
            for row in rows
            for key, value in row.items()
            if key
            and key not in _NO_FIGURES
            and isinstance(value, (int, float))
            and not isinstance(value, bool)
        )
    )


def _values(reading: HistoryFile, name: str, rows: list[Row], metric: str) -> list[float]:
    found = [reading.value(row.get(metric), f"{name}.{metric}") for row in rows]
    return [value for value in found if value is not None]


def _unit(metric: str, row: Row) -> str:
    if metric in {"real_time", "cpu_time"}:
        return history_values.text(row.get("time_unit")) or "ns"
    return _UNITS.get(metric, "none")


def _facts(context: Row) -> dict[str, str]:
    """Cores and cache sizes; clock rate, load and host name are left out because they vary."""
    facts = {"cores": history_values.text(context.get("num_cpus"))}
    caches = context.get("caches")
    for cache in caches if isinstance(caches, list) else []:
        if isinstance(cache, dict):
            key = (
                f"L{history_values.text(cache.get('level'))} {history_values.text(cache.get('type')).lower()}"
            )
            facts[key] = history_values.text(cache.get("size"))
    return {key: value for key, value in facts.items() if value}


FORMAT = Format(name="google-benchmark", title="Google Benchmark JSON", detect=detect, read=read)
