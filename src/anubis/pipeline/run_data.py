"""The datasets of a run: which it needs, and which it was given."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anubis.contracts.datasets import Dataset
from anubis.contracts.source import shown_address
from anubis.contracts.world import World
from anubis.model.descriptor import Descriptor
from anubis.model.launch import Mount
from anubis.model.run import FETCHED_EVENT, Run
from anubis.model.server import Compare, DataSource
from anubis.record.reading import Record
from anubis.submission.bundle import SERVER


@dataclass(frozen=True, slots=True, kw_only=True)
class RunData:
    """The datasets that a run was given."""

    #: What the record keeps of each; see ``fetched_data``.
    rows: tuple[Mapping[str, Any], ...] = ()
    #: Where the benchmark finds its datasets, and the server its models.
    datasets: tuple[Mount, ...] = ()
    models: tuple[Mount, ...] = ()

    def mounts(self, role: str) -> tuple[Mount, ...]:
        """The mounts of a role."""
        return self.models if role == SERVER else self.datasets


NO_DATA = RunData()


def sources_of(descriptor: Descriptor) -> tuple[DataSource, ...]:
    """The datasets of the benchmark and the models of its server."""
    return (*descriptor.data.sources, *(descriptor.server.models if descriptor.server else ()))


def fetched_here(run: Run, world: World) -> tuple[DataSource, ...]:
    """What this machine fetches for the run: nothing if the machines of its engine fetch for themselves."""
    sources = sources_of(run.descriptor)
    return () if sources and world.engine(run.engine).capabilities.remote else sources


def is_writable(run: Run, world: World) -> bool:
    """Whether the processes of the run could write to its datasets: containers mount them read-only."""
    return world.engine(run.engine).capabilities.mounting.inside is None


def fetched_data(source: DataSource, dataset: Dataset) -> dict[str, Any]:
    """What the record keeps of a dataset."""
    return {
        "src": shown_address(source.src),
        "path": source.path,
        "digest": dataset.digest,
        "size_bytes": dataset.size_bytes,
        "files": len(dataset.files),
    }


def data_of(run: Run, world: World) -> RunData | None:
    """What stage fetch fetched for the run; None: a dataset is not here (any more) and must be fetched again."""
    if not fetched_here(run, world):
        return NO_DATA
    rows: Sequence[Mapping[str, Any]] = ()
    for event in world.events.read(run.id):
        if event.kind == FETCHED_EVENT:
            rows = event.data["sources"]
    writable = is_writable(run, world)
    mounts = []
    for row in rows:
        folder = world.datasets.folder(row["digest"], writable=writable)
        if folder is None:
            return None
        mounts.append(Mount(target=row["path"], source=str(folder)))
    count = len(run.descriptor.data.sources)
    return (
        RunData(rows=tuple(rows), datasets=tuple(mounts[:count]), models=tuple(mounts[count:]))
        if rows
        else None
    )


def fingerprint_of(run: Run, record: Record) -> str:
    """The fingerprint of the points of a run: of its machine, and of the datasets whose content must be equal."""
    digests = record.data_digests
    compared = [
        digests[index] if index < len(digests) else ""
        for index, source in enumerate(sources_of(run.descriptor))
        if source.compare is Compare.CONTENT
    ]
    if not compared or not record.fingerprint:
        return record.fingerprint
    return hashlib.blake2b(" ".join([record.fingerprint, *compared]).encode(), digest_size=16).hexdigest()
