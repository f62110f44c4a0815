"""Follows the output of a run over all its replicas, from a place that can be written down: nothing is lost or repeated.

A place is the number of entries of the time index that were taken, and the offset of the first line of each stream that was
not. What follows depends only on the record and the place, so another process can continue.
"""

import base64
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from anubis.model.errors import BadInputError
from anubis.record import time_index
from anubis.record.files import Files
from anubis.record.index_writer import CHUNK, ENTRY_BYTES, HEADER
from anubis.record.layout import STDERR, STDOUT, STREAMS

#: A longer line is divided, so that it needs no more memory.
LONGEST_LINE = 1 << 20
#: Bytes that are read at once, and the usual size of a batch.
PIECE_BYTES, BATCH_BYTES = 64 << 10, 64 << 10
_FOLLOWED = (STDOUT, STDERR)
_PLACE = re.compile(r"([1-9][0-9]{0,8}):((?:[\w-]{1,100}(?:\.[0-9]{1,16}){4}(?:,|$))*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputLine:
    """A line of a replica, without its end."""

    attempt: int
    role: str
    rank: int
    stream: str
    #: Arrival, UTC nanoseconds.
    time_ns: int
    line: bytes


@dataclass(slots=True)
class ReplicaPlace:
    """A place in the output of one replica."""

    #: Entries of the time index that were taken.
    entry: int = 0
    #: Stream -> offset of its first line that was not taken.
    starts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_FOLLOWED, 0))


@dataclass(slots=True)
class Place:
    """A place in the output of a run."""

    attempt: int
    replicas: dict[tuple[str, int], ReplicaPlace] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = (
            f"{role}.{rank}.{place.entry}.{place.starts[STDOUT]}.{place.starts[STDERR]}"
            for (role, rank), place in self.replicas.items()
        )
        return f"{self.attempt}:{','.join(parts)}"

    @classmethod
    def of(cls, text: str) -> "Place":
        """The place of a text. Raises BadInputError."""
        match = _PLACE.fullmatch(text)
        if match is None:
            raise BadInputError(
                f"{text[:100]!r} is not a place in the output of a run",
                remedy="use the id of an event of this stream",
            )
        place = cls(int(match[1]))
        for part in filter(None, match[2].split(",")):
            role, rank, entry, *starts = part.split(".")
            offsets = dict(zip(_FOLLOWED, map(int, starts), strict=True))
            place.replicas[role, int(rank)] = ReplicaPlace(int(entry), offsets)
        return place


