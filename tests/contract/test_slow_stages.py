"""Stages that take longer than a lease, hang, or outlive the database: on every store, with a clock that the test owns."""

import contextlib
from collections import Counter
from types import SimpleNamespace

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import StoreError
from anubis.model.run import Event, Seen
from anubis.model.status import Status
from anubis.pipeline.reconciler import Reconciler
from anubis.pipeline.stage_pool import STAGES
from anubis.settings import Settings
from anubis.submission.environment.handover import HomeEnvironments
from anubis.testing import FakeClock, FakeEngine, FakeThreads, a_run, a_world
from support.datasets import cache_in

LEASE_S = 30.0


class SlowEngine(FakeEngine):
    """Placing takes as long as the test wants: ``during`` is what happens in the rest of the world meanwhile."""

    def __init__(self):
        super().__init__()
        self.placings = Counter()
        self.during = lambda run: None

    def place(self, run, bundle):
        self.placings[run.id] += 1
        placement = super().place(run, bundle)
        self.during(run)
        return placement


class Trouble:
    """A protocol of the store whose methods raise what the test says."""

    def __init__(self, inner):
        self._inner = inner
        #: Method name -> what it raises, or a function that decides by its arguments.
        self.raises = {}

    def __getattr__(self, name):
        def call(*args, **options):
            error = self.raises.get(name) or self.raises.get("*")
            if callable(error):
                error = error(*args)
            if error:
                raise error
            return getattr(self._inner, name)(*args, **options)

        return call


@pytest.fixture
def cluster(store, tmp_path):
    """A store, an engine and a clock for several replicas, each with separate threads."""
    clock, engine, other = FakeClock(), SlowEngine(), SlowEngine()
    other.name = "other"

    def replica(owner, **options):
        leases, threads = Trouble(store.leases), FakeThreads()
        world = a_world(
            store,
            engines={"fake": engine, "other": other},
            leases=leases,
            environments=HomeEnvironments(Settings.from_env({"ANUBIS_HOME": str(tmp_path)}), {}),
            datasets=cache_in(tmp_path),
            clock=clock,
        )
        reconciler = Reconciler(world, owner, lease_s=LEASE_S, start=threads, **options)
        return SimpleNamespace(reconciler=reconciler, threads=threads, leases=leases)

    return SimpleNamespace(
        store=store, clock=clock, engine=engine, other=other, replica=replica, status=status_of(store)
    )


def status_of(store):
    return lambda runs: [store.runs.get(run.id).status for run in runs]


def add(cluster, *runs):
    cluster.store.runs.add([(run, "text") for run in runs], [])


def turn(replica):
    """One turn of the loop, which outlives a database that is away."""
    replica.reconciler._patient_turn()


def settle(replica):
    """Let all stages answer until nothing more is due."""
    turn(replica)
    while replica.threads.run():
        turn(replica)


def settle_without(replica, name):
    """Let all stages but those of this name answer."""
    turn(replica)
    while any(replica.threads.run(each) for each in set(replica.threads.names) - {name}):
        turn(replica)


def pass_time(cluster, seconds, *replicas):
    """Every second the loops have a turn; every ten the keepers renew."""
    for second in range(int(seconds)):
        cluster.clock.advance(1.0)
        for replica in replicas:
            if second % 10 == 9:
                replica.reconciler.held.keeper.turn()
            turn(replica)


def cancel(cluster, run):
    cancelled = Event(run_id=run.id, kind="cancel_requested", time_s=0.0)
    cluster.store.runs.request_cancel([run.id], [cancelled])


def kinds(cluster, run):
    return [event.kind for event in cluster.store.events.read(run.id)]


def ready(**changes):
    return a_run(status=Status.PLACE, **changes)


def test_a_place_that_takes_longer_than_the_lease_happens_once(cluster):
    runs = [ready() for _ in range(3)]
    add(cluster, *runs)
    first, second = cluster.replica("first"), cluster.replica("second")
    turn(first)
    work = [first.threads.hang()]
    for _ in range(2):
        pass_time(cluster, 1, first, second)
        work.append(first.threads.hang())

    pass_time(cluster, 45, first, second)
    for end in work:
        end()
    settle(first)

    assert cluster.status(runs) == [Status.WATCH] * 3
    assert cluster.engine.placings == {run.id: 1 for run in runs}
    assert second.threads.names == []


def test_a_stage_that_hangs_holds_up_no_other_run(cluster):
    hanging, *others = runs = [ready() for _ in range(4)]
    elsewhere = ready(engine="other")
    add(cluster, *runs, elsewhere)
    replica = cluster.replica("first")
    turn(replica)
    replica.threads.hang()
    settle(replica)
    assert cluster.status([elsewhere]) == [Status.WATCH]

    pass_time(cluster, 1, replica)
    settle(replica)

    assert cluster.status(others) == [Status.WATCH] * 3
    assert cluster.status([hanging]) == [Status.PLACE]


