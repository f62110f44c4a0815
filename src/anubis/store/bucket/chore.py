"""Copies the records and objects of a home folder to a bucket."""

import contextlib
import fcntl
import logging
import os
import shutil
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from anubis.contracts.clock import Clock
from anubis.contracts.runs import RunQuery, RunReader, RunRow
from anubis.model.errors import StoreError, disk_error
from anubis.record import access, files, layout, packing
from anubis.record.validation import DamagedError
from anubis.store.bucket.connection import AWAY_S, Bucket, BucketAwayError
from anubis.store.bucket.copying import AttemptCopy, Outcome, is_whole
from anubis.store.bucket.manifest import COPIED
from anubis.store.bucket.objects import SharedObjects
from anubis.store.bucket.owner import claim
from anubis.store.folder_records import FolderRecords

log = logging.getLogger(__name__)

#: Pause between two copies of a record that grows, seconds: a share of the age of the run, within limits.
FIRST_PAUSE_S, LONGEST_PAUSE_S, _SHARE = 2.0, 60.0, 0.02
#: Runs of one turn, and of one query.
_TURN, _BATCH = 50, 500
#: Records that are copied at the same time.
_THREADS = 8
#: Interval between looks for objects that are not copied, and for copies here that may be removed; seconds.
_LOOK_EVERY_S = 60.0
#: In the home folder: the identifier of this home folder, and the lock of the process that copies.
FOLDER, _ID, _LOCK = "bucket", "id", "lock"


@dataclass(frozen=True, slots=True, kw_only=True)
class Copied:
    """What is copied, and from where."""

    home: Path
    records: Path
    database_url: str
    #: A copy here is removed so long after it was copied, seconds; None: never.
    keep_s: float | None


