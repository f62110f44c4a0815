"""Import of histories from other tools as runs and points, and export of histories for other tools.

    findings = Findings()
    measurements = read("results/", findings)
    store(world.runs, world.points, to_points(measurements, origin="asv", owner=owner, findings=findings))

One module per format; an entry point of the group ``anubis.histories`` names its ``Format``.
"""

import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import BinaryIO

from anubis.contracts.points import Points
from anubis.contracts.runs import RunQuery, RunReader, RunWriter
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.errors import BadInputError
from anubis.model.history import Measurement
from anubis.model.problem import Problem
from anubis.transfer.history_findings import Findings
from anubis.transfer.history_formats import (
    Format,
    HistoryFile,
    HistoryServer,
    ImportDefaults,
    detect,
    formats,
    named,
)
from anubis.transfer.joining import BATCH, Joined, missing
from anubis.transfer.measurements import History, again, measurements_of, of_project, to_points

__all__ = [
    "Added",
    "Findings",
    "Format",
    "History",
    "ImportDefaults",
    "ImportResult",
    "again",
    "detect",
    "export",
    "formats",
    "import_files",
    "measurements_of",
    "named",
    "read",
    "store",
    "stored",
    "to_points",
]

#: Timeout of a read from a web server, seconds.
_TIMEOUT_S = 60.0
_HTTP = ("http://", "https://")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """The content of imported files, ready to be stored."""

    history: History
    #: Errors and warnings of all files.
    problems: tuple[Problem, ...]
    #: Whether any problem is an error.
    refused: bool
    #: Number of values that the tool marks as missing.
    missing: int
    #: Number of values that were left out because an earlier file or the database has another value.
    differing: int = 0
    #: File or address -> its format.
    formats: dict[str, str]


def read(
    address: str | Path,
    findings: Findings,
    *,
    format_name: str | None = None,
    defaults: ImportDefaults | None = None,
) -> Iterator[Measurement]:
    """The measurements of a file, folder or ``http(s)`` address, one by one.

    Errors in the content are added to ``findings`` while the rest is read. Raises BadInputError if the file cannot be
    opened or its format is unknown.
    """
    with _opened(str(address), format_name, findings, defaults) as (_, measurements):
        yield from measurements


