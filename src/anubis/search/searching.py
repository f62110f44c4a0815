"""Searches the output of runs: by the index where there is one, else all of it. The index only leaves out what cannot match."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial

from anubis.contracts.clock import Clock
from anubis.contracts.records import LogChunk, LogIndex, RecordKey, Records, RoleFiles
from anubis.contracts.runs import RunQuery, RunReader, RunRow
from anubis.model.errors import StoreError
from anubis.record import layout
from anubis.record.layout import STREAMS
from anubis.record.validation import DamagedError
from anubis.search import bitmaps
from anubis.search.lines import around, shown
from anubis.search.matchers import Hit, Matcher, matcher
from anubis.search.pieces import Arrivals, Piece, pieces
from anubis.search.query import FoundLine, LogPage, LogPlace, LogQuery, Unsearched

#: A page ends after this time, also without a found line; seconds.
LONGEST_PAGE_S = 5.0
#: Runs that are listed at once: the first time, and later.
_FIRST_RUNS, _RUNS = 100, 1000
#: Most runs of a page that are named as not searched.
_NAMED = 20


class Searcher:
    """Searches the runs of one installation. Several threads may use it."""

    def __init__(self, runs: RunReader, records: Records, index: LogIndex, clock: Clock) -> None:
        self._runs = runs
        self._records = records
        self._index = index
        self._clock = clock

    def page(self, query: LogQuery) -> LogPage:
        """The next page. Raises BadInputError for a pattern that is not valid, or takes too long."""
        with closing(matcher(query.pattern, regex=query.regex, ignore_case=query.ignore_case)) as matching:
            page = _Page(query, matching, self._records, self._clock)
            for rows in self._batches(query):
                indexed = self._index.of([row.id for row in rows if row.status.final])
                for row in rows:
                    if not page.search(row, indexed.get(row.id)):
                        return page.done()
            return page.done()

    def _batches(self, query: LogQuery) -> Iterator[Sequence[RunRow]]:
        """The runs of the query from its place on."""
        after, size = None, _FIRST_RUNS
        if query.after is not None:
            after = query.after.run_id
            yield self._runs.find(RunQuery(ids=(after,)))
        while True:
            rows = self._runs.find(query.runs(after=after, limit=size))
            yield rows
            if len(rows) < size:
                return
            after, size = rows[-1].id, _RUNS


@dataclass(frozen=True, slots=True)
class _Part:
    """Lines that may match."""

    key: RecordKey
    stream: str
    start: int
    end: int
    piece: Callable[[], Piece]
    arrivals: Arrivals

    @property
    def order(self) -> tuple[int, str, int, int]:
        return _order(self.key, self.stream)

    def place(self, offset: int) -> LogPlace:
        key = self.key
        return LogPlace(
            run_id=key.run_id,
            attempt=key.attempt,
            role=key.role,
            rank=key.rank,
            stream=self.stream,
            offset=offset,
        )


class _Page:
    """A page that is being filled."""

    def __init__(self, query: LogQuery, matching: Matcher, records: Records, clock: Clock) -> None:
        self._query = query
        self._matching = matching
        self._records = records
        self._clock = clock
        self._until_s = clock.monotonic_s() + LONGEST_PAGE_S
        self._found: list[FoundLine] = []
        self._read_bytes = 0
        self._unsearched: list[Unsearched] = []
        self._next: LogPlace | None = None

    def done(self) -> LogPage:
        """The page."""
        return LogPage(
            lines=tuple(self._found),
            next=self._next,
            read_bytes=self._read_bytes,
            unsearched=tuple(self._unsearched),
        )

    def search(self, row: RunRow, chunks: Sequence[LogChunk] | None) -> bool:
        """Search a run, by its index if it has one; whether the page has room for more."""
        begins = self._query.after if self._query.after and self._query.after.run_id == row.id else None
        try:
            for part in self._of_index(chunks) if chunks is not None else self._of_record(row):
                first = _first(part, begins)
                if first < part.end and not self._take(row, part, first):
                    return False
        except (DamagedError, StoreError) as error:
            self._leave_out(row, str(error))
        return self._next is None

    def _leave_out(self, row: RunRow, reason: str) -> None:
        if len(self._unsearched) < _NAMED:
            self._unsearched.append(Unsearched(run_id=row.id, reason=reason))

    def _take(self, row: RunRow, part: _Part, first: int) -> bool:
        """Add the lines of a part from an offset on; whether the page has room for more. A page searches at least one part."""
        if self._read_bytes and self._clock.monotonic_s() >= self._until_s:
            self._next = part.place(first)
            return False
        piece = part.piece()
        self._read_bytes += len(piece.data)
        numbered_to, line = 0, piece.line
        for hit in self._matching.hits(piece.data):
            time_s = part.arrivals.of(piece.start + _after(piece, hit))
            if piece.start + hit.start < first or not self._in_time(time_s, time_s):
                continue
            if len(self._found) == self._query.limit:
                self._next = part.place(piece.start + hit.start)
                return False
            line += piece.data.count(b"\n", numbered_to, hit.start)
            numbered_to = hit.start
            self._found.append(self._line(row, part, piece, hit, line=line, time_s=time_s))
        return True

    def _line(
        self, row: RunRow, part: _Part, piece: Piece, hit: Hit, *, line: int, time_s: float
    ) -> FoundLine:
        text = shown(piece.data[hit.start : hit.end], hit.spans)
        files = RoleFiles(self._records, part.key)
        before, after = around(files, part.stream, piece, hit, self._query.context)
        return FoundLine(
            run_id=row.id,
            benchmark=row.name,
            attempt=part.key.attempt,
            role=part.key.role,
            rank=part.key.rank,
            stream=part.stream,
            line=line,
            offset=piece.start + hit.start,
            time_s=time_s,
            text=text.text,
            cut=text.cut,
            highlights=text.highlights,
            before=before,
            after=after,
        )

    def _of_index(self, chunks: Sequence[LogChunk]) -> Iterator[_Part]:
        for chunk in chunks:
            if (
                bitmaps.may_contain(chunk.bitmap, self._matching.needed)
                and self._wanted(chunk.key, chunk.stream)
                and self._in_time(chunk.first_s, chunk.last_s)
            ):
                files = RoleFiles(self._records, chunk.key)
                yield _Part(
                    chunk.key,
                    chunk.stream,
                    chunk.start,
                    chunk.end,
                    partial(_stored, files, chunk),
                    Arrivals(files, chunk.stream, chunk.entry),
                )

    def _of_record(self, row: RunRow) -> Iterator[_Part]:
        """All output of a run."""
        attempts = self._records.attempts(row.id)
        if not attempts and row.placed_s is not None:
            self._leave_out(row, "its record is not on this machine")
        for key, stream in streams_of(self._records, row.id, attempts):
            if self._wanted(key, stream):
                files = RoleFiles(self._records, key)
                arrivals = Arrivals(files, stream)
                for piece in pieces(files, stream):
                    yield _Part(key, stream, piece.start, piece.end, partial(_same, piece), arrivals)

    def _wanted(self, key: RecordKey, stream: str) -> bool:
        query = self._query
        return stream in query.streams and query.role in {None, key.role} and query.rank in {None, key.rank}

    def _in_time(self, first_s: float, last_s: float) -> bool:
        since_s, until_s = self._query.since_s, self._query.until_s
        return (since_s is None or last_s >= since_s) and (until_s is None or first_s < until_s)


def streams_of(records: Records, run_id: str, attempts: Sequence[int]) -> Iterator[tuple[RecordKey, str]]:
    """The streams of a run that have a file, in order."""
    for attempt in attempts:
        found = {(each.key, each.file) for each in records.list(run_id, attempt) if each.file in STREAMS[:2]}
        yield from sorted(filter(_is_readable, found), key=lambda each: _order(*each))


def _is_readable(found: tuple[RecordKey, str]) -> bool:
    """Whether a record can have this role: a benchmark can make folders with other names."""
    try:
        layout.check_role(found[0].attempt, found[0].role, found[0].rank)
    except ValueError:
        return False
    return True


def _order(key: RecordKey, stream: str) -> tuple[int, str, int, int]:
    return key.attempt, key.role, key.rank, STREAMS.index(stream)


def _first(part: _Part, begins: LogPlace | None) -> int:
    """The offset from which a part is searched; its end if it is before the page."""
    if begins is None:
        return part.start
    key = RecordKey(begins.run_id, begins.attempt, begins.role, begins.rank)
    place = _order(key, begins.stream)
    if part.order == place:
        return max(part.start, begins.offset)
    return part.start if part.order > place else part.end


def _stored(files: RoleFiles, chunk: LogChunk) -> Piece:
    """The lines of a part of the index. Raises DamagedError if the record no longer has them."""
    data = files.read(chunk.stream, chunk.start, chunk.end - chunk.start)
    if len(data) < chunk.end - chunk.start:
        raise DamagedError(f"{chunk.stream} is shorter than its index")
    return Piece(start=chunk.start, line=chunk.line, data=data)


def _same(piece: Piece) -> Piece:
    return piece


def _after(piece: Piece, hit: Hit) -> int:
    """The offset in a piece after a line and its end."""
    end = piece.data.find(b"\n", hit.end)
    return end + 1 if end >= 0 else len(piece.data)
