"""The contract of ``Leases`` as tests. A subclass has a fixture ``store`` with ``runs`` and ``points`` in it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from anubis.model.access.roles import Decision, Quota
from anubis.model.cause import Cause
from anubis.model.errors import LeaseLostError
from anubis.model.run import Step
from anubis.model.status import Phase, Status
from anubis.testing.builders import NOW_S, a_descriptor, a_placement, a_point, a_run, an_event, samples_of
from anubis.testing.contracts.runs import LEASE_S, added, claimed, finished


class LeaseContract:
    """Leases of runs."""

    def test_only_one_owner_gets_a_run(self, store: Any) -> None:
        run = added(store, a_run())
        assert claimed(store, "one") == [run]
        assert claimed(store, "two") == []
        assert claimed(store, "one") == []
        assert store.leases.owners() == ["one"]

    def test_a_run_that_is_not_due_waits(self, store: Any) -> None:
        run = added(store, a_run(due_s=NOW_S + 10))
        assert claimed(store, now_s=NOW_S + 9.9) == []
        assert claimed(store, now_s=NOW_S + 10) == [run]

    def test_the_most_important_goes_first_and_then_the_oldest(self, store: Any) -> None:
        urgent = a_run(a_descriptor(priority=5), created_s=NOW_S - 1)
        middle, oldest, newest = (a_run(created_s=NOW_S - age) for age in (3, 4, 2))
        added(store, middle, oldest, urgent, newest)
        assert claimed(store, limit=1) == [urgent]
        assert claimed(store, limit=2) == [oldest, middle]
        assert claimed(store, limit=0) == []
        assert claimed(store) == [newest]

    def test_runs_of_engines_that_are_left_out_wait(self, store: Any) -> None:
        full, other = a_run(), a_run(engine="other")
        added(store, full, other)
        times = {"now_s": NOW_S, "lease_s": LEASE_S, "limit": 5}
        assert store.leases.claim("one", without=["fake", "never seen"], **times) == [other]
        assert store.leases.claim("one", without=["other"], **times) == [full]

    @pytest.mark.parametrize("status", [Status.SUCCEEDED, Status.FAILED, Status.CANCELLED])
    def test_a_run_that_waits_for_another_is_due_when_that_is_final(self, store: Any, status: Status) -> None:
        needed = added(store, a_run(created_s=NOW_S - 9, due_s=NOW_S - 9))
        waiting, other = a_run(needs=(needed.id,)), a_run(needs=(a_run().id,))
        added(store, waiting, other)
        assert store.runs.get(waiting.id).needs == (needed.id,)
        for run in claimed(store):
            if run.needs:
                step = Step(status=run.status, phase=Phase.NEEDS, again_after_s=60.0)
                store.leases.apply("one", run, step, now_s=NOW_S)
        store.leases.release("one", [waiting.id, other.id])
        assert claimed(store, "two") == []
        store.leases.apply("one", needed, Step(status=status), now_s=NOW_S)
        assert [run.id for run in claimed(store, "two")] == [waiting.id]

    def test_a_lease_that_ran_out_goes_to_the_next(self, store: Any) -> None:
        run = added(store, a_run())
        claimed(store, "one")
        assert claimed(store, "two", now_s=NOW_S + LEASE_S - 0.1) == []
        assert claimed(store, "two", now_s=NOW_S + LEASE_S) == [run]
        assert store.leases.owners() == ["two"]

    def test_a_clock_that_is_set_back_delays_no_run(self, store: Any) -> None:
        waiting = added(store, a_run())
        held = added(store, a_run(due_s=NOW_S - 7200))
        claimed(store, "elsewhere", now_s=NOW_S - 1)
        assert claimed(store, "one", now_s=NOW_S - 3600) == [held, waiting]
        assert claimed(store, "two", now_s=NOW_S - 3600) == []

    def test_the_next_time_at_which_a_run_of_others_is_ready(self, store: Any) -> None:
        assert store.leases.next_ready_s("one", now_s=NOW_S) is None
        added(store, a_run())
        assert store.leases.next_ready_s("one", now_s=NOW_S) is None, "it is ready already"
        claimed(store, "one")
        assert store.leases.next_ready_s("one", now_s=NOW_S) is None
        assert store.leases.next_ready_s("two", now_s=NOW_S) == NOW_S + LEASE_S
        later = added(store, a_run(due_s=NOW_S + 10))
        assert store.leases.next_ready_s("two", now_s=NOW_S) == NOW_S + 10
        assert claimed(store, "two", now_s=NOW_S + 10) == [later]

    def test_a_renewed_lease_lasts_longer(self, store: Any) -> None:
        run = added(store, a_run())
        claimed(store, "one")
        assert store.leases.renew("one", [run.id], now_s=NOW_S + 20, lease_s=LEASE_S) == {run.id: False}
        assert claimed(store, "two", now_s=NOW_S + LEASE_S) == []
        assert claimed(store, "two", now_s=NOW_S + 20 + LEASE_S) == [run]

    def test_a_lost_lease_is_not_renewed(self, store: Any) -> None:
        kept, lost = a_run(), a_run()
        added(store, kept, lost)
        claimed(store, "one")
        store.leases.release("one", [lost.id])
        claimed(store, "two")
        renewed = store.leases.renew("one", [kept.id, lost.id], now_s=NOW_S, lease_s=LEASE_S)
        assert renewed == {kept.id: False}
        assert store.leases.renew("one", [], now_s=NOW_S, lease_s=LEASE_S) == {}

    def test_a_lease_can_be_given_back(self, store: Any) -> None:
        first, second = a_run(), a_run()
        added(store, first, second)
        claimed(store, "one")
        store.leases.release("two")
        assert claimed(store, "two") == []
        store.leases.release("one", [first.id])
        assert claimed(store, "two") == [first]
        store.leases.release("one")
        assert claimed(store, "two") == [second]
        assert store.leases.owners() == ["two"]

    def test_a_zombie_writes_nothing(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store, "zombie")
        claimed(store, "heir", now_s=NOW_S + LEASE_S)
        step = Step(
            status=Status.FAILED,
            events=(an_event(run, "final"),),
            points=(a_point(run),),
            samples=(samples_of([1.0]),),
        )
        with pytest.raises(LeaseLostError):
            store.leases.apply("zombie", run, step, now_s=NOW_S + LEASE_S)
        assert store.runs.get(run.id).status is Status.FETCH
        assert store.events.read() == []
        assert store.points.of([run.id]) == []
        assert store.points.summaries(run.id) == []

    def test_a_step_without_a_lease_is_refused(self, store: Any) -> None:
        run = added(store, a_run())
        with pytest.raises(LeaseLostError):
            store.leases.apply("one", run, Step(status=Status.PLACE), now_s=NOW_S)

    def test_only_owners_of_valid_leases_drive(self, store: Any) -> None:
        added(store, a_run())
        claimed(store)
        for at_s, expected in (
            (NOW_S, ["one"]),
            (NOW_S + LEASE_S - 1, ["one"]),
            (NOW_S + LEASE_S, []),  # expired
            (NOW_S - 3600, []),  # the clock was set back
        ):
            assert store.leases.drivers(now_s=at_s, lease_s=LEASE_S) == expected
        store.leases.release("one")
        assert store.leases.drivers(now_s=NOW_S, lease_s=LEASE_S) == []

    def test_a_final_run_is_left_alone(self, store: Any) -> None:
        run = finished(store, a_run())
        assert store.leases.owners() == []
        assert claimed(store, now_s=NOW_S + 1e6) == []
        assert store.leases.renew("finisher", [run.id], now_s=NOW_S, lease_s=LEASE_S) == {}
        with pytest.raises(LeaseLostError):
            store.leases.apply("finisher", run, Step(status=Status.PLACE), now_s=NOW_S)


class ApplyContract:
    """Applying steps."""

    def test_a_step_is_written_and_returned(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        placement = a_placement(run, pid=42, folder="/record")
        step = Step(status=Status.WATCH, again_after_s=2.5, placement=placement, reason="it runs")
        after = store.leases.apply("one", run, step, now_s=NOW_S + 1)
        expected: dict[str, Any] = {
            "placement": placement,
            "placed_s": NOW_S + 1,
            "due_s": NOW_S + 3.5,
            "reason": "it runs",
            "phase": Phase.RUN,
            "phase_s": NOW_S + 1,
        }
        assert after == replace(run, status=Status.WATCH, **expected)
        assert store.runs.get(run.id) == after

    def test_the_lease_is_kept_until_the_run_is_final(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        run = store.leases.apply("one", run, Step(status=Status.PLACE), now_s=NOW_S)
        assert store.leases.owners() == ["one"]
        assert claimed(store, "two") == []
        run = store.leases.apply("one", run, Step(status=Status.FAILED, cause=Cause.DATA), now_s=NOW_S + 9)
        assert (run.ended_s, run.cause) == (NOW_S + 9, Cause.DATA)
        assert store.leases.owners() == []
        assert store.runs.unfinished() == 0
        assert store.runs.get(run.id) == run

    def test_a_run_whose_holder_died_waits_for_its_time(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        later_s = NOW_S + 10 * LEASE_S
        step = Step(status=Status.PLACE, again_after_s=10 * LEASE_S)
        after = store.leases.apply("one", run, step, now_s=NOW_S)
        assert claimed(store, "two", now_s=later_s - 1) == []
        assert claimed(store, "two", now_s=later_s) == [after]

    def test_a_released_run_waits_for_its_time(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        after = store.leases.apply("one", run, Step(status=Status.PLACE, again_after_s=5.0), now_s=NOW_S)
        store.leases.release("one")
        assert claimed(store, "two", now_s=NOW_S + 4) == []
        assert claimed(store, "two", now_s=NOW_S + 5) == [after]

    def test_events_points_and_samples_come_with_the_step(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        point, block, event = a_point(run), samples_of([1.0, 2.0]), an_event(run, "ended")
        step = Step(status=Status.COLLECT, points=(point,), samples=(block,), events=(event,))
        store.leases.apply("one", run, step, now_s=NOW_S)
        assert store.points.of([run.id]) == [point]
        assert store.points.samples(run.id, "latency") == block
        assert [replace(event, seq=None) for event in store.events.read(run.id)] == [event]

    def test_a_repeated_step_doubles_no_point_and_no_sample(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        step = Step(status=Status.COLLECT, points=(a_point(run),), samples=(samples_of([1.0, 2.0]),))
        for _ in range(2):
            run = store.leases.apply("one", run, step, now_s=NOW_S)
        assert len(store.points.of([run.id])) == 1
        assert list(store.points.samples(run.id, "latency").values) == [1.0, 2.0]

    def test_a_new_attempt_forgets_the_old_one(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        step = Step(
            status=Status.COLLECT,
            placement=a_placement(run),
            points=(a_point(run),),
            samples=(samples_of([1.0]),),
            cause=Cause.PREEMPTED,
        )
        run = store.leases.apply("one", run, step, now_s=NOW_S)
        run = store.leases.apply("one", run, Step(status=Status.PLACE, next_attempt=True), now_s=NOW_S)
        assert (run.attempt, run.placement, run.placed_s, run.cause) == (2, None, None, None)
        assert store.runs.get(run.id) == run
        assert store.points.of([run.id]) == []
        assert store.points.summaries(run.id) == []


class ShareContract:
    """Which queued run is leased next."""

    def test_projects_take_turns(self, store: Any) -> None:
        make_projects(store, {"a": 1.0, "b": 1.0})
        many = [a_run(project="a", created_s=NOW_S - 10 + number) for number in range(4)]
        few = [a_run(project="b", created_s=NOW_S - 2 + number) for number in range(2)]
        added(store, *many, *few)
        names = [run.project for run in claimed(store, limit=6)]
        assert names[:4].count("a") == names[:4].count("b") == 2
        assert names[4:] == ["a", "a"]

    def test_the_most_urgent_run_of_a_project_takes_its_turn(self, store: Any) -> None:
        make_projects(store, {"a": 1.0, "b": 1.0})
        urgent = a_run(a_descriptor(priority=9), project="a")
        added(store, a_run(project="a", created_s=NOW_S - 9), a_run(project="a", created_s=NOW_S - 8), urgent)
        added(store, a_run(project="b"))
        first = claimed(store, limit=2)
        assert urgent.id in {run.id for run in first}
        assert {run.project for run in first} == {"a", "b"}

    def test_a_project_without_queued_runs_saves_nothing_up(self, store: Any) -> None:
        make_projects(store, {"a": 1.0, "b": 1.0})
        added(store, *(a_run(project="a", created_s=NOW_S - 100 + number) for number in range(30)))
        claimed(store, limit=20)
        added(store, *(a_run(project="b", created_s=NOW_S - 50 + number) for number in range(10)))
        names = [run.project for run in claimed(store, limit=10)]
        assert names.count("b") in {5, 6}

    def test_a_released_run_costs_no_turn(self, store: Any) -> None:
        make_projects(store, {"a": 1.0, "b": 1.0})
        added(store, *(a_run(project="a", created_s=NOW_S - 100 + number) for number in range(5)))
        for _ in range(5):
            claimed(store, limit=5)
            store.leases.release("one")
        added(store, *(a_run(project="b", created_s=NOW_S - 50 + number) for number in range(5)))
        names = [run.project for run in claimed(store, limit=4)]
        assert names.count("a") == 2

    def test_a_run_in_progress_takes_no_turn(self, store: Any) -> None:
        make_projects(store, {"a": 1.0, "b": 1.0})
        running = added(store, a_run(project="a"))
        claimed(store)
        step = Step(status=Status.WATCH, placement=a_placement(running))
        store.leases.apply("one", running, step, now_s=NOW_S)
        for _ in range(5):
            store.leases.release("one")
            assert [run.id for run in claimed(store)] == [running.id]
        store.leases.release("one")
        queued = [a_run(project=name, created_s=NOW_S - 5 + at) for at, name in enumerate("aabb")]
        added(store, *queued)
        found = claimed(store, limit=3)
        assert running.id in {run.id for run in found}
        assert {run.project for run in found if run.id != running.id} == {"a", "b"}

    def test_a_project_starts_no_more_runs_than_its_limit(self, store: Any) -> None:
        make_projects(store, {"a": 1.0}, {"a": 2})
        added(store, *(a_run(project="a", created_s=NOW_S - 9 + number) for number in range(4)))
        first, second = claimed(store)
        assert claimed(store) == []
        store.leases.apply("one", first, Step(status=Status.WATCH, placement=a_placement(first)), now_s=NOW_S)
        assert claimed(store) == []
        store.leases.apply("one", second, Step(status=Status.FAILED, cause=Cause.LOST), now_s=NOW_S)
        assert len(claimed(store)) == 1

    def test_a_run_whose_driver_died_keeps_its_room_and_is_leased_again(self, store: Any) -> None:
        make_projects(store, {"a": 1.0}, {"a": 1})
        added(store, *(a_run(project="a", created_s=NOW_S - 99 + number) for number in range(9)))
        (died,) = claimed(store, limit=1)
        later_s = NOW_S + 2 * LEASE_S
        # Its process may have started it, so it is the only one that may be leased.
        found = [store.leases.claim("two", now_s=later_s, lease_s=LEASE_S, limit=each) for each in (1, 9)]
        assert [[run.id for run in each] for each in found] == [[died.id], []]


def make_projects(
    store: Any, weights: Mapping[str, float], max_running: Mapping[str, int] | None = None
) -> None:
    """Projects with these weights and limits."""
    limits = dict(max_running or {})
    if not hasattr(store, "identities"):
        store.weights.update(weights)
        store.max_running.update(limits)
        return
    by = Decision(time_s=NOW_S, last_s=NOW_S, actor="me", action="", allowed=True)
    for name, weight in weights.items():
        store.identities.create_project(name, by=by)
        store.identities.put_share(name, weight=weight, by=by)
        store.projects.put_quota(name, Quota(running=limits.get(name)), by=by)
