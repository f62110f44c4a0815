"""Small submissions that arrive at the same time, which a database stores in one transaction."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from anubis.contracts.runs import KeyedSubmission, RunQuery
from anubis.model.errors import AnubisError, ConflictError, StoreError
from anubis.store import open_store
from anubis.testing import a_run, an_event
from support.processes import until

COUNT = 40


def keyed(key, *runs):
    return KeyedSubmission(key=key, digest="d", run_ids=tuple(run.id for run in runs), created_s=1.0)


def test_of_many_submissions_those_are_refused_that_would_be_refused_alone(store):
    """Every fourth is of an unknown project, and every fourth has a key that another one has."""
    runs = [a_run() for _ in range(COUNT)]
    runs = [replace(run, project="unknown") if at % 4 == 1 else run for at, run in enumerate(runs)]
    begin = threading.Barrier(COUNT)

    def add(at):
        begin.wait()
        key = "same" if at % 4 == 2 else str(at)
        try:
            store.runs.add([(runs[at], str(at))], [an_event(runs[at])], keyed=keyed(key, runs[at]))
        except AnubisError as error:
            return type(error).__name__
        return None

    with ThreadPoolExecutor(COUNT) as threads:
        results = list(threads.map(add, range(COUNT)))
    is_fake = type(store).__name__ == "FakeStore"
    refused = {at for at, result in enumerate(results) if result}
    unknown = set() if is_fake else set(range(1, COUNT, 4))  # the fake knows every project
    assert {at for at in refused if results[at] == "BadInputError"} == unknown
    same = set(range(2, COUNT, 4))
    (winner,) = same - refused
    assert refused == unknown | same - {winner}
    rows = store.runs.find(RunQuery(limit=1000))
    assert {row.id for row in rows} == {run.id for at, run in enumerate(runs) if at not in refused}
    assert store.runs.submission("same").run_ids == (runs[winner].id,)
    events = store.events.read(limit=1000)
    assert sorted(event.run_id for event in events) == sorted(row.id for row in rows)
    assert [event.seq for event in events] == list(range(1, len(events) + 1)), "numbers have no gaps"
    assert all(store.runs.text(runs[at].id) == str(at) for at in range(0, COUNT, 4))


def test_a_submission_whose_commit_was_not_answered_can_be_repeated(store):
    run = a_run()
    for _ in range(2):
        store.runs.add([(run, "")], [an_event(run)], keyed=keyed("k", run))
    assert len(store.events.read()) == 1
    with pytest.raises(ConflictError):
        store.runs.add([(a_run(), "")], [], keyed=keyed("k", a_run()))


def test_a_lost_answer_to_the_commit_of_a_group_loses_and_repeats_nothing(database_url, monkeypatch):
    """The connection is lost after the commit: every member of the group stores its run again, which changes nothing."""
    store = open_store(database_url)
    transact, gate, sizes = store.database.transact, threading.Event(), []
    together = store.runs._submissions._together

    def lost_once(work):
        sizes.append(1)
        if len(sizes) == 1:
            gate.wait()
        transact(work)
        if len(sizes) == 2:
            raise StoreError("the connection was lost")

    runs = [a_run() for _ in range(5)]
    before = a_run()
    store.runs.add([(before, "")], [an_event(before)])  # so their words have numbers already
    monkeypatch.setattr(store.database, "transact", lost_once)
    with ThreadPoolExecutor(5) as threads:
        results = []
        for at, run in enumerate(runs):
            add = [(run, "")], [an_event(run)]
            results.append(threads.submit(store.runs.add, *add, keyed=keyed(run.id, run)))
            waiting = at  # all but the first
            until(lambda waiting=waiting: sizes and len(together._waiting) == waiting, "it waits")
        gate.set()
        assert [result.result() for result in results] == [None] * 5
    assert len(sizes) == 2 + 4
    assert {row.id for row in store.runs.find(RunQuery())} >= {run.id for run in runs}
    assert len(store.events.read()) == 1 + 5
    store.close()