class Replication:
    """A chore that copies the records of runs while they grow; when a run is final, all of its record is read back.

    One process copies from a home folder at a time: it has a lock, which the kernel releases when it ends.
    """

    name = "replication"

    def __init__(
        self, bucket: Bucket, copied: Copied, runs: RunReader, objects: SharedObjects, clock: Clock
    ) -> None:
        self._bucket = bucket
        self._place = copied
        self._here = FolderRecords(copied.records)
        self._runs = runs
        self._objects = objects
        self._clock = clock
        self._lock: int | None = None
        self._home = ""
        #: Runs of which nothing is left to do in this process.
        self._done: set[str] = set()
        self._copies: dict[tuple[str, int], AttemptCopy] = {}
        self._next_s: dict[str, float] = {}
        self._look_s = 0.0
        self._was_away = self._has_claimed = False

    def turn(self) -> float | None:
        """Copy what is new; None if nothing is left to copy, or another process copies."""
        if not self._is_locked():
            return None
        try:
            pause_s = self._turn()
        except BucketAwayError as error:
            if not self._was_away:
                log.warning("records and objects are copied later: %s", error)
            self._was_away = True
            return AWAY_S
        if self._was_away:
            log.info("the bucket %s answers again", self._bucket.address)
            self._was_away = False
        return pause_s

    def _turn(self) -> float | None:
        now_s = self._clock.monotonic_s()
        if now_s >= self._look_s:
            if not self._has_claimed:
                claim(self._bucket, self._place.database_url)
                self._has_claimed = True
            if copied := self._objects.copy_missing():
                log.info("copied %d objects to %s", copied, self._bucket.address)
            self._remove_old()
            self._look_s = now_s + _LOOK_EVERY_S
        rows, is_rest = self._some_waiting()
        outcomes = _for_each(rows, lambda row: self._try_copy(row, now_s))
        for outcome in outcomes:
            if isinstance(outcome, BucketAwayError):
                raise outcome
        if is_rest:
            return 0.0
        if any(isinstance(outcome, Exception) for outcome in outcomes):
            return AWAY_S
        return FIRST_PAUSE_S if any(outcomes) else None

    def _try_copy(self, row: RunRow, now_s: float) -> bool | Exception:
        """Whether something of a run is left, or why it was not copied; the others are copied nevertheless."""
        try:
            return self._copy(row, now_s)
        except BucketAwayError as error:
            return error
        except Exception as error:
            is_known = isinstance(error, StoreError | DamagedError)
            log.warning("the record of run %s is not copied yet: %s", row.id, error, exc_info=not is_known)
            return error

    def _some_waiting(self) -> tuple[Sequence[RunRow], bool]:
        """Those of ``_waiting`` that are not final, and some that are; whether there are more."""
        rows: list[RunRow] = []
        count = 0
        for row in self._waiting():
            count += row.status.final
            if count > _TURN:
                return rows, True
            rows.append(row)
        return rows, False

    def _waiting(self) -> Iterator[RunRow]:
        """The runs with a record here that is not copied. Those that are not stored are left out."""
        names = [name for name in self._names() if name not in self._done and not self._is_copied(name)]
        for start in range(0, len(names), _BATCH):
            batch = tuple(names[start : start + _BATCH])
            yield from self._runs.find(RunQuery(ids=batch, limit=_BATCH))

    def _names(self) -> Sequence[str]:
        try:
            names = [path.name for path in self._place.records.iterdir()]
            return sorted(filter(layout.is_run_id, names))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise disk_error(f"the records in {self._place.records} cannot be read", error) from error

    def _copy(self, row: RunRow, now_s: float) -> bool:
        """Copy the record of a run; whether something is left."""
        if not row.status.final and now_s < self._next_s.get(row.id, 0.0):
            return True
        attempts = self._here.attempts(row.id)
        was_packed = not any(self._folder(row.id, attempt).exists() for attempt in attempts)
        outcomes = {attempt: self._copied(row.id, attempt, final=row.status.final) for attempt in attempts}
        if not row.status.final:
            age_s = self._clock.now_s() - row.created_s
            pause_s = min(max(FIRST_PAUSE_S, _SHARE * age_s), LONGEST_PAUSE_S)
            self._next_s[row.id] = now_s + pause_s
            return True
        self._next_s.pop(row.id, None)
        if Outcome.LEFT in outcomes.values():
            self._done.add(row.id)
            return False
        if Outcome.MORE in outcomes.values():
            log.warning("run %s: the bucket has more of its record; the copy here is removed", row.id)
            self._remove_here(row.id)
            return False
        if was_packed:
            self._here.pack(row.id)
        self._note_copied(row.id)
        return False

    def _copied(self, run_id: str, attempt: int, *, final: bool) -> Outcome:
        copy = self._copies.get((run_id, attempt))
        if copy is None:
            copy = AttemptCopy(self._bucket, self._here, run_id, attempt, self._home)
            self._copies[run_id, attempt] = copy
        outcome = copy.copy(final=final)
        if final:
            del self._copies[run_id, attempt]
        return outcome

    def _is_copied(self, run_id: str) -> bool:
        try:
            is_copied = (self._place.records / run_id / COPIED).read_text() == self._bucket.address
        except (OSError, ValueError):
            return False
        if is_copied:
            self._done.add(run_id)
        return is_copied

    def _note_copied(self, run_id: str) -> None:
        folder = self._place.records / run_id
        try:
            if folder.is_dir():  # it may be purged meanwhile
                files.replace(str(folder), COPIED, self._bucket.address.encode())
        except OSError as error:
            raise disk_error(f"the record of run {run_id} in {self._place.records}", error) from error
        self._done.add(run_id)

    def _remove_old(self) -> None:
        """Remove copies here of records that are in the bucket for so long, after another look at the bucket."""
        if self._place.keep_s is None:
            return
        before_s = self._clock.now_s() - self._place.keep_s
        for run_id in self._names():
            try:
                copied_s = (self._place.records / run_id / COPIED).stat().st_mtime
            except OSError:
                continue
            if copied_s > before_s or not self._is_copied(run_id):
                continue
            if is_whole(self._bucket, self._here, run_id):
                self._remove_here(run_id)
            else:
                log.warning(
                    "the bucket has no longer all of the record of run %s; it is copied again", run_id
                )
                (self._place.records / run_id / COPIED).unlink(missing_ok=True)
                self._done.discard(run_id)

    def _remove_here(self, run_id: str) -> None:
        """Remove a record here; a reader sees all of it, or none."""
        folder = self._place.records / run_id
        try:
            for attempt in self._here.attempts(run_id):
                path = self._folder(run_id, attempt)
                Path(packing.packed(str(path))).unlink(missing_ok=True)
                if path.exists():
                    path.rename(folder / f"{packing.UNFINISHED}{path.name}-{os.urandom(8).hex()}")
            shutil.rmtree(folder)
        except OSError as error:
            raise disk_error(f"the record of run {run_id} in {self._place.records}", error) from error

    def _folder(self, run_id: str, attempt: int) -> Path:
        return self._place.records / run_id / layout.attempt_name(attempt)

    def _is_locked(self) -> bool:
        """Whether this process copies from this home folder."""
        if self._lock is not None:
            return True
        folder = self._place.home / FOLDER
        try:
            access.make_folder(str(folder))
            lock = access.create(str(folder / _LOCK), os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                return False
            weakref.finalize(self, os.close, lock)
            self._lock = lock
            self._home = _identifier(folder)
        except OSError as error:
            raise disk_error(f"the folder {folder} cannot be written", error) from error
        return True


def _for_each(rows: Sequence[RunRow], copy: Callable[[RunRow], bool | Exception]) -> list[bool | Exception]:
    """The results of a function for these rows, in a few threads, which do not delay the end of the process."""
    waiting: SimpleQueue[RunRow] = SimpleQueue()
    for row in rows:
        waiting.put(row)
    outcomes: list[bool | Exception] = []

    def work() -> None:
        with contextlib.suppress(Empty):
            while True:
                outcomes.append(copy(waiting.get_nowait()))

    threads = [
        threading.Thread(target=work, name="replication", daemon=True)
        for _ in range(min(_THREADS, len(rows)))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def _identifier(folder: Path) -> str:
    with contextlib.suppress(FileNotFoundError):
        return (folder / _ID).read_text()
    new = os.urandom(16).hex()
    files.replace(str(folder), _ID, new.encode(), durable=True)
    return new
