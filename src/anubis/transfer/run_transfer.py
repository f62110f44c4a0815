"""Transfer of runs between home folders as archives."""

import contextlib
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from anubis.contracts.records import RecordKey, Records
from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.errors import BadInputError, NotFoundError, disk_error
from anubis.model.identity import series_key
from anubis.model.points import SampleBlock
from anubis.model.run import Run
from anubis.record import access, layout
from anubis.record.files import READ_BYTES, FileState
from anubis.record.reading import Record
from anubis.record.validation import DamagedError
from anubis.transfer import run_archive
from anubis.transfer.archived_rows import imported_event, imported_run

#: Folder in the home folder for archives that are being imported.
INCOMING = "incoming"
SamplesOf = Callable[[Run, Records], Sequence[SampleBlock]]


def export(run: Run, world: World, out: BinaryIO) -> None:
    """Write all data of a final run. Raises BadInputError if the run is not final."""
    if not run.status.final:
        raise BadInputError(f"run {run.id} is not final yet", remedy=f"wait for it: anubis watch {run.id}")
    key = series_key(run.descriptor) if run.project != DEFAULT_PROJECT else run.series_key
    archived = run_archive.ArchivedRun(
        run=replace(run, project=DEFAULT_PROJECT, series_key=key),
        text=world.runs.text(run.id),
        events=tuple(world.events.read(run.id, limit=1_000_000)),
        points=tuple(replace(point, series_key=key) for point in world.points.of([run.id])),
    )
    run_archive.write(archived, world.records, _script(run, world), out)


def _script(run: Run, world: World) -> bytes | None:
    if run.descriptor.ml.script is None:
        return None
    try:
        with world.objects.open(run.descriptor.ml.script.script) as stream:
            return stream.read()
    except NotFoundError:
        return None


def import_archive(file: Path, world: World, home: Path, samples_of: SamplesOf) -> Run:
    """Store the run of an archive with its record. Raises BadInputError; then nothing is stored.

    ``samples_of`` reads the samples of the run from its stored record.
    """
    incoming = home / INCOMING
    try:
        with _opened(file) as stream:
            size_bytes = os.fstat(stream.fileno()).st_size
            access.make_folder(str(incoming))
            with tempfile.TemporaryDirectory(dir=incoming) as folder:
                unpacked = run_archive.read(stream, size_bytes, Path(folder))
                return _store(unpacked, world, samples_of)
    except OSError as error:
        raise disk_error(f"cannot import {file} into {home}", error) from error
    finally:
        with contextlib.suppress(OSError):  # another import uses the folder
            incoming.rmdir()


def _opened(file: Path) -> BinaryIO:
    try:
        stream = open(file, "rb", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK))  # noqa: SIM115
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}", remedy="give the path of an exported run") from error
    if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
        stream.close()
        raise BadInputError(f"{file} is not a regular file", remedy="give the path of an exported run")
    return stream


def _store(unpacked: run_archive.UnpackedArchive, world: World, samples_of: SamplesOf) -> Run:
    archived = unpacked.archived
    run = imported_run(_with_cell(archived))
    if world.runs.find(RunQuery(ids=(run.id,))):
        raise BadInputError(f"run {run.id} already exists", remedy="purge it first to replace it")
    try:
        Record(_UnpackedFiles(unpacked, RecordKey(run.id, run.attempt))).samples()
    except DamagedError as error:
        raise BadInputError(
            f"the record in the archive is damaged: {error}", remedy="export the run again"
        ) from error
    try:
        _keep_files(unpacked, world)
        world.runs.add_finished(
            [(run, archived.text)],
            archived.points,
            events=[imported_event(event) for event in archived.events],
            samples={run.id: samples_of(run, world.records)},
        )
    except BaseException:
        if not world.runs.find(RunQuery(ids=(run.id,))):
            world.records.remove(run.id)
        raise
    return run


class _UnpackedFiles:
    """``Files`` of one role and rank of an archive that is not stored yet."""

    def __init__(self, unpacked: run_archive.UnpackedArchive, key: RecordKey) -> None:
        self._paths = {file: path for (of, file), path in unpacked.files.items() if of == key}

    def read(self, file: str, offset: int, length: int) -> bytes:
        """See ``Files``."""
        path = self._paths.get(file)
        if path is None:
            return b""
        with path.open("rb") as stream:
            stream.seek(offset)
            return stream.read(length)

    def state(self, file: str) -> FileState | None:
        """See ``Files``."""
        path = self._paths.get(file)
        if path is None:
            return None
        found = path.stat()
        return FileState(found.st_size, found.st_mtime)


def _with_cell(archived: run_archive.ArchivedRun) -> Run:
    """The run; in archives of earlier versions its cell is data of the event that records the submission."""
    submitted = next((event for event in archived.events if event.kind == "submitted"), None)
    if archived.run.cell or submitted is None:
        return archived.run
    cell = submitted.data.get("cell", {})
    if not isinstance(cell, dict):
        raise BadInputError("the archive has no valid cell of its run", remedy="export the run again")
    return replace(archived.run, cell=cell)


def _keep_files(unpacked: run_archive.UnpackedArchive, world: World) -> None:
    """Store the files, before the rows: an interruption leaves files without a run, which the next import replaces."""
    run = unpacked.archived.run
    world.records.remove(run.id)
    for (key, file), path in sorted(unpacked.files.items(), key=lambda item: item[0][1] == layout.EXIT):
        _keep_file(key, file, path, world)
    if unpacked.script and run.descriptor.ml.script:
        with unpacked.script.open("rb") as script:
            world.objects.put(run.descriptor.ml.script.script, script)


def _keep_file(key: RecordKey, file: str, path: Path, world: World) -> None:
    if file in layout.REPLACED:
        world.records.replace(key, file, path.read_bytes())
        return
    offset = world.records.append(key, file, 0, b"")
    with path.open("rb") as content:
        while data := content.read(READ_BYTES):
            offset = world.records.append(key, file, offset, data)