class ReplicaFollower:
    """The lines of one replica, as they are written."""

    def __init__(self, files: Files, streams: Collection[str], place: ReplicaPlace) -> None:
        self._files = files
        self._streams = streams
        self.place = place
        #: Stream -> offset up to which no line end was found after the start of the line.
        self._seen = dict(place.starts)
        self._entries: list[tuple[int, int, int, int, int]] = []

    def lines(self, most_bytes: int, *, last: bool) -> list[tuple[int, str, bytes]]:
        """(UTC ns, stream, line) of about so many bytes; none if there are no new ones.

        With ``last`` also bytes without an entry and incomplete lines: the replica writes no more.
        """
        found: list[tuple[int, str, bytes]] = []
        while self._some(found, most_bytes, last=last) and not found:  # only a part of a line was read
            pass
        return found

    def _some(self, found: list[tuple[int, str, bytes]], most_bytes: int, *, last: bool) -> bool:
        """Read about so many bytes; whether there may be more."""
        left = most_bytes
        while left > 0 and (entry := self._entry()):
            end, time_ns, _, code, kind = entry
            stream = STREAMS[code] if kind == CHUNK and code < len(STREAMS) else ""
            if stream in self._streams:
                left -= self._take(found, stream, end, time_ns, left)
                if self._seen[stream] < end and left <= 0:
                    return True
            self.place.entry += 1
            self._entries.pop()
        if last and left > 0:
            for stream in self._streams:
                left = self._take_rest(found, stream, left)
        return left <= 0

    def _entry(self) -> tuple[int, int, int, int, int] | None:
        if not self._entries:
            start = len(HEADER) + self.place.entry * ENTRY_BYTES
            self._entries = time_index.entries(self._files, start)[::-1]
        return self._entries[-1] if self._entries else None

    def _take(
        self, found: list[tuple[int, str, bytes]], stream: str, end: int, time_ns: int, most_bytes: int
    ) -> int:
        """Take complete lines up to an offset; the number of bytes that were read."""
        read = 0
        while read < most_bytes and (seen := self._seen[stream]) < end:
            data = self._files.read(stream, seen, min(PIECE_BYTES, end - seen))
            if not data:
                self._seen[stream] = end
                break
            read += len(data)
            self._seen[stream] = seen + len(data)
            start, after = self.place.starts[stream], seen + data.rfind(b"\n") + 1
            if after > seen:
                whole = self._files.read(stream, start, after - start)
                found += [(time_ns, stream, line) for line in whole[:-1].split(b"\n")]
                self.place.starts[stream] = after
            while self._seen[stream] - (start := self.place.starts[stream]) >= LONGEST_LINE:
                found.append((time_ns, stream, self._files.read(stream, start, LONGEST_LINE)))
                self.place.starts[stream] = start + LONGEST_LINE
        return read

    def _take_rest(self, found: list[tuple[int, str, bytes]], stream: str, left: int) -> int:
        """Take what has no entry, and the incomplete line at the end; what is left of the bytes."""
        state = self._files.state(stream)
        if state is None:
            return left
        time_ns = int(state.modified_s * 1e9)
        left -= self._take(found, stream, state.size_bytes, time_ns, left)
        start = self.place.starts[stream]
        if self._seen[stream] >= state.size_bytes > start:
            found.append((time_ns, stream, self._files.read(stream, start, state.size_bytes - start)))
            self.place.starts[stream] = state.size_bytes
        return left


class RunFollower:
    """The lines of all replicas of one attempt, in batches in order of arrival."""

    def __init__(self, files: Callable[[int, str, int], Files], place: Place, streams: Sequence[str]) -> None:
        """``files`` are those of an attempt, a role and a rank."""
        self._files = files
        self._streams = streams
        self.place = place
        self._replicas = {key: self._follower(key, known) for key, known in place.replicas.items()}

    def add(self, keys: Collection[tuple[str, int]]) -> None:
        """Include replicas (role and rank) that have appeared."""
        for key in sorted(set(keys) - self._replicas.keys()):
            known = self.place.replicas[key] = ReplicaPlace()
            self._replicas[key] = self._follower(key, known)

    def _follower(self, key: tuple[str, int], place: ReplicaPlace) -> ReplicaFollower:
        return ReplicaFollower(self._files(self.place.attempt, *key), self._streams, place)

    def batch(self, *, last: bool) -> list[OutputLine]:
        """The next lines; none if there are no new ones. ``place`` is then that after them."""
        most = max(1, BATCH_BYTES // max(1, len(self._replicas)))
        found = [
            OutputLine(
                attempt=self.place.attempt, role=role, rank=rank, stream=stream, time_ns=time_ns, line=line
            )
            for (role, rank), follower in self._replicas.items()
            for time_ns, stream, line in follower.lines(most, last=last)
        ]
        return sorted(found, key=lambda line: line.time_ns)


def line_from_json(attempt: int, plain: Mapping[str, Any]) -> OutputLine:
    """See ``line_to_json``."""
    return OutputLine(
        attempt=attempt,
        role=plain["role"],
        rank=plain["rank"],
        stream=plain["stream"],
        time_ns=round(plain["time_s"] * 1e9),
        line=base64.b64decode(plain["base64"]) if "base64" in plain else plain["line"].encode(),
    )


def line_to_json(line: OutputLine) -> dict[str, Any]:
    """A line; ``base64`` is given if it is not UTF-8."""
    plain: dict[str, Any] = {
        "time_s": line.time_ns / 1e9,
        "stream": line.stream,
        "role": line.role,
        "rank": line.rank,
    }
    try:
        return plain | {"line": line.line.decode()}
    except UnicodeDecodeError:
        encoded = base64.b64encode(line.line).decode()
        return plain | {"line": line.line.decode(errors="replace"), "base64": encoded}
