"""Histories that other tools hold: reading them into runs and points, and writing ours for other tools.

    findings = Findings()
    measurements = read("results/", findings)
    store(world.runs, to_points(measurements, origin="asv", owner=owner, findings=findings))

One file per format; an entry point of the group ``anubis.histories`` names its ``Format``.
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
from anubis.model.errors import BadInputError
from anubis.model.history import Measurement
from anubis.model.points import Point
from anubis.model.problem import Problem
from anubis.model.run import Run
from anubis.transfer.history_findings import Findings
from anubis.transfer.history_formats import Format, HistoryFile, ImportDefaults, detect, formats, named
from anubis.transfer.measurements import History, measurements_of, to_points

__all__ = [
    "Findings",
    "Format",
    "History",
    "ImportDefaults",
    "ImportResult",
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

#: Runs that are stored in one transaction, and looked up at once.
_BATCH = 2_000
#: Longest silence of a web server, seconds.
_TIMEOUT_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportResult:
    """What was found in some files, ready to be stored."""

    history: History
    #: Errors and warnings of all files.
    problems: tuple[Problem, ...]
    #: Something could not be read.
    refused: bool
    #: Values that their tool says are missing.
    missing: int
    #: File or address -> the format it was read in.
    formats: dict[str, str]


def read(
    address: str | Path,
    findings: Findings,
    *,
    format_name: str | None = None,
    given: ImportDefaults | None = None,
) -> Iterator[Measurement]:
    """The measurements of a file, folder or ``http(s)`` address, one after the other.

    What is wrong with it goes into ``findings`` while the rest is read. Raises BadInputError when the file cannot be
    opened, or is in no known format.
    """
    with _local(address) as path:
        yield from _read(path, str(address), named(format_name or _detected(path, address)), findings, given)


def import_files(
    addresses: Sequence[str],
    *,
    owner: str,
    format_name: str | None = None,
    given: ImportDefaults | None = None,
) -> ImportResult:
    """Read all of these and turn them into runs and points; nothing is stored.

    Raises BadInputError when one cannot be opened, or is in no known format.
    """
    findings, found = Findings(), dict[str, str]()
    runs: dict[str, tuple[Run, str]] = {}
    points: dict[tuple[str, str], Point] = {}
    for address in addresses:
        with _local(address) as path:
            chosen = named(format_name or _detected(path, address))
            found[address] = chosen.name
            rows = _read(path, address, chosen, findings, given)
            history = to_points(rows, origin=chosen.name, owner=owner, findings=findings)
        if not history.points and not findings.refused:
            findings.warn("no values were found", "check that this is the file that its tool wrote")
        # One run may be spread over several files, and one file may be given twice.
        for each in history.runs:
            runs.setdefault(each[0].id, each)
        for point in history.points:
            points.setdefault((point.run_id, point.metric), point)
    return ImportResult(
        history=History(list(runs.values()), list(points.values())),
        problems=findings.problems,
        refused=findings.refused,
        missing=findings.missing,
        formats=found,
    )


def store(runs: RunWriter, history: History) -> int:
    """Store a history, oldest runs first; how many of its runs were not stored already.

    Interrupted, it may simply be called again: a run is stored with its points or not at all.
    """
    points: dict[str, list[int]] = {}
    for position, point in enumerate(history.points):
        points.setdefault(point.run_id, []).append(position)
    ordered = sorted(history.runs, key=lambda each: each[0].created_s)
    new = 0
    for start in range(0, len(ordered), _BATCH):
        batch = ordered[start : start + _BATCH]
        of_batch = [history.points[position] for run, _ in batch for position in points.get(run.id, [])]
        new += len(runs.add_finished(batch, of_batch))
    return new


def stored(runs: RunReader, points: Points, query: RunQuery) -> Iterator[Measurement]:
    """The points of the runs that a query finds, with the words of their runs."""
    rows = runs.find(query)
    for start in range(0, len(rows), _BATCH):
        batch = rows[start : start + _BATCH]
        yield from measurements_of(batch, points.of([row.id for row in batch]))


def export(
    measurements: Iterable[Measurement], stream: BinaryIO, findings: Findings, *, format_name: str
) -> None:
    """Write measurements into a binary stream. Raises BadInputError for a format that is not written."""
    write = named(format_name, writing=True).write
    assert write is not None
    write(measurements, stream, findings)


def _read(
    path: Path, shown: str, chosen: Format, findings: Findings, given: ImportDefaults | None
) -> Iterator[Measurement]:
    assert chosen.read is not None
    findings.file = shown
    measurements = chosen.read(HistoryFile(path=path, findings=findings, given=given or ImportDefaults()))
    return measurements if given is None else (_completed(each, given) for each in measurements)


def _completed(each: Measurement, given: ImportDefaults) -> Measurement:
    """What the user gave stands in where the file says nothing."""
    kept = {
        name: value
        for name, value in each.parameters.items()
        if not any(fnmatchcase(name, pattern) for pattern in given.ignore)
    }
    unnamed = not (each.commit or each.version)
    return replace(
        each,
        parameters=kept,
        commit=given.commit if unnamed else each.commit,
        commit_s=given.commit_s if unnamed else each.commit_s,
        version=given.version if unnamed else each.version,
        repository=each.repository or given.repository,
        machine=each.machine or given.machine,
    )


def _detected(path: Path, address: str | Path) -> str:
    found = detect(path)
    if found is None:
        known = ", ".join(name for name, each in formats().items() if each.read)
        raise BadInputError(
            f"{address} is in no format that is known here", remedy=f"name it with --format: {known}"
        )
    return found


@contextmanager
def _local(address: str | Path) -> Iterator[Path]:
    """The path of a file or folder; an address is fetched into a temporary file first."""
    if not str(address).startswith(("http://", "https://")):
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
            with urllib.request.urlopen(str(address), timeout=_TIMEOUT_S) as answer, path.open("wb") as file:  # noqa: S310  the scheme was checked above
                while block := answer.read(1 << 20):
                    file.write(block)
        except (OSError, urllib.error.URLError, ValueError) as error:
            raise BadInputError(
                f"{address} could not be fetched: {error}", remedy="fetch it by hand and give the file"
            ) from error
        yield path