def test_a_full_pool_queues_in_order(cluster):
    runs = [ready() for _ in range(STAGES + 2)]
    add(cluster, *runs)
    replica = cluster.replica("first")
    work = []
    for _ in range(STAGES + 4):
        pass_time(cluster, 1, replica)
        if replica.threads.waiting:
            work.append(replica.threads.hang())
    assert len(work) == STAGES

    work[1]()
    turn(replica)
    replica.threads.run("stage")

    assert list(cluster.engine.placings) == [runs[1].id, runs[STAGES].id]


def test_a_hanging_observation_holds_up_runs_of_its_engine_only_for_a_moment(cluster):
    old, new = ready(), ready()
    add(cluster, old)
    replica = cluster.replica("first")
    settle(replica)
    pass_time(cluster, 1, replica)
    assert replica.threads.names == ["watch fake"]
    replica.threads.hang()
    add(cluster, new)
    pass_time(cluster, 1, replica)
    settle(replica)
    cluster.engine.end(cluster.store.runs.get(new.id).placement)

    pass_time(cluster, 2, replica)
    settle(replica)

    assert cluster.store.runs.get(new.id).status.final
    assert cluster.status([old]) == [Status.WATCH]


def test_an_answer_under_a_lost_lease_is_dropped(cluster):
    run = ready()
    add(cluster, run)
    first, second = cluster.replica("first"), cluster.replica("second")

    def stopped(run):  # as by SIGSTOP: nothing renews
        cluster.engine.during = lambda run: None
        cluster.clock.advance(LEASE_S + 1)
        settle(second)

    cluster.engine.during = stopped
    turn(first)
    first.threads.run()
    settle(first)

    assert cluster.store.leases.owners() == ["second"]
    assert kinds(cluster, run) == ["placed"]
    assert len(cluster.engine.launches) == 1


