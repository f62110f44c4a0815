"""The index of the output of runs, in every database."""

import pytest

from anubis.contracts.records import LogChunk, RecordKey
from anubis.model.ids import new_run_id
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import a_run
from anubis.testing.builders import NOW_S


@pytest.fixture
def opened(database_url):
    store = open_store(database_url)
    yield store
    store.close()


def a_chunk(run_id, start=0, **changes):
    given = {
        "key": RecordKey(run_id, 1),
        "stream": "stdout",
        "start": start,
        "end": start + 10,
        "line": 1,
        "entry": 1 << 40,
        "first_s": NOW_S,
        "last_s": NOW_S + 0.5,
        "bitmap": bytes(range(64)),
    }
    return LogChunk(**{**given, **changes})


def added(store, status=Status.SUCCEEDED, **changes):
    run = a_run(status=status, placed_s=NOW_S, **changes)
    if status.final:
        store.runs.add_finished([(run, "text")], [])
    else:
        store.runs.add([(run, "text")], [])
    return run.id


def test_chunks_are_read_in_order_as_they_were_stored(opened):
    run_id, empty = added(opened), added(opened)
    chunks = [
        a_chunk(run_id),
        a_chunk(run_id, 1 << 40),
        a_chunk(run_id, stream="stderr"),
        a_chunk(run_id, key=RecordKey(run_id, 1, "worker", 0)),
        a_chunk(run_id, key=RecordKey(run_id, 1, "worker", 10)),
        a_chunk(run_id, key=RecordKey(run_id, 2)),
    ]
    opened.log_index.put({run_id: chunks[::-1], empty: []})
    assert opened.log_index.of([run_id, empty, new_run_id()]) == {run_id: chunks, empty: []}
    opened.log_index.put({run_id: chunks[:1]})
    assert opened.log_index.of([run_id]) == {run_id: chunks[:1]}


def test_runs_that_are_not_final_or_not_stored_have_no_index(opened):
    running, unknown = added(opened, Status.WATCH), new_run_id()
    opened.log_index.put({running: [a_chunk(running)], unknown: [a_chunk(unknown)]})
    assert opened.log_index.of([running, unknown]) == {}
    assert opened.log_index.missing() == []


def test_missing_runs_are_listed_from_the_newest_on(opened):
    ids = [added(opened) for _ in range(5)]
    opened.log_index.put({ids[2]: []})
    first = opened.log_index.missing(limit=2)
    assert [each.run_id for each in first] == [ids[4], ids[3]]
    rest = opened.log_index.missing(before=first[-1].number)
    assert [(each.run_id, each.placed) for each in rest] == [(ids[1], True), (ids[0], True)]


def test_an_index_is_deleted_alone_and_with_its_run(opened):
    kept, purged = added(opened), added(opened)
    opened.log_index.put({kept: [a_chunk(kept)], purged: [a_chunk(purged)]})
    opened.runs.remove([purged])
    assert opened.log_index.of([kept, purged]) == {kept: [a_chunk(kept)]}
    opened.log_index.forget([kept])
    assert opened.log_index.of([kept]) == {}
    assert [each.run_id for each in opened.log_index.missing()] == [kept]
