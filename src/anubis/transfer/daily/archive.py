"""Daily data sets: Parquet files of what happened on each UTC day, with a manifest that is written last.

Parts are only added. Each manifest says up to which event its day is written, so a write that was interrupted, or events
of an earlier day that are stored late, add another part without repeating rows.
"""

import fcntl
import io
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from anubis.contracts.objects import Objects
from anubis.contracts.world import World
from anubis.model.errors import BadInputError, NotFoundError, disk_error
from anubis.model.run import Event
from anubis.transfer.daily.rows import add_run, event_row
from anubis.transfer.daily.tables import SCHEMA, pyarrow_modules, table_files

INDEX, MANIFEST, LOCK = "index.json", "manifest.json", ".lock"
DAY_S = 86_400.0
_PAGE = 1000
#: The last second of the year 9999.
_LAST_S = 253_402_300_799.0


@dataclass(slots=True)
class Index:
    """What an archive contains; it can be made again from the manifests and the events."""

    #: Every event up to this number is written, or belongs to a day that has not ended.
    through_seq: int = 0
    #: Days that have a manifest.
    days: list[str] = field(default_factory=list)
    #: Those that were written before their end.
    open_days: list[str] = field(default_factory=list)
    #: Everything before this time is written; UTC seconds.
    before_s: float = 0.0


@dataclass(slots=True)
class _Touched:
    """The numbers of the new events of a day: all are above ``after`` and at most ``last``."""

    after: int
    last: int


@dataclass(frozen=True, slots=True)
class Place:
    """Where an archive is."""

    #: A folder, or an address; shown to users.
    name: str
    objects: Objects
    #: Locks it for one writer until the end of a block; False if another one has it.
    locked: Callable[[], AbstractContextManager[bool]]


@contextmanager
def locked(folder: Path) -> Iterator[bool]:
    """Lock the archive in a folder for one writer; False if another one has it. The lock ends with the process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise disk_error(f"the archive {folder} cannot be written", error) from error
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
        else:
            yield True
    finally:
        os.close(file)


class Archive:
    """The data sets in one place. Only one writer at a time: see ``Place``."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def index(self) -> Index:
        """What the archive contains. Raises BadInputError if the place contains something else."""
        plain = self._read(INDEX)
        return Index(**{name: plain[name] for name in Index.__slots__}) if plain else Index()

    def manifest(self, day: str) -> dict[str, Any]:
        """The manifest of a day (YYYY-MM-DD). Raises NotFoundError."""
        manifest = self._read(f"{day}/{MANIFEST}")
        if manifest is None:
            raise NotFoundError(f"the archive has no day {day}", remedy="anubis archive list shows the days")
        return manifest

    def write(self, world: World, *, today: bool = False) -> Sequence[dict[str, Any]]:
        """Write the days that have new events, and have ended unless ``today``; their manifests."""
        pyarrow_modules()
        index, last = self.index(), world.events.last()
        now = day_of(world.clock.now_s())
        touched = _touched(world, index.through_seq, last)
        later = [each.after for day, each in touched.items() if day >= now and not today]
        for day in index.open_days:
            touched.setdefault(day, _Touched(last, last))
        written = [
            self._write_day(world, day, touched[day], complete=day < now)
            for day in sorted(touched)
            if day < now or today
        ]
        days = {manifest["day"] for manifest in written}
        index.days = sorted({*index.days, *days})
        still_open = {each["day"] for each in written if not each["complete"]}
        index.open_days = sorted(still_open | (set(index.open_days) - days))
        index.through_seq = min([last, *later])
        index.before_s = datetime.fromisoformat(now).replace(tzinfo=UTC).timestamp()
        self._put(INDEX, {name: getattr(index, name) for name in Index.__slots__})
        return written

    def _write_day(self, world: World, day: str, new: _Touched, *, complete: bool) -> dict[str, Any]:
        """Add a part with the new events of a day and the runs that became final on it; the new manifest."""
        before = self._read(f"{day}/{MANIFEST}") or {"through_seq": 0, "files": []}
        after = max(new.after, before["through_seq"])
        added: list[dict[str, Any]] = []
        with table_files() as files:
            for event in _events(world, after, new.last):
                if day_of(event.time_s) == day:
                    files["events"].add(event_row(event))
                    if event.kind == "final":
                        add_run(world, event.run_id, files)
            for table, file in files.items():
                file.close()
                if file.rows:
                    path = f"{day}/{table}-{after + 1}-{new.last}.parquet"
                    with file.path.open("rb") as stream:
                        self._objects.put(path, stream)
                    added.append(file.facts(path))
        manifest = {
            "version": 1,
            "schema": SCHEMA,
            "day": day,
            "complete": complete,
            "through_seq": max(new.last, before["through_seq"]),
            "written_s": world.clock.now_s(),
            "files": [*before["files"], *added],
        }
        self._put(f"{day}/{MANIFEST}", manifest)
        return manifest

    def _put(self, key: str, plain: dict[str, Any]) -> None:
        self._objects.put(key, io.BytesIO(json.dumps(plain, indent=1).encode()))

    def _read(self, key: str) -> dict[str, Any] | None:
        try:
            with self._objects.open(key) as stream:
                plain = json.load(stream)
        except NotFoundError:
            return None
        except (ValueError, RecursionError):
            plain = None
        if not isinstance(plain, dict):
            raise BadInputError(f"{self._objects.url(key)} is not a file of an archive", remedy="delete it")
        return plain


def day_of(time_s: float) -> str:
    """The UTC day of a time, as YYYY-MM-DD. Times that no calendar has belong to the first or last day."""
    bounded_s = 0.0 if math.isnan(time_s) else min(max(time_s, 0.0), _LAST_S)
    return datetime.fromtimestamp(bounded_s, UTC).date().isoformat()


def _touched(world: World, after: int, last: int) -> dict[str, _Touched]:
    touched: dict[str, _Touched] = {}
    for event in _events(world, after, last):
        seq = event.seq or 0
        touched.setdefault(day_of(event.time_s), _Touched(seq - 1, seq)).last = seq
    return touched


def _events(world: World, after: int, last: int) -> Iterator[Event]:
    """The events above one number up to another, page by page."""
    while page := world.events.read_all(after_seq=after, limit=_PAGE):
        for event in page:
            after = event.seq or 0
            if after > last:
                return
            yield event
