"""The cells of a family: runs by file and axis values."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from anubis.contracts.runs import RunRow
from anubis.model.run import Run
from anubis.model.status import Status

#: Axis -> value, in the order of the descriptor; without the round.
Key = tuple[tuple[str, object], ...]
#: A run, or the row of one in a listing.
T = TypeVar("T", Run, RunRow)


@dataclass(frozen=True, slots=True)
class Cell(Generic[T]):
    """Runs that differ only in their round."""

    key: Key
    runs: Sequence[T]


def key_of(run: Run | RunRow) -> Key:
    """The coordinates of a run in its family without the round."""
    return tuple(item for item in run.cell.items() if item[0] != "round")


def cells_of(runs: Sequence[T]) -> list[Cell[T]]:
    """The cells of a family in the order in which they were submitted."""
    by_key: dict[Key, list[T]] = {}
    for run in runs:
        by_key.setdefault(key_of(run), []).append(run)
    return [Cell(key, members) for key, members in by_key.items()]


def two_files(cells: Sequence[Cell[T]]) -> Iterator[tuple[Key, list[str], list[str]]]:
    """Baseline and contender of a family of two files: (other axes, ids, ids) for each combination of the other axes.

    Runs that did not succeed are left out. Yields nothing for other families.
    """
    files = files_of(cells)
    if len(files) != 2:
        return
    sides: dict[Key, dict[object, list[str]]] = {}
    for cell in cells:
        rest = tuple(item for item in cell.key if item[0] != "file")
        measured = [run.id for run in cell.runs if run.status is Status.SUCCEEDED]
        sides.setdefault(rest, {})[dict(cell.key)["file"]] = measured
    for rest, by_file in sides.items():
        old, new = (by_file.get(file, []) for file in files)
        if old and new:
            yield rest, old, new


def files_of(cells: Sequence[Cell[T]]) -> list[str]:
    """The names of the descriptor files of a family, in order; empty for a family of one file."""
    return list(dict.fromkeys(str(values["file"]) for cell in cells if "file" in (values := dict(cell.key))))


def key_text(key: Key) -> str:
    """``BATCH=16, threads=2``; empty for a single cell."""
    return ", ".join(f"{name}={value}" for name, value in key)
