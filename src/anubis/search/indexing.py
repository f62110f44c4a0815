"""Adds the output of final runs to the index, in the background or at once."""

import logging
from collections.abc import Sequence

from anubis.contracts.records import LogChunk, LogIndex, Records, RoleFiles
from anubis.model.errors import AnubisError, BadInputError, StoreError
from anubis.model.run import Run
from anubis.record.validation import DamagedError
from anubis.search.bitmaps import bitmap
from anubis.search.pieces import Arrivals, Piece, pieces
from anubis.search.searching import streams_of

log = logging.getLogger(__name__)

#: Runs that are looked at in one turn.
_TURN = 32
#: Pause between two turns while runs are left, seconds: the measurement of a benchmark has priority.
_PAUSE_S = 0.2


class Indexer:
    """A chore that indexes the output of runs that have ended. Several processes may index the same run: the result is equal."""

    name = "log index"

    def __init__(self, records: Records, index: LogIndex) -> None:
        self._records = records
        self._index = index
        #: The number of the run after which the next turn continues; None: the newest.
        self._before: int | None = None
        #: Runs whose record is not here, or is damaged: they are searched without an index.
        self._left: set[str] = set()

    def turn(self) -> float | None:
        """Index some runs; see ``Chore.turn``. No worker waits for this work: what is left, the next one does."""
        try:
            found = self._index.missing(before=self._before, limit=_TURN)
            here: dict[str, Sequence[LogChunk]] = {}
            for each in found:
                if each.run_id not in self._left:
                    chunks = self._chunks(each.run_id, placed=each.placed)
                    if chunks is None:
                        self._left.add(each.run_id)
                    else:
                        here[each.run_id] = chunks
            if here:
                self._index.put(here)
            self._before = found[-1].number if len(found) == _TURN else None
        except AnubisError as error:  # for example a full disk
            log.warning("the output of some runs is not in the index yet: %s", error)
            self._before = None
            return None
        return _PAUSE_S if self._before is not None else None

    def rebuild(self, run: Run) -> int:
        """Index the output of one final run again; the number of bytes. Raises BadInputError."""
        if not run.status.final:
            raise BadInputError(f"run {run.id} is not final", remedy=f"wait for it: anubis watch {run.id}")
        chunks = self._chunks(run.id, placed=run.placed_s is not None)
        if chunks is None:
            raise BadInputError(
                f"the record of run {run.id} is not on this machine, or is damaged",
                remedy="its output is searched without an index where it is stored",
            )
        self._left.discard(run.id)
        self._index.put({run.id: chunks})
        return sum(chunk.end - chunk.start for chunk in chunks)

    def _chunks(self, run_id: str, *, placed: bool) -> list[LogChunk] | None:
        """The index of a run; None if its record cannot be read on this machine."""
        try:
            attempts = self._records.attempts(run_id)
            if placed and not attempts:
                return None
            return chunks_of(self._records, run_id)
        except (DamagedError, StoreError) as error:
            log.warning("the output of run %s cannot be indexed: %s", run_id, error)
            return None


def chunks_of(records: Records, run_id: str) -> list[LogChunk]:
    """The index of all output of a run. Raises DamagedError."""
    found = []
    for key, stream in streams_of(records, run_id, records.attempts(run_id)):
        files = RoleFiles(records, key)
        arrivals = Arrivals(files, stream)
        for piece in pieces(files, stream):
            first_s, last_s, entry = _times(arrivals, piece)
            chunk = LogChunk(
                key=key,
                stream=stream,
                start=piece.start,
                end=piece.end,
                line=piece.line,
                entry=entry,
                first_s=first_s,
                last_s=last_s,
                bitmap=bitmap(piece.data),
            )
            found.append(chunk)
    return found


def _times(arrivals: Arrivals, piece: Piece) -> tuple[float, float, int]:
    """Earliest and latest arrival of the lines of a piece, and the entry at which their lookup begins."""
    first_end = piece.start + (piece.data.find(b"\n") + 1 or len(piece.data))
    arrivals.of(first_end)
    entry = arrivals.entry
    low, high = arrivals.span(first_end, piece.end)
    return low, high, entry