def import_files(
    addresses: Sequence[str],
    *,
    owner: str,
    format_name: str | None = None,
    defaults: ImportDefaults | None = None,
    stored: Points | None = None,
    project: str = DEFAULT_PROJECT,
) -> ImportResult:
    """Read files, folders or addresses and convert them to runs and points of a project; nothing is stored.

    ``stored`` are the points with which the values must agree (None: they are not compared). Raises BadInputError if
    a file cannot be opened or its format is unknown.
    """
    findings, format_names = Findings(), dict[str, str]()
    joined = Joined(stored, findings)
    for address in addresses:
        with _opened(address, format_name, findings, defaults) as (chosen, rows):
            format_names[address] = chosen.name
            history = to_points(rows, origin=chosen.name, owner=owner, findings=findings)
        if not history.points and not findings.refused:
            findings.warn("the file contains no values", "check that it is an unchanged file of the tool")
        joined.add(of_project(history, project))
    return ImportResult(
        history=joined.history,
        problems=findings.problems,
        refused=findings.refused,
        missing=findings.missing,
        differing=joined.differing,
        formats=format_names,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Added:
    """What an import added to the database."""

    #: Number of new runs.
    runs: int = 0
    #: Number of new values, of new runs and of stored ones.
    values: int = 0
    #: Number of stored runs that got further values.
    joined: int = 0


def store(runs: RunWriter, points: Points, history: History) -> Added:
    """Store a history, oldest runs first; values of further metrics join the runs that are stored already.

    After an interruption it can be called again: what is stored is not stored twice.
    """
    by_run: dict[str, list[int]] = {}
    for position, point in enumerate(history.points):
        by_run.setdefault(point.run_id, []).append(position)
    ordered = sorted(history.runs, key=lambda each: each[0].created_s)
    added = Added()
    for start in range(0, len(ordered), BATCH):
        batch = ordered[start : start + BATCH]
        given = [history.points[position] for run, _ in batch for position in by_run.get(run.id, [])]
        new = set(runs.add_finished(batch, given))
        known = [run.id for run, _ in batch if run.id not in new]
        further = [point for point in given if point.run_id not in new]
        joining = list(missing(further, points.of(known))) if known else []
        stored_points = runs.add_points(joining)
        added = Added(
            runs=added.runs + len(new),
            values=added.values + len(given) - len(further) + stored_points,
            joined=added.joined + len({point.run_id for point in joining}),
        )
    return added


def stored(runs: RunReader, points: Points, query: RunQuery) -> Iterator[Measurement]:
    """The points of the runs that match a query, as measurements."""
    rows = runs.find(query)
    for start in range(0, len(rows), BATCH):
        batch = rows[start : start + BATCH]
        yield from measurements_of(batch, points.of([row.id for row in batch]))


def export(
    measurements: Iterable[Measurement], stream: BinaryIO, findings: Findings, *, format_name: str
) -> None:
    """Write measurements to a binary stream. Raises BadInputError for a format without export."""
    write = named(format_name, writing=True).write
    assert write is not None
    write(measurements, stream, findings)


@contextmanager
def _opened(
    address: str, format_name: str | None, findings: Findings, defaults: ImportDefaults | None
) -> Iterator[tuple[Format, Iterator[Measurement]]]:
    """The format of a file, folder or address, and its measurements."""
    findings.file = address
    given = defaults or ImportDefaults()
    chosen = named(format_name) if format_name else None
    if chosen and chosen.read_server and address.startswith(_HTTP):
        server = HistoryServer(address=address, findings=findings, defaults=given)
        yield chosen, _with_defaults(chosen.read_server(server), defaults)
        return
    with _local(address) as path:
        chosen = chosen or named(_detected(path, address))
        assert chosen.read is not None
        file = HistoryFile(path=path, findings=findings, defaults=given)
        yield chosen, _with_defaults(chosen.read(file), defaults)


def _with_defaults(
    measurements: Iterator[Measurement], defaults: ImportDefaults | None
) -> Iterator[Measurement]:
    return measurements if defaults is None else (_completed(each, defaults) for each in measurements)


def _completed(each: Measurement, defaults: ImportDefaults) -> Measurement:
    """The measurement with defaults for fields that the file does not contain."""
    kept = {
        name: value
        for name, value in each.parameters.items()
        if not any(fnmatchcase(name, pattern) for pattern in defaults.ignore)
    }
    unnamed = not (each.commit or each.version)
    return replace(
        each,
        parameters=kept,
        commit=defaults.commit if unnamed else each.commit,
        commit_s=defaults.commit_s if unnamed else each.commit_s,
        version=defaults.version if unnamed else each.version,
        repository=each.repository or defaults.repository,
        machine=each.machine or defaults.machine,
    )


def _detected(path: Path, address: str | Path) -> str:
    found = detect(path)
    if found is None:
        known = ", ".join(name for name, each in formats().items() if each.read)
        remedy = f"name it with --format: {known}"
        if path.name.endswith(".tar.zst"):
            remedy = f"to import the archive of a run: anubis record import {address}"
        raise BadInputError(f"the format of {address} is not recognised", remedy=remedy)
    return found


@contextmanager
def _local(address: str | Path) -> Iterator[Path]:
    """The path of a file or folder; an address is downloaded to a temporary file first."""
    if not str(address).startswith(_HTTP):
        path = Path(address)
        try:
            path.stat()
            if path.is_file():
                path.open("rb").close()
        except OSError as error:
            raise BadInputError(
                f"{address}: {error.strerror}", remedy="give a file, a folder or an http address"
            ) from error
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="anubis-import-") as folder:
        path = Path(folder, "fetched")
        try:
            with urllib.request.urlopen(str(address), timeout=_TIMEOUT_S) as answer, path.open("wb") as file:  # noqa: S310  the scheme was checked above  # nosec B310
                while block := answer.read(1 << 20):
                    file.write(block)
        except (OSError, urllib.error.URLError, ValueError) as error:
            raise BadInputError(
                f"{address} could not be downloaded: {error}",
                remedy="download it and give the path of the file",
            ) from error
        yield path
