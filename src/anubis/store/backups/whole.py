"""Backups of whole installations: a folder with the database as one SQLite file, and the records and objects beside it.

The chain is copied first, then the database, then the files. So every run that was final when the backup began is in the
database, and its record, which does not change any more, is among the files.
"""

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from anubis.contracts.runs import RunQuery
from anubis.model.cause import Cause
from anubis.model.errors import BadInputError, disk_error
from anubis.pipeline.conclusion import conclude
from anubis.record import access, layout
from anubis.sealing.chain import FILE as CHAIN
from anubis.sealing.chain import Addition, Kind, RecordChain
from anubis.settings import Settings
from anubis.store.backups import tables
from anubis.store.backups.bucket_copies import BucketCopies
from anubis.store.backups.copying import DATABASE, OBJECTS, PRICES, Copied, checked
from anubis.store.opening import open_store
from anubis.store.sql.codes import FIRST_FINAL
from anubis.store.sql.database import chunked
from anubis.store.sql.drivers import driver_for

#: Owner of the leases of a restore, and their duration, seconds.
_OWNER, _LEASE_S, _ALL = "restore", 60.0, 10_000_000
_BATCH = 500
_IN_PROGRESS = "the run was in progress when the backup was made"


@dataclass(frozen=True, slots=True, kw_only=True)
class Backup:
    """What was written."""

    folder: Path
    #: Final runs, and those of them without a record: imported ones, and runs of other machines.
    runs: int
    without_record: int
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What was restored."""

    runs: int
    #: Runs in progress, which were ended with the cause ``lost``.
    ended: int


def back_up(settings: Settings, folder: Path, *, now_s: float) -> Backup:
    """Write a backup of an installation, which may be in use, to a new folder.

    The folder appears when the backup is complete. Secrets, environments and datasets are left out. Raises BadInputError
    for a folder that exists, StoreError if something cannot be read or written.
    """
    if folder.exists():
        raise BadInputError(f"{folder} exists already", remedy="name a new folder")
    part = folder.with_name(f"{folder.name}.part-{os.urandom(4).hex()}")
    try:
        access.make_folder(str(part))
        copied = Copied(part)
        _copy_chain(settings.home / CHAIN, copied)
        tables.snapshot(settings.database_url, part / DATABASE)
        bucket = BucketCopies.of(settings)
        attempts = dict(_final(part / DATABASE))
        runs = list(attempts)
        without = [
            run_id
            for run_id in runs
            if not _copy_record(settings.records, run_id, attempts[run_id], copied, bucket)
        ]
        purged = _purged(settings, without) if without else []
        if purged:
            _forget(part, purged, now_s)
        copied.folder(settings.home / OBJECTS, OBJECTS)
        if bucket:
            bucket.copy_objects(copied)
        with contextlib.suppress(FileNotFoundError):
            copied.file(settings.prices, PRICES)
        for name in (DATABASE, *([CHAIN] if (part / CHAIN).exists() else [])):
            copied.note(name)
        copied.write_sums()
        os.sync()
        part.rename(folder)
    except OSError as error:
        raise disk_error(f"the backup {folder} cannot be written", error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)
    return Backup(
        folder=folder,
        runs=len(runs) - len(purged),
        without_record=len(without) - len(purged),
        size_bytes=copied.size_bytes,
    )


def _copy_chain(source: Path, copied: Copied) -> None:
    """Copy the complete lines of the chain."""
    with contextlib.suppress(FileNotFoundError):
        size_bytes = source.read_bytes().rfind(b"\n") + 1
        copied.file(source, CHAIN, size_bytes)
        del copied.digests[CHAIN]  # noted when the backup is complete


def _final(database: Path) -> Iterator[tuple[str, int]]:
    """The ids of the final runs, and the numbers of their last attempts."""
    with contextlib.closing(sqlite3.connect(database)) as connection:
        rows = connection.execute(
            "SELECT id, attempt FROM runs WHERE status >= ? ORDER BY no", (FIRST_FINAL,)
        )
        yield from [(str(UUID(bytes=run_id)), attempt) for run_id, attempt in rows]


def _copy_record(
    records: Path, run_id: str, attempt: int, copied: Copied, bucket: BucketCopies | None
) -> bool:
    """Copy the record of a final run from the home folder, and what is not there from the bucket; whether there is one."""
    name = f"{layout.RECORDS}/{run_id}"
    is_here = copied.record(records / run_id, name)
    folder = layout.attempt_name(attempt)
    if bucket is None or (is_here and copied.has(f"{name}/{folder}")):
        return is_here
    return bucket.copy_record(copied, run_id) or is_here


def _purged(settings: Settings, run_ids: list[str]) -> list[str]:
    """Those of these runs that are not stored any more."""
    with contextlib.closing(open_store(settings.database_url)) as store:
        found = {
            row.id
            for ids in chunked(run_ids, _BATCH)
            for row in store.runs.find(RunQuery(ids=tuple(ids), limit=_BATCH))
        }
    return [run_id for run_id in run_ids if run_id not in found]


def _forget(part: Path, run_ids: list[str], now_s: float) -> None:
    """Remove runs that were purged during the backup from its database, and say so in its chain."""
    with contextlib.closing(open_store(f"sqlite:///{part / DATABASE}")) as store:
        store.runs.remove(run_ids)
    _as_one_file(part / DATABASE)
    if (part / CHAIN).exists():
        additions = [Addition(run_id=run_id, kind=Kind.PURGED) for run_id in run_ids]
        RecordChain(part / CHAIN).add(additions, now_s=now_s)


def restore(settings: Settings, folder: Path, *, now_s: float) -> Restored:
    """Restore a backup into an installation without a database, or with an empty one on PostgreSQL.

    All files of the backup are read and compared with their digests first. A restore that was killed can be repeated.
    Raises BadInputError for a damaged backup, and for an installation with runs.
    """
    driver = driver_for(settings.database_url)
    path = Path(driver.place)
    if driver.name == "sqlite" and path.exists():
        raise BadInputError(
            f"there is a database already: {path}",
            remedy="set ANUBIS_HOME to a folder that does not exist yet",
        )
    if driver.name != "sqlite":
        with (
            contextlib.closing(open_store(settings.database_url)) as store,
            store.database.session() as session,
        ):
            tables.check_empty(driver, session.connection)
    names = checked(folder)
    part = settings.home / f"{DATABASE}.restored"
    try:
        access.make_folder(str(settings.home))
        for name in names:
            if name != DATABASE:
                _put(folder / name, settings.prices if name == PRICES else settings.home / name)
        part.unlink(missing_ok=True)
        os.close(
            access.create(str(part), os.O_WRONLY)
        )  # only its owner, or the group of the home folder, may read it
        shutil.copyfile(folder / DATABASE, part)
        restored = _ended(part, now_s)
        if driver.name == "sqlite":
            _in_mode("WAL", part)
            os.sync()
            part.rename(path)
        else:
            tables.load(part, settings.database_url)
    except OSError as error:
        raise disk_error(f"{folder} cannot be restored in {settings.home}", error) from error
    finally:
        part.unlink(missing_ok=True)
    return restored


def _put(source: Path, target: Path) -> None:
    """Copy a file; one of an interrupted restore is replaced."""
    access.make_folder(str(target.parent))
    part = target.with_name(f"{target.name}{layout.PART}")
    shutil.copyfile(source, part)
    shutil.copystat(source, part)
    part.replace(target)


def _ended(database: Path, now_s: float) -> Restored:
    """Bring the schema up to date, end the runs in progress, and release what waits."""
    with contextlib.closing(open_store(f"sqlite:///{database}")) as store:
        for owner in store.leases.owners():
            store.leases.release(owner)
        placed = [
            run
            for run in store.leases.claim(_OWNER, now_s=now_s, lease_s=_LEASE_S, limit=_ALL)
            if run.placement is not None
        ]
        for run in placed:
            store.leases.apply(_OWNER, run, conclude(run, now_s, Cause.LOST, _IN_PROGRESS), now_s=now_s)
        store.leases.release(_OWNER)
    _as_one_file(database)
    return Restored(runs=len(list(_final(database))), ended=len(placed))


def _as_one_file(database: Path) -> None:
    """Without a log beside it."""
    _in_mode("DELETE", database)


def _in_mode(mode: str, database: Path) -> None:
    with contextlib.closing(sqlite3.connect(database)) as connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
