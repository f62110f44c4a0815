"""Follows the samples of a run over all its replicas, from a place that can be written down: nothing is lost or repeated.

A place is the offset in the file of the samples of each replica up to which the extractor rewrites nothing.
"""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from anubis.contracts.records import blocks_of
from anubis.model.errors import BadInputError
from anubis.model.points import SampleBlock
from anubis.record.files import Files, FileState
from anubis.record.samples import SampleFile, settled_end

#: Usual size of a batch of one replica, bytes of its file.
BATCH_BYTES = 1 << 20
_PLACE = re.compile(r"([1-9][0-9]{0,8}):((?:[\w-]{1,100}(?:\.[0-9]{1,16}){2}(?:,|$))*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedSamples:
    """New samples of one metric of a replica."""

    attempt: int
    role: str
    rank: int
    samples: SampleBlock


@dataclass(slots=True)
class SamplePlace:
    """A place in the samples of a run."""

    attempt: int
    #: Role and rank -> offset.
    replicas: dict[tuple[str, int], int] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = (f"{role}.{rank}.{offset}" for (role, rank), offset in self.replicas.items())
        return f"{self.attempt}:{','.join(parts)}"

    @classmethod
    def of(cls, text: str) -> "SamplePlace":
        """The place of a text. Raises BadInputError."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise BadInputError(
                f"{text[:100]!r} is not a place in the samples of a run",
                remedy="use the id of an event of this stream",
            )
        place = cls(int(match[1]))
        for part in filter(None, match[2].split(",")):
            role, rank, offset = part.split(".")
            place.replicas[role, int(rank)] = int(offset)
        return place


class _UpTo:
    """The file of the samples up to an offset, as ``Files``."""

    def __init__(self, files: Files, end: int) -> None:
        self._files = files
        self.end = end

    def read(self, file: str, offset: int, length: int) -> bytes:
        """See ``Files``."""
        return self._files.read(file, offset, max(0, min(length, self.end - offset)))

    def state(self, file: str) -> FileState | None:
        """See ``Files``."""
        return self._files.state(file)


class _Replica:
    """The samples of one replica."""

    def __init__(self, files: Files, start: int) -> None:
        self._files = files
        self._part = _UpTo(files, 0)
        self._file = SampleFile(self._part)
        while self._part.end < start:  # what is known: only the names of the series in it are needed
            self._part.end = min(start, self._part.end + BATCH_BYTES)
            self._file.read_new()

    @property
    def end(self) -> int:
        """The offset of the next sample."""
        return self._part.end

    def new(self) -> list[SampleBlock]:
        """The next samples, one block for each metric. Raises DamagedError."""
        self._part.end = settled_end(self._files, self._part.end, BATCH_BYTES)
        return blocks_of(self._file.read_new())


class SampleFollower:
    """The samples of all replicas of one attempt, in batches."""

    def __init__(
        self, files: Callable[[int, str, int], Files], place: SamplePlace, metrics: Collection[str] = ()
    ) -> None:
        """``files`` are those of an attempt, a role and a rank; without ``metrics`` all are followed."""
        self._files = files
        self._metrics = frozenset(metrics)
        self.place = place
        self._replicas = {
            key: _Replica(files(place.attempt, *key), offset) for key, offset in place.replicas.items()
        }

    def add(self, keys: Collection[tuple[str, int]]) -> None:
        """Include replicas (role and rank) that have appeared."""
        for key in sorted(set(keys) - self._replicas.keys()):
            self._replicas[key] = _Replica(self._files(self.place.attempt, *key), 0)

    def batch(self, *, last: bool) -> list[FollowedSamples]:  # noqa: ARG002  as of output: a file ends complete
        """The next samples; none if there are no new ones. ``place`` is then that after them. Raises DamagedError."""
        while True:
            found: list[FollowedSamples] = []
            ends = dict(self.place.replicas)
            for (role, rank), replica in self._replicas.items():
                found += [
                    FollowedSamples(attempt=self.place.attempt, role=role, rank=rank, samples=samples)
                    for samples in replica.new()
                    if not self._metrics or samples.metric in self._metrics
                ]
                self.place.replicas[role, rank] = replica.end
            if found or self.place.replicas == ends:  # else only other metrics were read
                return found
