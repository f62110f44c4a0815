"""Files in the home folder without an owner: what purges, crashes and interrupted imports leave behind."""

import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

from anubis.contracts.garbage import Garbage
from anubis.contracts.records import Records
from anubis.contracts.runs import RunQuery, Runs
from anubis.contracts.sweeps import Sweep
from anubis.model.status import Status
from anubis.record import layout, packing
from anubis.store.bucket.manifest import COPIED
from anubis.submission.environment.handover import FOLDER as ENVIRONMENTS
from anubis.transfer.run_transfer import INCOMING

_ARCHIVE = re.compile(r"[0-9a-f]{64}\.tar")
_BATCH = 500
#: More runs than any installation has.
_ALL = 100_000_000


def find(
    home: Path, runs: Runs, *, before_s: float, sweeps: Sequence[Sweep] = (), scripts: Collection[str] = ()
) -> Iterator[Garbage]:
    """Everything without an owner that was last changed before ``before_s`` (UTC seconds).

    ``sweeps`` are those that may have further runs: they need their environment and their script. ``scripts``: further
    archives that are needed.
    """
    records = [path for path in _children(home / layout.RECORDS) if layout.is_run_id(path.name)]
    yield from _found(
        "record", _unknown_runs(runs, [path for path in records if _touched_s(path) < before_s])
    )
    halves = (
        path
        for record in records
        for path in _children(record)
        if path.name.startswith(packing.UNFINISHED) and path.name != COPIED
    )
    yield from _found("packing", (path for path in halves if _touched_s(path) < before_s))
    yield from _found("import", (path for path in _children(home / INCOMING) if _touched_s(path) < before_s))
    environments = [path for path in _children(home / ENVIRONMENTS) if _touched_s(path) < before_s]
    needed = {sweep.id for sweep in sweeps}
    environments = [path for path in environments if path.stem not in needed]
    yield from _found("environment", _without_unfinished_run(runs, environments))
    objects = [path for path in _children(home / "objects") if _touched_s(path) < before_s]
    yield from _found("upload", (path for path in objects if path.name.startswith(".new-")))
    archives = [path for path in objects if _ARCHIVE.fullmatch(path.name)]
    extracted = [path for path in _children(home / "process/scripts") if _touched_s(path) < before_s]
    if archives or extracted:
        kept, busy = scripts_of(runs)
        ours = {script.script for sweep in sweeps if (script := sweep.descriptor.ml.script)}
        kept, busy = kept | ours | set(scripts), busy | ours
        yield from _found("script", (path for path in archives if path.name not in kept))
        yield from _found("script copy", (path for path in extracted if f"{path.name}.tar" not in busy))


def pack(home: Path, runs: Runs, records: Records, *, before_s: float, dry_run: bool) -> Iterator[Garbage]:
    """Compress the records of runs that ended before ``before_s``; each with the bytes freed (or, dry, its size)."""
    final = tuple(status for status in Status if status.final)
    for row in runs.find(RunQuery(statuses=final, until_s=before_s, limit=_ALL, newest_first=False)):
        folder = home / layout.RECORDS / row.id
        whole = [path for path in _children(folder) if path.is_dir() and layout.attempt_of(path.name)]
        if not whole or row.ended_s is None or row.ended_s >= before_s:
            continue
        size_bytes = sum(map(_size, whole)) if dry_run else records.pack(row.id)
        yield Garbage("record", folder, size_bytes)


def remove(garbage: Garbage) -> None:
    """Delete a file or folder; no error if it does not exist."""
    path = Path(garbage.path)
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _unknown_runs(runs: Runs, folders: Sequence[Path]) -> Iterator[Path]:
    """Record folders of runs that are not stored (the run is stored before its folder is made)."""
    for start in range(0, len(folders), _BATCH):
        batch = folders[start : start + _BATCH]
        rows = runs.find(RunQuery(ids=tuple(path.name for path in batch), limit=_BATCH))
        known = {row.id for row in rows}
        yield from (path for path in batch if path.name not in known)


def _without_unfinished_run(runs: Runs, files: Sequence[Path]) -> Iterator[Path]:
    """Handed-over environments of runs that are final or not stored, and unfinished files."""
    for start in range(0, len(files), _BATCH):
        batch = files[start : start + _BATCH]
        ids = tuple(path.stem for path in batch if layout.is_run_id(path.stem))
        rows = runs.find(RunQuery(ids=ids, limit=_BATCH)) if ids else ()
        unfinished = {row.id for row in rows if not row.status.final}
        yield from (path for path in batch if path.stem not in unfinished)


def scripts_of(runs: Runs) -> tuple[set[str], set[str]]:
    """Keys of the script archives of all runs, and of those that are not final."""
    kept: set[str] = set()
    busy: set[str] = set()
    for row in runs.find(RunQuery(limit=_ALL)):
        script = runs.get(row.id).descriptor.ml.script
        if script:
            kept.add(script.script)
            if not row.status.final:
                busy.add(script.script)
    return kept, busy


def _found(kind: str, paths: Iterable[Path]) -> Iterator[Garbage]:
    for path in paths:
        yield Garbage(kind, path, _size(path))


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _touched_s(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return float("inf")


def _size(path: Path) -> int:
    """Bytes on the disk."""
    files = [path, *path.rglob("*")] if path.is_dir() else [path]
    return sum(file.lstat().st_blocks * 512 for file in files if not file.is_dir())
