"""JSON lines: one JSON object for each value, with the members of ``Measurement``. Clients import through a service with it."""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, BinaryIO

from anubis.model.history import Measurement
from anubis.model.metric import Better
from anubis.model.plain import to_plain
from anubis.transfer import history_values
from anubis.transfer.history_findings import Findings, shown
from anubis.transfer.history_formats import FileHead, Format, HistoryFile

_NAMES = tuple(each.name for each in fields(Measurement))
_REQUIRED = ("benchmark", "metric", "value", "time_s")
_TEXTS = ("benchmark", "metric", "units", "commit", "version", "repository", "machine", "fingerprint", "run")
_GROUPS = ("parameters", "labels", "facts")
_BETTERS = {each.value for each in Better}
#: Longest line, bytes.
LONGEST = 1 << 20


def detect(head: FileHead) -> bool:
    line = head.text.partition("\n")[0]
    try:
        first = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(first, dict) and first.keys() >= {*_REQUIRED} and first.keys() <= {*_NAMES}


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """One measurement for each line with a value."""
    with reading.path.open("rb") as stream:
        number = 0
        while line := stream.readline(LONGEST + 1):
            number += 1
            if len(line) > LONGEST:
                reading.findings.error(
                    f"the line has more than {LONGEST} bytes", "nothing after it was read", line=number
                )
                return
            if line.strip():
                yield from _of_line(reading, line, number)


def _of_line(reading: HistoryFile, line: bytes, number: int) -> Iterator[Measurement]:
    findings = reading.findings
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        findings.error(
            f"the line is not valid JSON: {error}", "write one JSON object in each line", line=number
        )
        return
    if not isinstance(row, dict):
        findings.error(f"expected a JSON object, found {shown(row)}", "write an object", line=number)
        return
    if wrong := list(_problems(row)):
        for path, message, remedy in wrong:
            findings.error(message, remedy, path=path, line=number)
        return
    value = reading.value(row["value"], "value", line=number)
    if value is not None:
        yield _measurement(row, value)


def _problems(row: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Path, message and remedy of everything in an object that no measurement has."""
    for name in sorted(row.keys() - _CHECKS.keys() - {"value"}):
        yield name[:60], f"unknown member {shown(name)}", f"use {', '.join(_NAMES)}"
    for name in _REQUIRED:
        if name not in row:
            yield name, f"the member {name} is missing", "add it"
    for name, (is_valid, remedy) in _CHECKS.items():
        if name in row and not is_valid(row[name]):
            yield name, f"{shown(row[name])} is not valid here", remedy


def _is_text(raw: object) -> bool:
    return isinstance(raw, str)


def _is_group(raw: object) -> bool:
    return isinstance(raw, dict) and all(isinstance(each, str) for each in raw.values())


def _is_time(raw: object) -> bool:
    return isinstance(raw, int | float) and not isinstance(raw, bool) and 0 <= raw < history_values.LATEST_S


def _is_count(raw: object) -> bool:
    return isinstance(raw, int) and not isinstance(raw, bool) and 0 < raw < 1 << 31


#: Member -> whether a value is valid, and what to write otherwise. The value itself is checked as in every format.
_CHECKS: dict[str, tuple[Callable[[object], bool], str]] = {
    **dict.fromkeys(_TEXTS, (_is_text, "write a text")),
    **dict.fromkeys(_GROUPS, (_is_group, "write an object of texts")),
    "time_s": (_is_time, "write seconds since 1970, UTC"),
    "commit_s": (lambda raw: raw is None or _is_time(raw), "write seconds since 1970, UTC, or null"),
    "count": (_is_count, "write a number from 1"),
    "spread": (lambda raw: raw is None or isinstance(raw, int | float), "write a number or null"),
    "better": (lambda raw: isinstance(raw, str) and raw in _BETTERS, "write higher, lower or none"),
    "contaminated": (lambda raw: isinstance(raw, bool), "write true or false"),
}


def _measurement(row: dict[str, Any], value: float) -> Measurement:
    spread = history_values.soft_number(row.get("spread"))
    words: dict[str, Any] = {name: history_values.text(row[name]) for name in _TEXTS if name in row}
    groups: dict[str, Any] = {name: history_values.texts(row[name]) for name in _GROUPS if name in row}
    commit_s = row.get("commit_s")
    return Measurement(
        **words,
        **groups,
        value=value,
        better=Better(row.get("better", "none")),
        spread=None if spread is None or spread < 0 else spread,
        count=row.get("count", 1),
        time_s=float(row["time_s"]),
        commit_s=None if commit_s is None else float(commit_s),
        contaminated=row.get("contaminated", False),
    )


def write(measurements: Iterable[Measurement], stream: BinaryIO, _findings: Findings) -> None:
    """Write all measurements, one by one."""
    for each in measurements:
        plain = to_plain(each)
        if math.isfinite(each.value):
            stream.write(json.dumps(plain, separators=(",", ":"), allow_nan=False).encode() + b"\n")


FORMAT = Format(name="jsonl", title="JSON lines", detect=detect, read=read, write=write)
