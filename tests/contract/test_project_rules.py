"""Permissions and quotas of projects in each database. A quota is never exceeded, also by several processes at once."""

import contextlib
import random
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.contracts.runs import Part
from anubis.model.access.roles import EVERYTHING, OF_NEW_PROJECTS, Decision, Quota
from anubis.model.cause import Cause
from anubis.model.errors import BadInputError, NotFoundError, QuotaError
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import a_descriptor, a_placement, a_run
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.leases import make_projects
from support.processes import until

BY = Decision(time_s=NOW_S, last_s=NOW_S, actor="op", action="", allowed=True)
LEASE_S = 30.0
DAY_S = 86_400.0


@pytest.fixture
def store(database_url):
    opened = open_store(database_url)
    opened.identities.create_project("team", by=BY)
    yield opened
    opened.close()


def runs(count, **changes):
    return [(a_run(**{"project": "team", "created_s": NOW_S, **changes}), "") for _ in range(count)]


def quota(store, **limits):
    return store.projects.put_quota("team", Quota(**limits), by=BY)


def end(store, run, *, record_bytes=None):
    step = Step(status=Status.FAILED, cause=Cause.LOST, record_bytes=record_bytes)
    store.leases.apply("one", run, step, now_s=NOW_S)


def claimed(store, limit=100):
    return store.leases.claim("one", now_s=NOW_S, lease_s=LEASE_S, limit=limit)


def test_new_projects_permit_less_than_the_first_one(store):
    assert store.projects.permission("default").project.permits == EVERYTHING
    assert store.projects.permission("team").project.permits == OF_NEW_PROJECTS
    with pytest.raises(NotFoundError):
        store.projects.permission("nobody")


def test_permissions_and_quotas_are_changed_and_the_change_is_recorded(store):
    made = store.projects.change_permits(
        "team", permit=["network", "engine:slurm"], forbid=["image:*"], by=BY
    )
    assert made.permits == ("network", "engine:container", "engine:joined", "engine:process", "engine:slurm")
    limits = Quota(running=1, waiting=2, per_day=3, record_bytes=1 << 40, run_s=0.5 + 4)
    assert store.projects.put_quota("team", limits, by=BY).quota == limits
    assert store.projects.permission("team").project in store.identities.projects()
    actions = [each.action for each in store.identities.decisions.find()][:2]
    assert actions[1] == "permit network engine:slurm, forbid image:*"
    assert actions[0].startswith("set quota: ")


def test_a_refused_change_changes_nothing(store):
    before = store.projects.permission("team")
    for change in (
        lambda: store.projects.change_permits("team", permit=["network", "root"], by=BY),
        lambda: store.projects.change_permits("team", forbid=["image:a"], by=BY),
        lambda: quota(store, running=0),
    ):
        with pytest.raises(BadInputError):
            change()
    for change in (
        lambda: store.projects.change_permits("nobody", permit=["network"], by=BY),
        lambda: store.projects.put_quota("nobody", Quota(), by=BY),
    ):
        with pytest.raises(NotFoundError):
            change()
    assert store.projects.permission("team") == before


def test_no_more_runs_wait_than_the_quota(store):
    quota(store, waiting=3)
    store.runs.add(runs(2), [])
    with pytest.raises(QuotaError, match="2 runs wait and 2 are added") as caught:
        store.runs.add(runs(2), [])
    assert caught.value.again_after_s > 0
    assert store.runs.unfinished() == 2
    again = runs(1)
    store.runs.add(again, [])
    store.runs.add(again, [])  # a repetition adds nothing
    store.runs.add([(a_run(created_s=NOW_S), "")], [])  # another project
    for run in claimed(store)[:1]:
        store.leases.apply("one", run, Step(status=Status.WATCH, placement=a_placement(run)), now_s=NOW_S)
    assert store.runs.unfinished() == 4


