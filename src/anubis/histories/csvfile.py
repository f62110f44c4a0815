"""CSV (RFC 4180): all columns are written; columns are read in any order, and only ``value`` is required."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import BinaryIO, TextIO

from anubis.model.history import COLUMNS, GROUPS, Measurement
from anubis.model.metric import Better
from anubis.transfer import history_units, history_values
from anubis.transfer.history_findings import Findings
from anubis.transfer.history_formats import FileHead, Format, HistoryFile

_OTHER_NAMES = {"time": "time_s", "timestamp": "time_s", "date": "time_s", "commit_time": "commit_s"}
_OTHER_NAMES |= {"unit": "units", "name": "benchmark", "stddev": "spread"}
#: Every accepted spelling of a column -> the column.
_SPELLINGS = {**{column: column for column in COLUMNS}, **_OTHER_NAMES}
_DELIMITERS = ",;\t"
_BETTERS = {each.value for each in Better}
#: Similarity, 0 to 1, above which the name of an unknown column is taken for a misspelt one.
_SIMILAR = 0.8
#: Maximum size of a field, characters.
_LONGEST_FIELD = 10_000_000


def detect(head: FileHead) -> bool:
    if head.is_folder or b"\0" in head.start:
        return False
    names = _names(head.text.splitlines()[0] if head.text else "")
    known = set(names) & set(COLUMNS)
    return len(names) > 1 and ("value" in known or (bool(known) and "value" in _misspelt(names).values()))


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """One measurement for each row with a value."""
    findings = reading.findings
    csv.field_size_limit(_LONGEST_FIELD)
    with reading.path.open(encoding="utf-8-sig", newline="") as stream:
        try:
            rows = csv.reader(stream, delimiter=_delimiter(stream), strict=True)
            names = [_column(name) for name in next(rows, [])]
            if not _usable(names, findings):
                return
            default_s = None if "time_s" in names else reading.time_s()
            for cells in rows:
                if any(cells):
                    yield from _of_row(reading, names, cells, rows.line_num, default_s)
        except csv.Error as error:
            findings.error(
                f"not valid CSV: {error}",
                "correct the quotes; nothing after this line was read",
                line=rows.line_num,
            )
        except UnicodeDecodeError:
            findings.error("the text is not UTF-8", "save the file as UTF-8")


def _delimiter(stream: TextIO) -> str:
    header = stream.readline()
    stream.seek(0)
    return max(_DELIMITERS, key=header.count)


def _names(header: str) -> list[str]:
    delimiter = max(_DELIMITERS, key=header.count)
    return [_column(name.strip('"')) for name in header.split(delimiter)]


def _column(name: str) -> str:
    name = name.strip()
    group, dot, key = name.partition(".")
    if dot and group.lower() in GROUPS:
        return f"{group.lower()}.{key}"
    return _OTHER_NAMES.get(name.lower(), name.lower())


def _usable(names: list[str], findings: Findings) -> bool:
    known = {*COLUMNS, *(name for name in names if name.partition(".")[0] in GROUPS)}
    misspelt = _misspelt(names)
    for name, column in misspelt.items():
        findings.error(
            f'unknown column "{name}": did you mean "{column}"?',
            f"rename it to {column}; if it is something else, to parameter.{name} or label.{name}",
            line=1,
        )
    for name in sorted({name for name in names if name not in known and name not in misspelt}):
        findings.warn(
            f'unknown column "{name}" is ignored',
            f"rename it to parameter.{name or 'NAME'} if it distinguishes series",
            line=1,
        )
    for name in sorted({name for name in names if names.count(name) > 1}):
        findings.error(f'duplicate column "{name}"', "rename one of them", line=1)
    if "value" not in names and "value" not in misspelt.values():
        findings.error('the column "value" is missing', f"use these columns: {', '.join(COLUMNS)}", line=1)
    return not findings.refused and "value" in names


def _misspelt(names: list[str]) -> dict[str, str]:
    """Unknown column -> the column that the header does not have and whose name is similar, in sorted order."""
    absent = {word: column for word, column in _SPELLINGS.items() if column not in names}
    unknown = {name for name in names if name not in COLUMNS and name.partition(".")[0] not in GROUPS}
    near = {name: get_close_matches(name, absent, n=1, cutoff=_SIMILAR) for name in sorted(unknown)}
    return {name: absent[matches[0]] for name, matches in near.items() if matches}


def _of_row(
    reading: HistoryFile, names: list[str], cells: list[str], line: int, default_s: float | None
) -> Iterator[Measurement]:
    findings = reading.findings
    if len(cells) != len(names):
        findings.error(
            f"the row has {len(cells)} fields, the first line has {len(names)}",
            "quote fields that hold a delimiter",
            line=line,
        )
        return
    row = {name: history_values.text(cell) for name, cell in zip(names, cells, strict=True) if cell}
    value = reading.value(row.get("value"), "value", line=line)
    if value is None:
        return
    time_s = history_values.seconds(row["time_s"]) if "time_s" in row else default_s
    if time_s is None:
        findings.error(
            "the row has no valid time",
            "give seconds since 1970, or ISO 8601 such as 2026-01-31T12:00:00Z",
            path="time_s",
            line=line,
        )
        return
    better = row.get("better", "").lower()
    if better and better not in _BETTERS:
        findings.error(
            f'"{better}" is not a valid direction', "write higher, lower or none", path="better", line=line
        )
        return
    yield _measurement(reading, row, value, time_s, Better(better) if better else None)


def _measurement(
    reading: HistoryFile, row: Mapping[str, str], value: float, time_s: float, better: Better | None
) -> Measurement:
    unit = row.get("units", "none")
    groups: dict[str, dict[str, str]] = {group: {} for group in GROUPS}
    for name, words in row.items():
        group, _, key = name.partition(".")
        if group in groups:
            groups[group][key] = words
    return Measurement(
        benchmark=row.get("benchmark", history_values.text(reading.path.stem)),
        metric=row.get("metric", history_units.dimension(unit)),
        value=value,
        units=unit,
        better=history_units.direction(unit) if better is None else better,
        spread=history_values.soft_number(row.get("spread")),
        count=history_values.count(row.get("count")),
        time_s=time_s,
        commit_s=history_values.seconds(row.get("commit_s")),
        commit=row.get("commit", ""),
        version=row.get("version", ""),
        repository=row.get("repository", ""),
        parameters=groups["parameter"],
        labels=groups["label"],
        machine=row.get("machine", ""),
        facts=groups["fact"],
        fingerprint=row.get("fingerprint", ""),
        run=row.get("run", ""),
        contaminated=row.get("contaminated", "").lower() in {"true", "1", "yes"},
    )


def write(measurements: Iterable[Measurement], stream: BinaryIO, _findings: Findings) -> None:
    """Write all measurements, with one column for each parameter, label and fact."""
    kept = list(measurements)
    extra = [
        (f"{group}.{key}", attribute, key)
        for group, attribute in GROUPS.items()
        for key in sorted({key for each in kept for key in getattr(each, attribute)})
    ]
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="", write_through=True)
    rows = csv.writer(text, lineterminator="\r\n")
    rows.writerow([*COLUMNS, *(column for column, _, _ in extra)])
    for each in kept:
        cells = [_cell(getattr(each, column)) for column in COLUMNS]
        rows.writerow([*cells, *(getattr(each, attribute).get(key, "") for _, attribute, key in extra)])
    text.detach()


def _cell(value: object) -> str:
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool) else str(value)


FORMAT = Format(name="csv", title="CSV", detect=detect, read=read, write=write)
