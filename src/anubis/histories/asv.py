"""airspeed velocity: a results folder, or the project around it.

Format: https://asv.readthedocs.io/en/stable/dev.html#file-formats (benchmark results, api_version 2)
"""

import ast
import itertools
import math
import re
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anubis.model.history import Measurement
from anubis.model.metric import Better
from anubis.transfer import history_values
from anubis.transfer.history_formats import FileHead, Format, HistoryFile
from anubis.transfer.json_file import BROKEN, listing, mapping, parse

VERSION = 2
_CONFIGURATION = "asv.conf.json"
_BENCHMARKS = "benchmarks.json"
_MACHINE = "machine.json"
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
_COMMENT = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)

#: Kind of benchmark (type in benchmarks.json, prefix of the name) -> metric, unit, direction.
_KINDS = {
    "time": ("time", "seconds", Better.LOWER),
    "timeraw": ("time", "seconds", Better.LOWER),
    "memory": ("memory", "bytes", Better.LOWER),
    "mem": ("memory", "bytes", Better.LOWER),
    "peakmemory": ("peak_memory", "bytes", Better.LOWER),
    "peakmem": ("peak_memory", "bytes", Better.LOWER),
    "track": ("value", "none", Better.NONE),
}
#: Default order of the columns since api_version 2; older versions are not supported.
_COLUMNS = ["result", "params", "version", "started_at", "duration", "stats_ci_99_a", "stats_ci_99_b"]
_COLUMNS += ["stats_q_25", "stats_q_75", "stats_number", "stats_repeat", "samples", "profile"]
#: Interquartile range of a normal distribution, in standard deviations.
_QUARTILES = 1.349


@dataclass(frozen=True, slots=True, kw_only=True)
class _Commit:
    """Data shared by all results of one file."""

    commit: str
    commit_s: float | None
    environment: str
    repository: str
    machine: str
    facts: dict[str, str]


def detect(head: FileHead) -> bool:
    return head.is_folder and _results(head.path) is not None


def read(reading: HistoryFile) -> Iterator[Measurement]:
    """Every value of every commit, machine and environment."""
    folder = _results(reading.path)
    if folder is None:
        reading.findings.error(
            "the folder has no asv results", "give the folder with benchmarks.json or asv.conf.json"
        )
        return
    known = _json(reading, folder / _BENCHMARKS) if (folder / _BENCHMARKS).exists() else {}
    repository = _repository(reading)
    for file in sorted(folder.glob("*/*.json")):
        if file.name != _MACHINE and file.parent.joinpath(_MACHINE).exists():
            yield from _of_file(reading, file, known, repository)
    reading.findings.file = str(reading.path)


def _results(path: Path) -> Path | None:
    """The results folder: the path itself, or the folder in the configuration of the project."""
    if path.joinpath(_BENCHMARKS).exists() or any(path.glob(f"*/{_MACHINE}")):
        return path
    configuration = path / _CONFIGURATION
    if configuration.exists():
        named = re.search(r'"results_dir"\s*:\s*"([^"]+)"', configuration.read_text("utf-8", "replace"))
        folder = path / (named[1] if named else "results")
        return folder if folder.is_dir() else None
    return None


def _repository(reading: HistoryFile) -> str:
    configuration = reading.path / _CONFIGURATION
    if not configuration.exists():
        return ""
    reading.findings.file = str(configuration)
    content = _COMMENT.sub(lambda match: match[1] or "", configuration.read_text("utf-8", "replace"))
    found = parse(re.sub(r",(\s*[}\]])", r"\1", content), reading.findings)
    return history_values.text(found.get("project_url")) if isinstance(found, dict) else ""


def _json(reading: HistoryFile, file: Path) -> dict[str, Any]:
    reading.findings.file = str(file)
    document = parse(file.read_bytes(), reading.findings)
    return {} if document is BROKEN else mapping(document, reading.findings, "")


