"""An installation with runs whose output a test writes."""

import struct
from dataclasses import dataclass, field

import pytest

from anubis.contracts.records import RecordKey
from anubis.model.status import Status
from anubis.record.index_writer import CHUNK, ENTRY_FORMAT, HEADER
from anubis.record.layout import LINES, STREAMS
from anubis.search.indexing import Indexer
from anubis.search.query import LogQuery
from anubis.search.searching import Searcher
from anubis.store import FolderRecords, open_store
from anubis.testing import FakeClock, a_run
from anubis.testing.builders import NOW_S


@dataclass
class Home:
    """A store with records, and what searches them."""

    store: object
    records: FolderRecords
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self):
        self.searcher = Searcher(self.store.runs, self.records, self.store.log_index, self.clock)
        self.indexer = Indexer(self.records, self.store.log_index)

    def add(self, *, status=Status.SUCCEEDED, at_s=0.0, **changes):
        """A run that is stored."""
        run = a_run(status=status, created_s=NOW_S + at_s, placed_s=NOW_S + at_s, **changes)
        if status.final:
            self.store.runs.add_finished([(run, "text")], [])
        else:
            self.store.runs.add([(run, "text")], [])
        return run

    def write(self, run, stdout=b"", stderr=b"", *, attempt=1, role="benchmark", rank=0, times=()):
        """Write output; ``times``: (stream, end offset, UTC seconds) of arrivals."""
        key = RecordKey(run.id, attempt, role, rank)
        self.records.append(key, "events.jsonl", 0, b"{}\n")
        for stream, data in (("stdout", stdout), ("stderr", stderr)):
            for at in range(0, len(data), 1 << 20):
                self.records.append(key, stream, at, data[at : at + (1 << 20)])
        if times:
            entries = [
                struct.pack(ENTRY_FORMAT, end, round(time_s * 1e9), 1, STREAMS.index(stream), CHUNK)
                for stream, end, time_s in times
            ]
            self.records.append(key, LINES, 0, HEADER + b"".join(entries))

    def index(self):
        """Index everything that can be indexed."""
        while self.indexer.turn() is not None:
            pass

    def pages(self, pattern, **conditions):
        """All pages of a search."""
        after = None
        while True:
            page = self.searcher.page(LogQuery(pattern=pattern, after=after, **conditions))
            yield page
            after = page.next
            if after is None:
                return

    def search(self, pattern, **conditions):
        """All lines of a search."""
        return [line for page in self.pages(pattern, **conditions) for line in page.lines]


@pytest.fixture
def home(tmp_path):
    with_store = open_store(f"sqlite:///{tmp_path}/anubis.db")
    yield Home(with_store, FolderRecords(tmp_path / "records"))
    with_store.close()
