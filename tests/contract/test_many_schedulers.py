"""Several schedulers on one database: each due time starts once."""

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from anubis.contracts.runs import RunQuery
from anubis.contracts.schedules import CatchUp, DueState
from anubis.model.descriptor import Overlap
from anubis.model.errors import StoreError
from anubis.model.status import Status
from anubis.pipeline.chores.scheduler import Scheduler
from anubis.store import open_store
from anubis.submission.scheduled_runs import ScheduledRuns
from anubis.testing import FakeClock, a_descriptor, a_run
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.schedules import a_schedule

SCHEDULERS, SCHEDULES, TIMES = 5, 12, 6
START_S = NOW_S - NOW_S % 300


class Environments:
    """Environments of runs are not the subject."""

    def current(self, descriptor, project):
        return None

    def hand_over(self, run_ids, environment):
        pass


@pytest.fixture
def stores(database_url):
    opened = [open_store(database_url) for _ in range(SCHEDULERS)]
    yield opened
    for store in opened:
        store.close()


def runs_of(schedule, _text, due_s):
    """A run that is final at once, under a random id: only the table of due times prevents a second one."""
    run = a_run(
        a_descriptor(schedule.name),
        parent_id=schedule.id,
        status=Status.SUCCEEDED,
        cell={"due_s": due_s},
        ended_s=due_s,
    )
    return ScheduledRuns(runs=((run, "text"),), events=())


def scheduler(store, clock):
    world = SimpleNamespace(runs=store.runs, clock=clock, environments=Environments())
    return Scheduler(store.schedules, world, default_engine="fake", make_runs=runs_of)


def test_each_due_time_starts_once(stores):
    for number in range(SCHEDULES):
        schedule = a_schedule(
            f"s{number}", next_s=START_S, ready_s=START_S, catch_up=CatchUp.ALL, catch_up_limit=100
        )
        stores[0].schedules.add(schedule, "text")
    clock = FakeClock(START_S)
    together = threading.Barrier(SCHEDULERS)

    def work(store):
        chore = scheduler(store, clock)
        for _ in range(TIMES):
            if together.wait() == 0:
                clock.advance(300.0)
            together.wait()
            chore.turn()

    with ThreadPoolExecutor(SCHEDULERS) as pool:
        list(pool.map(work, stores))

    for schedule in stores[0].schedules.find():
        rows = stores[0].runs.find(RunQuery(parent_id=schedule.id, limit=1000))
        due_times = stores[0].schedules.due_times(schedule.id, limit=1000)
        assert Counter(row.cell["due_s"] for row in rows) == {
            START_S + n * 300.0: 1 for n in range(TIMES + 1)
        }
        assert {due.state for due in due_times} == {DueState.STARTED}
        assert {due.run_id for due in due_times} == {row.id for row in rows}


def test_a_scheduler_that_stalls_before_it_writes_changes_nothing(stores):
    """Another one takes over its lease meanwhile."""
    stores[0].schedules.add(a_schedule(next_s=START_S, ready_s=START_S), "text")
    slow, quick = FakeClock(START_S), FakeClock(START_S + 61.0)
    write = stores[0].schedules.apply

    def stalled(owner, decisions, *, forget_before_s):
        scheduler(stores[1], quick).turn()
        return write(owner, decisions, forget_before_s=forget_before_s)

    stores[0].schedules.apply = stalled
    scheduler(stores[0], slow).turn()
    assert len(stores[0].runs.find(RunQuery())) == 1


def test_what_is_not_committed_is_decided_again(stores, monkeypatch):
    """The database fails in the middle of the transaction: neither the run nor the next due time is stored."""
    stores[0].schedules.add(a_schedule(next_s=START_S, ready_s=START_S, overlap=Overlap.QUEUE), "text")
    chore = scheduler(stores[0], FakeClock(START_S))
    before = stores[0].schedules.get("nightly")

    def fail(*_, **__):
        raise StoreError("the database does not answer")

    with monkeypatch.context() as patch:
        patch.setattr("anubis.store.schedules.stored.due_time_values", fail)
        with pytest.raises(StoreError):
            chore.turn()
    assert stores[1].schedules.get("nightly") == before
    assert stores[1].runs.find(RunQuery()) == []
    chore.turn()
    assert len(stores[1].runs.find(RunQuery())) == 1
