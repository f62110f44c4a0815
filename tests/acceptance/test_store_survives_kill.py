"""A process is killed (SIGKILL) while it writes: every run is all there or not there at all."""

import subprocess
import sys

import pytest

from anubis.contracts.runs import RunQuery
from anubis.model.status import Status
from anubis.store import open_store

METRICS = 5
WRITER = f"""
import sys
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import a_placement, a_point, a_run, an_event, samples_of

store = open_store(sys.argv[1])
while True:
    runs = [a_run() for _ in range(3)]
    store.runs.add([(run, run.id) for run in runs], [an_event(run, "submitted") for run in runs])
    for run in store.leases.claim("writer", now_s=9e9, lease_s=30, limit=3):
        watch = Step(status=Status.WATCH, placement=a_placement(run), events=(an_event(run, "placed"),))
        run = store.leases.apply("writer", run, watch, now_s=9e9)
        last = Step(
            status=Status.SUCCEEDED,
            points=tuple(a_point(run, f"m{{i}}") for i in range({METRICS})),
            samples=tuple(samples_of([1.0, 2.0], f"m{{i}}") for i in range({METRICS})),
            events=(an_event(run, "ended"), an_event(run, "final")),
        )
        store.leases.apply("writer", run, last, now_s=9e9)
        print(run.id, flush=True)
"""
#: Status -> kinds of events, points and metrics with samples that belong to it.
WHOLE = {
    Status.FETCH: (["submitted"], 0, 0),
    Status.WATCH: (["submitted", "placed"], 0, 0),
    Status.SUCCEEDED: (["submitted", "placed", "ended", "final"], METRICS, METRICS),
}


def written_until_killed(url, acknowledged):
    """Let a writer work until it said that so many runs are done, and kill it; what it said was done."""
    process = subprocess.Popen([sys.executable, "-c", WRITER, url], stdout=subprocess.PIPE, text=True)
    with process:
        done = [process.stdout.readline().strip() for _ in range(acknowledged)]
        process.kill()
        done += process.stdout.read().split("\n")[:-1]
    return done


@pytest.mark.parametrize("acknowledged", [1, 2, 7, 8, 20])
def test_a_killed_writer_leaves_whole_steps(tmp_path, acknowledged):
    url = f"sqlite:///{tmp_path}/anubis.db"
    done = written_until_killed(url, acknowledged)
    store = open_store(url)
    rows = store.runs.find(RunQuery(limit=10_000))
    for row in rows:
        kinds = [event.kind for event in store.events.read(row.id)]
        measured = len(store.points.of([row.id])), len(store.points.summaries(row.id))
        assert (kinds, *measured) == WHOLE[row.status]
        assert store.runs.text(row.id) == row.id
    finished = {row.id for row in rows if row.status is Status.SUCCEEDED}
    assert set(done) <= finished
    assert len(finished) - len(done) <= 1
    assert len(rows) % 3 == 0
    with store.database.session() as session:
        assert session.ask("PRAGMA integrity_check", {}) == [("ok",)]
    store.close()


def test_whoever_comes_next_carries_on(tmp_path):
    url = f"sqlite:///{tmp_path}/anubis.db"
    for acknowledged in (2, 3):
        written_until_killed(url, acknowledged)
    store = open_store(url)
    assert set(store.leases.owners()) <= {"writer"}
    store.leases.release("writer")
    left = store.runs.unfinished()
    claimed = store.leases.claim("heir", now_s=9e9, lease_s=30, limit=100)
    assert len(claimed) == left
    seqs = [event.seq for event in store.events.read(limit=10_000)]
    assert seqs == list(range(1, len(seqs) + 1))
    store.close()
