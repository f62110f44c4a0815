"""Files in the home folder that nothing refers to: what purges, crashes and interrupted imports leave behind."""

import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.cli.select.refs import MOST
from anubis.contracts.runs import RunQuery
from anubis.model.status import Status
from anubis.record import layout, packing
from anubis.transfer.run_transfer import INCOMING

if TYPE_CHECKING:
    from anubis.client import Client

_ARCHIVE = re.compile(r"[0-9a-f]{64}\.tar")
_BATCH = 500


@dataclass(frozen=True, slots=True)
class Leftover:
    """A file or folder that may go."""

    kind: str
    path: Path
    size_bytes: int


def leftovers(client: "Client", *, before_s: float) -> Iterator[Leftover]:
    """Everything that nothing refers to and that nobody has touched since ``before_s`` (UTC seconds)."""
    home = client.settings.home
    records = [path for path in _children(client.settings.records) if layout.is_run_id(path.name)]
    yield from _found(
        "record", _unknown_runs(client, [path for path in records if _touched_s(path) < before_s])
    )
    halves = (
        path for record in records for path in _children(record) if path.name.startswith(packing.UNFINISHED)
    )
    yield from _found("packing", (path for path in halves if _touched_s(path) < before_s))
    yield from _found("import", (path for path in _children(home / INCOMING) if _touched_s(path) < before_s))
    objects = [path for path in _children(home / "objects") if _touched_s(path) < before_s]
    yield from _found("upload", (path for path in objects if path.name.startswith(".new-")))
    archives = [path for path in objects if _ARCHIVE.fullmatch(path.name)]
    extracted = [path for path in _children(home / "process/scripts") if _touched_s(path) < before_s]
    if archives or extracted:
        kept, busy = _scripts(client)
        yield from _found("script", (path for path in archives if path.name not in kept))
        yield from _found("script copy", (path for path in extracted if f"{path.name}.tar" not in busy))


def packed(client: "Client", *, before_s: float, dry_run: bool) -> Iterator[Leftover]:
    """Records of runs that ended before ``before_s``, with the bytes that packing them freed (or, dry, that they take)."""
    final = tuple(status for status in Status if status.final)
    for row in client.find(RunQuery(statuses=final, until_s=before_s, limit=MOST, newest_first=False)):
        folder = client.settings.records / row.id
        whole = [path for path in _children(folder) if path.is_dir() and layout.attempt_of(path.name)]
        if not whole or row.ended_s is None or row.ended_s >= before_s:
            continue
        size_bytes = sum(map(_size, whole)) if dry_run else client.pack_record(row.id)
        yield Leftover("record", folder, size_bytes)


def remove(leftover: Leftover) -> None:
    """Delete it; silent when somebody else did."""
    if leftover.path.is_dir() and not leftover.path.is_symlink():
        shutil.rmtree(leftover.path, ignore_errors=True)
    else:
        leftover.path.unlink(missing_ok=True)


def _unknown_runs(client: "Client", folders: Sequence[Path]) -> Iterator[Path]:
    """Record folders of runs that are not stored (the run is stored before its folder is made)."""
    for start in range(0, len(folders), _BATCH):
        batch = folders[start : start + _BATCH]
        rows = client.find(RunQuery(ids=tuple(path.name for path in batch), limit=_BATCH))
        known = {row.id for row in rows}
        yield from (path for path in batch if path.name not in known)


def _scripts(client: "Client") -> tuple[set[str], set[str]]:
    """Keys of the script archives of all runs, and of those that are not final."""
    kept: set[str] = set()
    busy: set[str] = set()
    for row in client.find(RunQuery(limit=MOST)):
        script = client.get(row.id).descriptor.ml.script
        if script:
            kept.add(script.script)
            if not row.status.final:
                busy.add(script.script)
    return kept, busy


def _found(kind: str, paths: Iterable[Path]) -> Iterator[Leftover]:
    for path in paths:
        yield Leftover(kind, path, _size(path))


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
