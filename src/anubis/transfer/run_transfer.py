"""Runs from one home to another, as archives."""

import tempfile
from pathlib import Path
from typing import BinaryIO

from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.run import Run
from anubis.pipeline.record import Record
from anubis.transfer import run_archive

#: Below the home folder: archives that are being read.
INCOMING = "incoming"


def export(run: Run, world: World, out: BinaryIO) -> None:
    """Write everything about a final run. Raises BadInputError for one that is not final."""
    if not run.status.final:
        raise BadInputError(f"run {run.id} is not final yet", remedy=f"wait for it: anubis watch {run.id}")
    archived = run_archive.ArchivedRun(
        run=run,
        text=world.runs.text(run.id),
        events=tuple(world.events.read(run.id, limit=1_000_000)),
        points=tuple(world.points.of([run.id])),
    )
    folders = {attempt: world.records.folder(run.id, attempt) for attempt in world.records.attempts(run.id)}
    run_archive.write(archived, folders, _script(run, world), out)


def _script(run: Run, world: World) -> bytes | None:
    if run.descriptor.ml.script is None:
        return None
    try:
        with world.objects.open(run.descriptor.ml.script.script) as stream:
            return stream.read()
    except NotFoundError:
        return None


def import_archive(file: Path, world: World, home: Path) -> Run:
    """Store the run of an archive with its record. Raises BadInputError, having stored nothing."""
    try:
        stream = file.open("rb")
    except OSError as error:
        raise BadInputError(f"{file}: {error.strerror}", remedy="give the path of an exported run") from error
    incoming = home / INCOMING
    incoming.mkdir(exist_ok=True)
    with stream, tempfile.TemporaryDirectory(dir=incoming) as folder:
        unpacked = run_archive.read(stream, Path(folder))
        run = unpacked.archived.run
        if world.runs.find(RunQuery(ids=(run.id,))):
            raise BadInputError(
                f"run {run.id} is here already", remedy="purge it first if this one is to replace it"
            )
        _keep_files(unpacked, world)
        archived = unpacked.archived
        samples = Record(world.records.folder(run.id, run.attempt)).samples()
        world.runs.add_finished(
            [(run, archived.text)], archived.points, events=archived.events, samples={run.id: samples}
        )
    return run


def _keep_files(unpacked: run_archive.UnpackedArchive, world: World) -> None:
    """Files come before rows: an interruption leaves files without a run, which the next import replaces."""
    run = unpacked.archived.run
    world.records.remove(run.id)
    for attempt, folder in unpacked.records.items():
        place = world.records.folder(run.id, attempt)
        place.parent.mkdir(parents=True, exist_ok=True)
        folder.rename(place)
    if unpacked.script and run.descriptor.ml.script:
        with unpacked.script.open("rb") as script:
            world.objects.put(run.descriptor.ml.script.script, script)