def test_no_more_runs_are_submitted_on_a_day_than_the_quota_also_if_they_are_deleted(store):
    quota(store, per_day=2)
    store.runs.add(runs(2), [])
    for run in claimed(store):
        end(store, run)
        store.runs.remove([run.id])
    with pytest.raises(QuotaError) as caught:
        store.runs.add(runs(1), [])
    left_s = DAY_S - NOW_S % DAY_S
    assert caught.value.again_after_s == left_s
    assert "anubis project quota team" in caught.value.remedy
    store.runs.add(runs(2, created_s=NOW_S + left_s), [])
    with pytest.raises(QuotaError):
        store.runs.add(runs(1, created_s=NOW_S + left_s), [])


def test_the_bytes_of_records_count_until_they_are_deleted(store):
    quota(store, record_bytes=100)
    store.runs.add(runs(3), [])
    first, second, _ = claimed(store)
    end(store, first, record_bytes=60)
    store.runs.add(runs(1), [])
    end(store, second, record_bytes=40)
    with pytest.raises(QuotaError, match="100 bytes") as caught:
        store.runs.add(runs(1), [])
    assert "purge" in caught.value.remedy
    assert "retention" in caught.value.remedy
    store.runs.expire([second.id], [Part.SAMPLES], [])
    with pytest.raises(QuotaError):
        store.runs.add(runs(1), [])
    store.runs.expire([second.id], [Part.RECORD], [])
    store.runs.add(runs(1), [])
    quota(store, record_bytes=60)
    with pytest.raises(QuotaError):
        store.runs.add(runs(1), [])
    store.runs.remove([first.id])
    store.runs.add(runs(1), [])


def test_every_quota_that_is_used_up_is_named(store):
    quota(store, waiting=1, per_day=1, record_bytes=1)
    store.runs.add(runs(1), [])
    end(store, *claimed(store), record_bytes=5)
    with pytest.raises(QuotaError) as caught:
        store.runs.add(runs(2), [])
    assert all(text in str(caught.value) for text in ("0 runs wait", "1 runs were submitted", "5 bytes"))


def together(work, stores):
    """``work(store)`` in one thread for each store, all at the same moment."""
    start = threading.Barrier(len(stores))

    def one(store):
        start.wait()
        return work(store)

    with ThreadPoolExecutor(len(stores)) as pool:
        return list(pool.map(one, stores))


def test_services_that_claim_at_once_do_not_exceed_the_quota(database_url):
    stores = [open_store(database_url) for _ in range(4)]
    try:
        make_projects(stores[0], {"team": 1.0, "free": 1.0}, {"team": 3})
        many = [(a_run(project=name, created_s=NOW_S), "") for _ in range(60) for name in ("team", "free")]
        stores[0].runs.add(many, [])
        running, most, lock = set(), [0], threading.Lock()

        def drive(store):
            owner, chance = f"owner-{stores.index(store)}", random.Random(stores.index(store))
            idle = 0
            while store.runs.unfinished() and idle < 2000:
                found = store.leases.claim(owner, now_s=NOW_S, lease_s=3000, limit=chance.randint(1, 5))
                idle = 0 if found else idle + 1
                with lock:
                    running.update(run.id for run in found if run.project == "team")
                    most[0] = max(most[0], len(running))
                for run in found:
                    with lock:
                        running.discard(run.id)
                    step = Step(status=Status.FAILED, cause=Cause.LOST)
                    store.leases.apply(owner, run, step, now_s=NOW_S)

        together(drive, stores)
        assert stores[0].runs.unfinished() == 0
        assert most[0] <= 3
    finally:
        for each in stores:
            each.close()


