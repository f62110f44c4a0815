"""The last lines of the output of a replica, read from its end: a log of any size opens at once."""

from collections.abc import Collection
from dataclasses import dataclass

from anubis.record import time_index
from anubis.record.files import Files
from anubis.record.index_writer import CHUNK, ENTRY_BYTES, HEADER
from anubis.record.layout import LINES, STDERR, STDOUT, STREAMS
from anubis.search.following import ReplicaPlace

#: Bytes of output in a window, and entries of the time index that are read at once.
WINDOW_BYTES, ENTRIES = 256 << 10, 4096
#: A window has at most so many entries of the time index.
_MOST_ENTRIES = 64 * ENTRIES
_BOTH = (STDOUT, STDERR)

#: End offset, UTC ns, repeat, stream, kind.
_Entry = tuple[int, int, int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLine:
    """A line and its place."""

    stream: str
    #: Of its first byte in the stream.
    offset: int
    #: Arrival, UTC nanoseconds.
    time_ns: int
    line: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Successive lines of one replica, in the order of their arrival."""

    lines: tuple[WindowLine, ...]
    #: Where it begins and ends; a window before ``start``, or a follower from ``end``, has the lines next to these.
    start: ReplicaPlace
    end: ReplicaPlace

    @property
    def is_first(self) -> bool:
        """Whether there are no earlier lines."""
        return not any(self.start.starts.values())


def window(
    files: Files,
    *,
    before: ReplicaPlace | None = None,
    streams: Collection[str] = _BOTH,
    most_bytes: int = WINDOW_BYTES,
    is_over: bool = False,
) -> Window:
    """The last lines (of about ``most_bytes``) before a place; without one, the last lines that have arrived.

    Of a line in progress that is longer than a window, ``end`` is within the line: a follower shows the rest.

    ``is_over``: the replica writes no more, so that bytes without an entry and an incomplete line at the end are lines too.
    """
    number = before.entry if before else _entries(files)
    ends = dict(before.starts) if before else {}
    entries, first = _last_entries(files, number, ends, streams, most_bytes)
    arrived = {stream: [each for each in entries if each[3] == STREAMS.index(stream)] for stream in _BOTH}
    start, end = ReplicaPlace(first), ReplicaPlace(number)
    lines: list[WindowLine] = []
    for stream in _BOTH:
        known = arrived[stream]
        bound = ends.get(stream, known[-1][0] if known else 0)
        modified_ns = known[-1][1] if known else 0
        if before is None and is_over and (state := files.state(stream)):
            bound, modified_ns = state.size_bytes, int(state.modified_s * 1e9)
        low = 0 if first == 0 else known[0][0] if known else bound
        low = max(low, bound - most_bytes)
        if stream in streams:
            found, begin, rest = _lines(files, stream, low, bound, is_over=is_over or before is not None)
            lines += _timed(found, stream, known, modified_ns)
        else:
            begin, rest = low, bound
        start.starts[stream], end.starts[stream] = begin, rest
    return Window(lines=tuple(sorted(lines, key=lambda line: line.time_ns)), start=start, end=end)


def _entries(files: Files) -> int:
    """Number of complete entries of the time index."""
    state = files.state(LINES)
    return 0 if state is None else max(0, (state.size_bytes - len(HEADER)) // ENTRY_BYTES)


def _last_entries(
    files: Files, number: int, ends: dict[str, int], streams: Collection[str], most_bytes: int
) -> tuple[list[_Entry], int]:
    """The entries before this one that cover so many bytes, and the number of the first of them."""
    found: list[_Entry] = []
    first = number
    while first > 0 and len(found) < _MOST_ENTRIES and _covered(found, ends, streams) < most_bytes:
        count = min(ENTRIES, first)
        first -= count
        some = time_index.entries(files, len(HEADER) + first * ENTRY_BYTES, count)
        found = [each for each in some if each[4] == CHUNK and each[3] < len(STREAMS)] + found
    return found, first


def _covered(entries: list[_Entry], ends: dict[str, int], streams: Collection[str]) -> int:
    """The bytes between the first and the last of these entries."""
    covered = 0
    for stream in streams:
        offsets = [each[0] for each in entries if STREAMS[each[3]] == stream]
        covered += (ends.get(stream, offsets[-1]) - offsets[0]) if offsets else 0
    return covered


def _lines(
    files: Files, stream: str, low: int, bound: int, *, is_over: bool
) -> tuple[list[tuple[int, bytes]], int, int]:
    """Offsets and lines between two offsets; where the first of them begins, and where the next line begins."""
    start, data = low, files.read(stream, max(0, low - 1), bound - max(0, low - 1))
    if (
        low > 0
    ):  # the line in progress at the start belongs to the window before, unless it is longer than this one
        cut = data.find(b"\n") + 1
        is_part = cut and low - 1 + cut < bound
        data, start = (data[cut:], low - 1 + cut) if is_part else (data[1:], low)
    whole = len(data) if is_over else data.rfind(b"\n") + 1
    found, at = [], start
    for line in _split(data[:whole]):
        found.append((at, line.removesuffix(b"\n")))
        at += len(line)
    return found, start, at


def _split(data: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends a line."""
    parts = [each + b"\n" for each in data.split(b"\n")]
    last = parts.pop().removesuffix(b"\n")
    return [*parts, last] if last else parts


def _timed(
    found: list[tuple[int, bytes]], stream: str, entries: list[_Entry], modified_ns: int
) -> list[WindowLine]:
    """The lines with the time at which their end had arrived."""
    result: list[WindowLine] = []
    at = 0
    for offset, line in found:
        while at < len(entries) and entries[at][0] < offset + len(line):
            at += 1
        time_ns = entries[at][1] if at < len(entries) else modified_ns
        result.append(WindowLine(stream=stream, offset=offset, time_ns=time_ns, line=line))
    return result
