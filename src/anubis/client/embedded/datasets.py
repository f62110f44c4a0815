"""The datasets that this installation has fetched."""

from collections.abc import Sequence
from pathlib import Path

from anubis.client.protocol import tools as protocol
from anubis.contracts.datasets import Dataset, StoredDataset
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.server import DataSource
from anubis.model.status import Status
from anubis.pipeline.run_data import sources_of
from anubis.wiring import Installation

#: More runs than any installation has.
_ALL = 100_000_000


class Datasets(protocol.Datasets):
    """``Datasets`` (see the protocol) in the cache of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._world = installation.world
        self._cache = installation.world.datasets

    def find(self) -> Sequence[StoredDataset]:
        return self._cache.find()

    def get(self, ref: str) -> StoredDataset:
        found = self._cache.find(ref)
        if not found:
            raise NotFoundError(f"no dataset is stored as {ref}", remedy="see anubis data ls")
        digests = {stored.dataset.digest for stored in found if stored.dataset}
        if len(digests) > 1:
            raise BadInputError(
                f"{ref} names {len(digests)} datasets: {', '.join(sorted(digests))}",
                remedy="write more digits of the digest",
            )
        return next((stored for stored in found if stored.dataset), found[0])

    def verify(self, ref: str) -> Sequence[str]:
        return self._cache.verify(self._complete(ref))

    def prune(
        self, *, before_s: float, most_bytes: int | None = None, dry_run: bool = False
    ) -> Sequence[StoredDataset]:
        return self._cache.prune(
            before_s=before_s, most_bytes=most_bytes, kept=self._in_use(), dry_run=dry_run
        )

    def export(self, ref: str, target: Path) -> None:
        self._cache.export(self._complete(ref), target)

    def _complete(self, ref: str) -> Dataset:
        dataset = self.get(ref).dataset
        if dataset is None:
            raise BadInputError(f"{ref} is not complete", remedy="wait until a run has fetched it")
        return dataset

    def _in_use(self) -> list[DataSource]:
        """The sources of all runs that are not final."""
        unfinished = tuple(status for status in Status if not status.final)
        rows = self._world.runs.find(RunQuery(statuses=unfinished, limit=_ALL))
        return [source for row in rows for source in sources_of(self._world.runs.get(row.id).descriptor)]