@pytest.mark.postgresql
def test_a_claim_waits_for_the_claims_of_other_services_before_it_counts(postgresql_url):
    first, second = open_store(postgresql_url), open_store(postgresql_url)
    try:
        make_projects(first, {"team": 1.0}, {"team": 3})
        first.runs.add(runs(9), [])
        found = []

        def claim_second():
            found.extend(second.leases.claim("second", now_s=NOW_S, lease_s=LEASE_S, limit=9))

        thread = threading.Thread(target=claim_second)
        values = {"owner": "first", "now_s": NOW_S, "until_s": NOW_S + LEASE_S, "most": 9}
        values |= {"latest_s": NOW_S + 999, "latest_lease_s": NOW_S + 999}

        def claim_first(session):
            session.rows("lock_limits")
            claimed = session.rows("claim", **values)
            # More urgent than all that the first service saw.
            second.runs.add([(a_run(a_descriptor(priority=9), project="team", created_s=NOW_S), "")], [])
            thread.start()
            waits = "SELECT 1 AS one FROM pg_locks WHERE NOT granted"
            until(
                lambda: session.ask(waits, {}) or not thread.is_alive(),
                "the second claim waits, or has ended",
            )
            return claimed

        assert len(first.database.transact(claim_first)) == 3
        thread.join()
        assert found == []
    finally:
        first.close()
        second.close()


def test_services_that_accept_runs_at_once_do_not_exceed_the_quota(database_url):
    stores = [open_store(database_url) for _ in range(4)]
    try:
        stores[0].identities.create_project("team", by=BY)
        quota(stores[0], waiting=25, per_day=20)

        def submit(store):
            accepted = 0
            for _ in range(10):
                try:
                    store.runs.add(runs(2), [])
                    accepted += 2
                except QuotaError:
                    pass
            return accepted

        assert sum(together(submit, stores)) == 20
        assert stores[0].runs.unfinished() == 20
    finally:
        for each in stores:
            each.close()


ACTIONS = st.lists(
    st.tuples(st.sampled_from(["add", "claim", "start", "end", "release", "later"]), st.integers(0, 3)),
    max_size=40,
)


class Machines:
    """A store with a project, and owners that lease, start, end and lose its runs."""

    def __init__(self, store):
        self.store, self.now_s = store, NOW_S
        #: Id of a run -> who leased it last, and the run; and the ids of the runs that may be in progress.
        self.held, self.flying = {}, set()

    def add(self, number):
        with contextlib.suppress(QuotaError):
            self.store.runs.add(runs(number), [])

    def claim(self, number):
        owner = f"owner-{number}"
        for run in self.store.leases.claim(owner, now_s=self.now_s, lease_s=LEASE_S, limit=3):
            self.held[run.id] = (owner, run)
            self.flying.add(run.id)

    def later(self, number):
        self.now_s += 20 * number

    def release(self, number):
        if self.held:
            owner, run = self.held.pop(sorted(self.held)[number % len(self.held)])
            self.store.leases.release(owner, [run.id])
            if run.status is not Status.WATCH:
                self.flying.discard(run.id)

    def start(self, number):
        self._apply(number, Status.WATCH, None)

    def end(self, number):
        self._apply(number, Status.FAILED, Cause.LOST)

    def _apply(self, number, status, cause):
        if not self.held:
            return
        owner, run = self.held.pop(sorted(self.held)[number % len(self.held)])
        step = Step(status=status, cause=cause, placement=a_placement(run))
        after = self.store.leases.apply(owner, run, step, now_s=self.now_s)
        if after.status.final:
            self.flying.discard(run.id)
        else:
            self.held[run.id] = (owner, after)


@settings(max_examples=40)
@given(actions=ACTIONS, running=st.integers(1, 3), waiting=st.integers(1, 6))
def test_no_order_of_events_exceeds_a_quota(actions, running, waiting):
    """Also after processes died: a run that they may have started has its room until it ends."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder, 'anubis.db')}")
        try:
            store.identities.create_project("team", by=BY)
            quota(store, running=running, waiting=waiting)
            machines = Machines(store)
            for action, number in actions:
                getattr(machines, action)(number)
                assert len(machines.flying) <= running
                assert store.database.rows("waiting_runs", project=2)[0].runs <= waiting
        finally:
            store.close()