def test_a_stage_that_waited_for_its_thread_until_the_lease_ran_out_does_not_begin(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")
    turn(first)
    cluster.clock.advance(LEASE_S + 1)

    first.threads.run()

    assert cluster.engine.placings == {}


def test_stopping_during_a_stage_gives_back_the_other_leases_only(cluster):
    hanging, other = ready(), ready()
    add(cluster, hanging, other)
    first, second = cluster.replica("first"), cluster.replica("second")
    turn(first)
    end = first.threads.hang()

    first.reconciler.close()
    settle(second)
    assert cluster.status([hanging, other]) == [Status.PLACE, Status.WATCH]

    end()  # too late: no loop takes the answer
    assert cluster.status([hanging]) == [Status.PLACE]
    pass_time(cluster, LEASE_S, second)
    settle(second)
    assert cluster.status([hanging]) == [Status.WATCH]
    assert len(cluster.engine.launches) == 2


def test_stopping_takes_the_answers_of_stages_that_end_in_time(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")
    turn(first)
    cluster.clock.meanwhile = first.threads.run

    first.reconciler.close()

    assert cluster.status([run]) == [Status.WATCH]
    assert cluster.store.leases.owners() == []


def test_a_database_that_is_away_for_longer_than_the_lease_costs_the_runs_in_hand(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")

    def away(run):
        cluster.engine.during = lambda run: None
        first.leases.raises["*"] = StoreError("away")
        for _ in range(int(LEASE_S) + 1):
            cluster.clock.advance(1.0)
            turn(first)
            with contextlib.suppress(StoreError):
                first.reconciler.held.keeper.turn()
        first.leases.raises.clear()

    cluster.engine.during = away
    turn(first)
    first.threads.run()
    assert not first.reconciler.held.keeper.holds(run.id)

    settle(first)

    assert cluster.status([run]) == [Status.WATCH]
    assert kinds(cluster, run) == ["placed"], "the first answer was dropped; the second found the placement"
    assert (cluster.engine.placings[run.id], len(cluster.engine.launches)) == (2, 1)


def test_an_answer_waits_for_a_database_that_is_away_for_a_moment(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")
    turn(first)
    first.threads.run()
    first.leases.raises["apply"] = StoreError("away")
    turn(first)
    assert cluster.status([run]) == [Status.PLACE]
    first.leases.raises.clear()

    turn(first)

    assert cluster.status([run]) == [Status.WATCH]
    assert cluster.engine.placings[run.id] == 1


def test_a_run_cancelled_during_a_slow_place_is_ended(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")

    def cancelled(run):
        cancel(cluster, run)
        pass_time(cluster, 5, first)

    cluster.engine.during = cancelled
    turn(first)
    first.threads.run()
    settle(first)

    (seen,) = cluster.engine.seen.values()
    assert seen.seen is Seen.ENDED
    assert cluster.store.runs.get(run.id).status.final


def test_a_keeper_that_died_is_noticed_when_the_leases_run_out(cluster, caplog):
    """Its reconciler claims the run again, and drops what was answered under the old lease."""
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")
    turn(first)
    end = first.threads.hang()
    for _ in range(int(LEASE_S)):
        cluster.clock.advance(1.0)
        turn(first)
    end()
    turn(first)

    assert f"dropped runs whose leases were lost: {run.id}" in caplog.text
    assert kinds(cluster, run) == []
    settle(first)
    assert cluster.status([run]) == [Status.WATCH]


@pytest.mark.parametrize("error", [TypeError("not JSON"), ValueError("too large")])
def test_a_step_that_cannot_be_written_fails_its_run_only(cluster, error):
    bad, good = ready(), ready()
    add(cluster, bad, good)
    first = cluster.replica("first")
    settle(first)
    cluster.engine.lose(cluster.store.runs.get(bad.id).placement)
    first.leases.raises["apply"] = lambda owner, run, step: (
        error if run.id == bad.id and step.status is Status.COLLECT else None
    )

    pass_time(cluster, 1, first)
    settle(first)

    ended = cluster.store.runs.get(bad.id)
    assert (ended.status, ended.cause) == (Status.FAILED, Cause.INTERNAL)
    assert str(error) in ended.reason
    assert cluster.status([good]) == [Status.WATCH]


def test_a_run_of_which_nothing_can_be_written_waits_and_stops_nobody(cluster):
    bad, good = ready(), ready()
    add(cluster, bad, good)
    first = cluster.replica("first")
    first.leases.raises["apply"] = lambda owner, run, step: TypeError("no") if run.id == bad.id else None

    settle(first)

    assert cluster.status([bad, good]) == [Status.PLACE, Status.WATCH]
    first.leases.raises.clear()
    for _ in range(7):
        cluster.clock.advance(10.0)
        first.reconciler.held.keeper.turn()
        settle(first)
    assert cluster.status([bad]) == [Status.WATCH]
    assert len(cluster.engine.launches) == 2


def test_a_wall_clock_that_jumps_makes_nobody_lose_a_run_or_place_it_twice(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")
    turn(first)
    end = first.threads.hang()

    cluster.clock.jump(3600.0)
    pass_time(cluster, 1, first)
    end()
    settle(first)

    assert cluster.status([run]) == [Status.WATCH]
    assert cluster.engine.placings[run.id] == 1


def test_no_more_runs_are_claimed_than_wait_here_for_a_stuck_engine_and_others_are_driven(cluster):
    stuck = [ready() for _ in range(6)]
    late = ready(engine="other", created_s=stuck[0].created_s + 1)
    add(cluster, *stuck)
    first, second = cluster.replica("first", max_waiting=4), cluster.replica("second")
    turn(first)
    first.threads.hang()
    add(cluster, late)

    pass_time(cluster, 2, first)
    first.threads.run("stage other")
    settle_without(first, "stage fake")

    assert cluster.status([late]) == [Status.WATCH]
    settle(second)
    assert cluster.status(stuck[4:]) == [Status.WATCH] * 2, "the rest is free for others"


def test_runs_that_are_only_watched_leave_room_for_more(cluster):
    runs = [ready() for _ in range(9)]
    add(cluster, *runs)
    first = cluster.replica("first", max_waiting=2)

    for _ in range(9):
        settle(first)
        pass_time(cluster, 1, first)

    assert cluster.status(runs) == [Status.WATCH] * 9


def test_an_answer_that_comes_after_the_lease_ran_out_is_dropped_at_the_end_too(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")
    turn(first)
    end = first.threads.hang()
    end()
    cluster.clock.advance(LEASE_S + 1)

    first.reconciler.close()

    assert kinds(cluster, run) == []


def test_a_lease_that_was_given_up_is_free_at_once(cluster):
    """The renewal came through, but its confirmation did not."""
    run = ready()
    add(cluster, run)
    first, second = cluster.replica("first"), cluster.replica("second")
    settle(first)
    cluster.clock.advance(LEASE_S - 1)
    cluster.store.leases.renew("first", [run.id], now_s=cluster.clock.now_s(), lease_s=LEASE_S)
    cluster.clock.advance(1)

    first.reconciler.held.give_up_lost()
    settle(second)

    assert cluster.store.leases.owners() == ["second"]


def test_a_run_cancelled_while_there_is_no_room_for_it_is_final_at_once(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")
    turn(first)
    end = first.threads.hang()
    cluster.engine.room = 0
    cancel(cluster, run)
    pass_time(cluster, 1, first)
    end()

    settle(first)

    assert cluster.status([run]) == [Status.CANCELLED]


def test_watching_in_progress_ends_when_a_run_is_cancelled(cluster):
    run = ready()
    add(cluster, run)
    first = cluster.replica("first")
    turn(first)
    first.threads.run("stage")
    turn(first)
    assert first.threads.names == ["watch fake"]
    end = first.threads.hang()
    cancel(cluster, run)
    pass_time(cluster, 1, first)
    cluster.clock.waits.clear()

    end()

    assert cluster.clock.waits == []
    settle(first)
    assert cluster.store.runs.get(run.id).status.final
