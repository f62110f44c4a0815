"""Several owners of one database at the same time, each with separate connections."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from anubis.model.errors import LeaseLostError
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.store import open_store
from anubis.store.rows import id_bytes
from anubis.testing import a_descriptor, a_point, a_run, an_event

OWNERS = [f"owner-{number}" for number in range(4)]
NOW_S = 1_800_000_000.0


@pytest.fixture
def stores(database_url):
    opened = {owner: open_store(database_url) for owner in OWNERS}
    yield opened
    for store in opened.values():
        store.close()


def together(work, stores):
    """``work(owner, store)`` in one thread for each owner, all starting at the same moment."""
    start = threading.Barrier(len(stores))

    def one(owner):
        start.wait()
        return work(owner, stores[owner])

    with ThreadPoolExecutor(len(stores)) as pool:
        return dict(zip(stores, pool.map(one, stores), strict=True))


def test_no_run_is_claimed_twice(stores):
    runs = [a_run() for _ in range(120)]
    stores[OWNERS[0]].runs.add([(run, "") for run in runs], [])

    def claim_all(owner, store):
        got = []
        while some := store.leases.claim(owner, now_s=NOW_S, lease_s=30, limit=7):
            got += [run.id for run in some]
        return got

    claimed = [run_id for got in together(claim_all, stores).values() for run_id in got]
    assert sorted(claimed) == sorted(run.id for run in runs)


def test_every_step_is_applied_once_and_every_event_is_seen_by_who_follows(stores):
    """One owner reads events by number while the others write: a number that appears late would be missed."""
    runs = [a_run(a_descriptor(f"benchmark-{i % 7}")) for i in range(60)]
    reader, *writers = OWNERS
    done = threading.Event()
    seen = []

    def follow(store):
        while True:
            last_look = done.is_set()
            while events := store.events.read(after_seq=seen[-1].seq if seen else 0, limit=10):
                seen.extend(events)
            if last_look:
                return

    def drive(owner, store):
        number = writers.index(owner)
        store.runs.add([(run, run.id) for run in runs[number::3]], [an_event(run) for run in runs[number::3]])
        while store.runs.unfinished():
            for run in store.leases.claim(owner, now_s=NOW_S, lease_s=3000, limit=5):
                for status in (Status.PLACE, Status.WATCH, Status.SUCCEEDED):
                    points = (a_point(run, f"metric-{i}") for i in range(3))
                    step = Step(status=status, events=(an_event(run, status),), points=tuple(points))
                    run = store.leases.apply(owner, run, step, now_s=NOW_S)  # noqa: PLW2901
        return True

    following = threading.Thread(target=follow, args=(stores[reader],))
    following.start()
    try:
        together(drive, {owner: stores[owner] for owner in writers})
    finally:
        done.set()
        following.join()
    assert seen == stores[reader].events.read(limit=10_000)
    assert [event.seq for event in seen] == list(range(1, 4 * len(runs) + 1))
    assert len(stores[reader].points.of([run.id for run in runs])) == 3 * len(runs)


def test_only_one_of_two_owners_writes_after_a_lease_ran_out(stores):
    """Old holder and new holder apply at the same moment, many times over."""
    for _ in range(15):
        run = a_run()
        stores[OWNERS[0]].runs.add([(run, "")], [])
        holders = {owner: stores[owner] for owner in OWNERS[:2]}
        for at, owner in enumerate(holders):
            (held,) = holders[owner].leases.claim(owner, now_s=NOW_S + 30 * at, lease_s=30, limit=1)

        def write(owner, store, held=held):
            step = Step(status=Status.FAILED, reason=owner, events=(an_event(held, "final", actor=owner),))
            try:
                return store.leases.apply(owner, held, step, now_s=NOW_S)
            except LeaseLostError:
                return None

        written = together(write, holders)
        assert [owner for owner, after in written.items() if after] == [OWNERS[1]]
        assert [event.actor for event in stores[OWNERS[0]].events.read(run.id)] == [OWNERS[1]]


def test_cancelling_renewing_and_releasing_do_not_wait_in_a_circle(stores):
    runs = [a_run() for _ in range(40)]
    ids = [run.id for run in runs]
    stores[OWNERS[0]].runs.add([(run, "") for run in runs], [])
    stores[OWNERS[0]].leases.claim(OWNERS[0], now_s=NOW_S, lease_s=30, limit=100)

    def disturb(owner, store):
        for _ in range(10):
            if owner == OWNERS[0]:
                assert len(store.leases.renew(owner, ids, now_s=NOW_S, lease_s=30)) == len(ids)
            elif owner == OWNERS[1]:
                store.runs.request_cancel(ids[::-1], [])
            elif owner == OWNERS[2]:
                store.leases.release(owner)
            else:
                store.runs.remove(ids)

    together(disturb, stores)
    assert sorted(stores[OWNERS[0]].leases.cancelled(OWNERS[0])) == sorted(ids)


def test_the_same_new_words_may_come_from_everybody(stores):
    """New labels, names, metrics and series, stored by all owners at once."""

    def submit(owner, store):
        runs = [
            a_run(a_descriptor(f"name-{i}", labels={"n": str(i)}), family_id=f"family-{i}") for i in range(20)
        ]
        store.runs.add(
            [(run, "the same text") for run in runs], [an_event(run, f"kind-{owner}") for run in runs]
        )
        return runs

    added = together(submit, stores)
    for owner, runs in added.items():
        for run in runs:
            assert stores[owner].runs.get(run.id) == run


def test_removing_a_run_spares_the_descriptor_another_one_shares(stores):
    keep, drop = OWNERS[:2]
    store = stores[keep]

    def churn(owner, store):
        mine = []
        for _ in range(20):
            run = a_run(a_descriptor("shared"))
            store.runs.add([(run, "shared text")], [])
            mine.append(run)
            if owner == drop:
                (held,) = [
                    r for r in store.leases.claim(owner, now_s=NOW_S, lease_s=1, limit=999) if r.id == run.id
                ]
                store.leases.apply(owner, held, Step(status=Status.CANCELLED), now_s=NOW_S)
                store.leases.release(owner)
                store.runs.remove([run.id])
        return mine

    added = together(churn, {owner: stores[owner] for owner in (keep, drop)})
    for run in added[keep]:
        assert store.runs.get(run.id) == run
        assert store.runs.text(run.id) == "shared text"


@pytest.mark.postgresql
def test_a_transaction_that_lost_a_deadlock_is_tried_again(postgresql_url):
    url = f"{postgresql_url}%20-cdeadlock_timeout%3D10ms"
    stores = {owner: open_store(url) for owner in OWNERS[:2]}
    first, second = a_run(), a_run()
    stores[OWNERS[0]].runs.add([(first, ""), (second, "")], [])
    both_hold_one = threading.Barrier(2)
    attempts = []

    def take_both(owner, store):
        order = [id_bytes(run.id) for run in (first, second)][:: 1 if owner == OWNERS[0] else -1]

        def work(session):
            attempts.append(owner)
            session.rows("request_cancel", ids=order[:1])
            if len(attempts) <= 2:
                both_hold_one.wait()
            session.rows("request_cancel", ids=order[1:])

        store.database.transact(work)

    together(take_both, stores)
    assert len(attempts) >= 3  # the second attempt can lose a deadlock too
    assert all(stores[OWNERS[0]].runs.get(run.id).cancel_requested for run in (first, second))
    for store in stores.values():
        store.close()
