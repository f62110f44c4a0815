"""Transfer of runs between home folders as archives."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

from anubis.contracts.records import RecordKey, RoleFiles, sample_blocks
from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.run import Run
from anubis.record import layout
from anubis.record.files import READ_BYTES
from anubis.record.reading import Record
from anubis.transfer import run_archive

#: Folder in the home folder for archives that are being imported.
INCOMING = "incoming"


def export(run: Run, world: World, out: BinaryIO) -> None:
    """Write all data of a final run. Raises BadInputError if the run is not final."""
    if not run.status.final:
        raise BadInputError(f"run {run.id} is not final yet", remedy=f"wait for it: anubis watch {run.id}")
    archived = run_archive.ArchivedRun(
        run=run,
        text=world.runs.text(run.id),
        events=tuple(world.events.read(run.id, limit=1_000_000)),
        points=tuple(world.points.of([run.id])),
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


def import_archive(file: Path, world: World, home: Path) -> Run:
    """Store the run of an archive with its record. Raises BadInputError; then nothing is stored."""
    try:
        stream = file.open("rb")
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}", remedy="give the path of an exported run") from error
    incoming = home / INCOMING
    incoming.mkdir(exist_ok=True)
    with stream, tempfile.TemporaryDirectory(dir=incoming) as folder:
        unpacked = run_archive.read(stream, Path(folder))
        run = _with_cell(unpacked.archived)
        if world.runs.find(RunQuery(ids=(run.id,))):
            raise BadInputError(f"run {run.id} already exists", remedy="purge it first to replace it")
        _keep_files(unpacked, world)
        archived = unpacked.archived
        samples = sample_blocks(Record(RoleFiles(world.records, RecordKey(run.id, run.attempt))))
        world.runs.add_finished(
            [(run, archived.text)], archived.points, events=archived.events, samples={run.id: samples}
        )
    return run


def _with_cell(archived: run_archive.ArchivedRun) -> Run:
    """The run; in archives of earlier versions its cell is data of the event that records the submission."""
    submitted = next((event for event in archived.events if event.kind == "submitted"), None)
    if archived.run.cell or submitted is None:
        return archived.run
    return replace(archived.run, cell=submitted.data.get("cell", {}))


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
