"""github-action-benchmark: the ``data.js`` that the action keeps on the pages branch.

Format: https://github.com/benchmark-action/github-action-benchmark (src/write.ts, src/extract.ts).
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from anubis.model.history import Measurement
from anubis.model.metric import Better
from anubis.transfer import history_units, history_values
from anubis.transfer.history_formats import FileHead, Format, HistoryFile
from anubis.transfer.json_file import BROKEN, listing, mapping, parse

_PREFIX = re.compile(r"\ufeff?\s*(?:window\s*\.\s*BENCHMARK_DATA\s*=)?\s*")
_DETECT = re.compile(r"\s*(?:window\s*\.\s*BENCHMARK_DATA\s*=|\{\s*\"lastUpdate\"\s*:)")
_STDDEV = re.compile(r"stddev: (\S+)")
_ROUNDS = re.compile(r"^rounds: (\d+)", re.MULTILINE)

#: Directions that the action assumes for its tools (src/write.ts); the unit has precedence if it determines the direction.
_DIRECTIONS = dict.fromkeys(
    (
        "cargo",
        "cargo-criterion",
        "go",
        "googlecpp",
        "catch2",
        "julia",
        "benchmarkdotnet",
        "benchmarkluau",
        "customSmallerIsBetter",
    ),
    Better.LOWER,
) | dict.fromkeys(("benchmarkjs", "pytest", "customBiggerIsBetter"), Better.HIGHER)


def detect(head: FileHead) -> bool:
    return _DETECT.match(head.text) is not None


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """One measurement for each entry of each commit."""
    document = _document(reading)
    if document is BROKEN:
        return
    document = mapping(document, reading.findings, "")
    repository = history_values.text(document.get("repoUrl"))
    for suite, entries in mapping(document.get("entries"), reading.findings, "entries").items():
        path = f"entries.{suite}"
        labels = {"suite": history_values.text(suite)} if suite else {}
        for position, entry in enumerate(listing(entries, reading.findings, path)):
            yield from _of_entry(reading, entry, f"{path}[{position}]", repository, labels)


def _document(reading: HistoryFile) -> Any:
    """The JSON inside the JavaScript: after an assignment, and possibly before a semicolon."""
    content = reading.path.read_bytes()
    try:
        source = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return parse(content, reading.findings)
    start = _PREFIX.match(source)
    try:
        document, end = json.JSONDecoder().raw_decode(source, start.end() if start else 0)
    except json.JSONDecodeError as error:
        reading.findings.error(
            f"not valid JSON after the assignment: {error.msg}",
            "fetch data.js again from the pages branch",
            line=error.lineno,
        )
        return BROKEN
    except (ValueError, RecursionError):
        return parse(source[start.end() if start else 0 :], reading.findings)
    if source[end:].strip(" \t\r\n;"):
        reading.findings.error(
            "there is text after the data",
            "fetch data.js again from the pages branch",
            line=source.count("\n", 0, end) + 1,
        )
    return document


def _of_entry(
    reading: HistoryFile, entry: Any, path: str, repository: str, labels: dict[str, str]
) -> Iterator[Measurement]:
    findings = reading.findings
    entry = mapping(entry, findings, path)
    if not entry:
        return
    time_s = history_values.seconds(entry.get("date"), 1000)
    commit = mapping(entry.get("commit"), findings, f"{path}.commit")
    commit_s = _commit_s(commit)
    if time_s is None:
        findings.error(
            "the entry has no valid date", "correct it, in milliseconds since 1970", path=f"{path}.date"
        )
        return
    tool = history_values.text(entry.get("tool"))
    commit_id = history_values.text(commit.get("id"))
    seen: set[tuple[str, str]] = set()
    for position, bench in enumerate(listing(entry.get("benches"), findings, f"{path}.benches")):
        found = _value(reading, bench, f"{path}.benches[{position}]", seen)
        if found is None:
            continue
        name, value, unit = found
        dimension = history_units.dimension(unit)
        spread, repeats = _spread(bench, value) if tool == "pytest" else (None, 1)
        better = history_units.direction(unit)
        yield Measurement(
            benchmark=name,
            metric=dimension,
            value=value,
            units=unit,
            better=_DIRECTIONS.get(tool, better) if better is Better.NONE else better,
            spread=spread,
            count=repeats,
            time_s=time_s,
            commit_s=commit_s,
            commit=commit_id,
            repository=repository,
            labels=labels,
        )


def _commit_s(commit: dict[str, Any]) -> float | None:
    """The time of the commit. For pull requests the action stores the time of the repository update instead."""
    if "/pull/" in history_values.text(commit.get("url")):
        return None
    return history_values.seconds(commit.get("timestamp"))


def _value(
    reading: HistoryFile, bench: Any, path: str, seen: set[tuple[str, str]]
) -> tuple[str, float, str] | None:
    """Name, value and unit of one row; None without a value (counted or reported)."""
    findings = reading.findings
    bench = mapping(bench, findings, path)
    if not bench:
        return None
    name = history_values.text(bench.get("name"))
    if not name:
        findings.error("the benchmark has no name", "name it", path=f"{path}.name")
        return None
    value = reading.value(bench.get("value"), f"{path}.value")
    if value is None:
        return None
    # Older versions of the action stored all values of Go in the unit: "ns/op\t16 B/op\t1 allocs/op".
    unit = history_values.text(bench.get("unit")).partition("\t")[0].strip() or "none"
    if (name, unit) in seen:
        findings.warn(
            f'duplicate benchmark "{name}" in one entry; the first is kept',
            "give each benchmark its own name",
            path=path,
        )
        return None
    seen.add((name, unit))
    return name, value, unit


def _spread(bench: dict[str, Any], rate: float) -> tuple[float | None, int]:
    """Standard deviation of the rate, and rounds, of a pytest-benchmark entry.

    The entry contains the deviation of the time t; the rate is 1/t, so its deviation is about rate squared times that
    (first-order propagation). The ranges of other tools are not standard deviations, or have other units than the value
    (Catch2).
    """
    stddev = _STDDEV.match(history_values.text(bench.get("range")))
    rounds = _ROUNDS.search(history_values.text(bench.get("extra")))
    deviation = history_values.soft_number(stddev[1]) if stddev else None
    repeats = history_values.count(rounds[1]) if rounds else 1
    if deviation is None or repeats < 2:
        return None, repeats
    return rate * rate * deviation, repeats


FORMAT = Format(
    name="github-action-benchmark", title="github-action-benchmark data.js", detect=detect, read=read
)