def _of_file(
    reading: HistoryFile, file: Path, known: dict[str, Any], repository: str
) -> Iterator[Measurement]:
    machine = _json(reading, file.parent / _MACHINE)
    document = _json(reading, file)
    if not document:
        return
    if document.get("version") != VERSION:
        reading.findings.error(
            f"the results have version {document.get('version')}, not {VERSION}", "run `asv update` first"
        )
        return
    commit = _Commit(
        commit=history_values.text(document.get("commit_hash")),
        commit_s=history_values.seconds(document.get("date"), 1000),
        environment=history_values.text(document.get("env_name")),
        repository=repository,
        machine=history_values.text(machine.get("machine")) or history_values.text(file.parent.name),
        facts=history_values.texts(machine, ("arch", "cpu", "num_cpu", "ram")),
    )
    columns = document.get("result_columns")
    names = [history_values.text(column) for column in columns] if isinstance(columns, list) else _COLUMNS
    for name, row in mapping(document.get("results"), reading.findings, "results").items():
        if not history_values.text(name):
            reading.findings.error("a benchmark has no name", "delete its entry", path="results")
            continue
        # A failed benchmark is null, or has null as its result.
        cells = row if isinstance(row, list) else [row]
        found = dict(zip(names, cells, strict=False))
        if found.get("result") is None:
            reading.findings.missing += 1
            continue
        yield from _of_benchmark(reading, history_values.text(name), found, known.get(name), commit)


def _of_benchmark(
    reading: HistoryFile, name: str, row: dict[str, Any], about: Any, commit: _Commit
) -> Iterator[Measurement]:
    about = about if isinstance(about, dict) else {}
    path = f"results.{name}"
    results = listing(row["result"], reading.findings, f"{path}.result")
    params = row.get("params")
    axes = [axis for axis in params if isinstance(axis, list)] if isinstance(params, list) else []
    expected = math.prod(map(len, axes))
    if expected != len(results):
        reading.findings.error(
            f"{len(results)} results for {expected} combinations of parameters",
            "run this benchmark again with asv, or delete its entry",
            path=path,
        )
        return
    kind = history_values.text(about.get("type")) or name.rpartition(".")[2].partition("_")[0]
    metric, unit, better = _KINDS.get(kind, _KINDS["track"])
    written = history_values.text(about.get("unit"))
    if metric == "value" and written and written != "unit":
        unit = written
    started_s = history_values.seconds(row.get("started_at"), 1000)
    time_s = started_s if started_s is not None else commit.commit_s
    if time_s is None:
        reading.findings.error("the results have no date", "run `asv update` first", path=path)
        return
    labels = {"environment": commit.environment} if commit.environment else {}
    if version := history_values.text(row.get("version"))[:12]:
        labels["benchmark_version"] = version
    axis_names = about.get("param_names") or []
    for position, cell in enumerate(itertools.product(*axes)):
        value = reading.value(results[position], f"{path}.result[{position}]")
        if value is None:
            continue
        spread, count = _spread(row, position)
        yield Measurement(
            benchmark=name,
            metric=metric,
            value=value,
            units=unit,
            better=better,
            spread=spread,
            count=count,
            time_s=time_s,
            commit_s=commit.commit_s,
            commit=commit.commit,
            repository=commit.repository,
            parameters={_axis(axis_names, axis): _parameter(chosen) for axis, chosen in enumerate(cell)},
            labels=labels,
            machine=commit.machine,
            facts=commit.facts,
        )


def _axis(names: Any, position: int) -> str:
    named = history_values.text(names[position]) if isinstance(names, list) and position < len(names) else ""
    return named or f"param{position + 1}"


def _parameter(raw: Any) -> str:
    """The value of a parameter, which asv stores as its repr(), without quotes and without memory addresses."""
    words = history_values.text(raw)
    if words[:1] in {"'", '"'}:
        try:
            return history_values.text(ast.literal_eval(words))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return words
    return _ADDRESS.sub("", words)


def _spread(row: dict[str, Any], position: int) -> tuple[float | None, int]:
    """Standard deviation and number of the samples.

    From the samples if they were recorded, else from the quartiles of a normal distribution.
    """
    samples = _at(row.get("samples"), position)
    found = [history_values.soft_number(each) for each in samples] if isinstance(samples, list) else []
    kept = [each for each in found if each is not None]
    if len(kept) > 1:
        return statistics.stdev(kept), len(kept)
    count = history_values.count(_at(row.get("stats_repeat"), position))
    low, high = (
        history_values.soft_number(_at(row.get(key), position)) for key in ("stats_q_25", "stats_q_75")
    )
    if count < 2 or low is None or high is None or high < low:
        return None, count
    return (high - low) / _QUARTILES, count


def _at(column: Any, position: int) -> Any:
    return column[position] if isinstance(column, list) and position < len(column) else None


FORMAT = Format(name="asv", title="airspeed velocity results folder", detect=detect, read=read)
