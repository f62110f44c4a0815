"""The index of the output of runs in a database."""

from collections.abc import Mapping, Sequence

from anubis.contracts.records import LogChunk, RecordKey, Unindexed
from anubis.record.layout import STREAMS
from anubis.store.rows import id_bytes, id_text
from anubis.store.sql.database import Database, Row, Session, chunked

#: Runs whose index is read at once.
_BATCH = 1000
#: More than the number of any run.
_AFTER_ALL = (1 << 31) - 1


class StoredLogIndex:
    """``LogIndex`` (see the contract) in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, chunks: Mapping[str, Sequence[LogChunk]]) -> None:
        """See the contract."""
        ids = sorted(map(id_bytes, chunks))

        def work(session: Session) -> None:
            numbers = {id_text(row.id): row.no for row in session.rows("final_numbers", ids=list(ids))}
            if not numbers:
                return
            session.write("forget_log_chunks", numbers=list(numbers.values()))
            session.write_all(
                "add_log_chunk",
                [{"run": no, **_values(chunk)} for run_id, no in numbers.items() for chunk in chunks[run_id]],
            )
            session.write("note_indexed", numbers=list(numbers.values()))

        self._database.transact(work)

    def of(self, run_ids: Sequence[str]) -> Mapping[str, Sequence[LogChunk]]:
        """See the contract."""
        found: dict[str, list[LogChunk]] = {}
        for ids in chunked(map(id_bytes, run_ids), _BATCH):
            for row in self._database.rows("log_chunks", ids=list(ids)):
                run_id = id_text(row.id)
                chunks = found.setdefault(run_id, [])
                if row.bitmap is not None:  # else the run has no output
                    chunks.append(_chunk(run_id, row))
        return found

    def missing(self, *, before: int | None = None, limit: int = 64) -> Sequence[Unindexed]:
        """See the contract."""
        rows = self._database.rows("unindexed", before=_AFTER_ALL if before is None else before, most=limit)
        return [
            Unindexed(run_id=id_text(row.id), number=row.no, placed=row.placed_s is not None) for row in rows
        ]

    def forget(self, run_ids: Sequence[str]) -> None:
        """See the contract."""

        def work(session: Session) -> None:
            for ids in chunked(sorted(map(id_bytes, run_ids))):
                session.write("forget_indexes", ids=list(ids))
                numbers = [row.no for row in session.rows("final_numbers", ids=list(ids))]
                session.write("forget_log_chunks", numbers=numbers)

        self._database.transact(work)


def _values(chunk: LogChunk) -> dict[str, object]:
    return {
        "attempt": chunk.key.attempt,
        "role": chunk.key.role,
        "rank": chunk.key.rank,
        "stream": STREAMS.index(chunk.stream),
        "start": chunk.start,
        "end": chunk.end,
        "line": chunk.line,
        "entry": chunk.entry,
        "first_s": chunk.first_s,
        "last_s": chunk.last_s,
        "bitmap": chunk.bitmap,
    }


def _chunk(run_id: str, row: Row) -> LogChunk:
    return LogChunk(
        key=RecordKey(run_id, row.attempt, row.role, row.rank),
        stream=STREAMS[row.stream],
        start=row.start,
        end=row.end,
        line=row.line,
        entry=row.entry,
        first_s=row.first_s,
        last_s=row.last_s,
        bitmap=bytes(row.bitmap),
    )
