"""The contract of ``Runs`` as tests. A subclass has a fixture ``store`` with ``runs`` and ``points`` in it."""

from dataclasses import replace
from typing import Any

import pytest

from anubis.model.cause import Cause
from anubis.model.errors import LeaseLostError, NotFoundError
from anubis.model.ids import new_run_id
from anubis.model.run import Run, Step
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_descriptor, a_placement, a_point, a_run, an_event, samples_of
from anubis.testing.contracts.finished_runs import AddFinishedContract

LEASE_S = 30.0


def added(store: Any, *runs: Run) -> Run:
    """The first of the runs, all of them stored."""
    store.runs.add([(run, f"text of {run.id}") for run in runs], [])
    return runs[0]


def claimed(store: Any, owner: str = "one", *, now_s: float = NOW_S, limit: int = 10) -> list[Run]:
    """What the owner gets."""
    return list(store.runs.claim(owner, now_s=now_s, lease_s=LEASE_S, limit=limit))


def finished(store: Any, run: Run, **changes: Any) -> Run:
    """The run, stored and driven to its end by ``changes`` (fields of Step)."""
    added(store, run)
    (held,) = [held for held in claimed(store, "finisher") if held.id == run.id]
    step = Step(status=changes.pop("status", Status.SUCCEEDED), **changes)
    after: Run = store.runs.apply("finisher", held, step, now_s=NOW_S + 5)
    return after


class AddContract:
    """New runs."""

    def test_a_run_comes_back_as_it_was_added(self, store: Any) -> None:
        run = a_run(
            a_descriptor("trains", labels={"team": "vision"}, priority=3),
            family_id="a family",
            parent_id=new_run_id(),
            folder="/somewhere",
            reason="not yet",
            order_s=12.5,
        )
        added(store, run)
        assert store.runs.get(run.id) == run
        assert store.runs.text(run.id) == f"text of {run.id}"

    def test_runs_of_one_descriptor_stay_apart(self, store: Any) -> None:
        runs = [a_run() for _ in range(3)]
        added(store, *runs)
        assert [store.runs.get(run.id) for run in runs] == runs
        assert len({store.runs.text(run.id) for run in runs}) == 3

    def test_events_get_rising_numbers(self, store: Any) -> None:
        run = a_run()
        events = [an_event(run, kind, message="hi", data={"n": [1, None]}, actor="me") for kind in "abc"]
        store.runs.add([(run, "")], events)
        stored = store.runs.events()
        assert [replace(event, seq=None) for event in stored] == events
        assert [event.seq for event in stored] == sorted({event.seq for event in stored})

    def test_adding_again_changes_nothing(self, store: Any) -> None:
        run = a_run()
        for _ in range(2):
            store.runs.add([(run, "")], [an_event(run)])
        assert store.runs.unfinished() == 1
        assert len(store.runs.events()) == 1

    def test_what_was_not_added_yet_is_added_by_a_repetition(self, store: Any) -> None:
        first, second = a_run(), a_run()
        store.runs.add([(first, "")], [an_event(first)])
        store.runs.add([(first, ""), (second, "")], [an_event(first), an_event(second)])
        assert [event.run_id for event in store.runs.events()] == [first.id, second.id]

    def test_any_text_survives(self, store: Any) -> None:
        text = 'name = "\u00fc\u4e2d\U0001f600"\n' * 1000
        run = a_run(a_descriptor("\u00fc\u4e2d\U0001f600"))
        store.runs.add([(run, text)], [an_event(run, message="\u00fc\u4e2d", data={"\u00fc": "\udc80\0"})])
        assert store.runs.text(run.id) == text
        assert store.runs.get(run.id) == run
        assert store.runs.events()[0].data == {"\u00fc": "\udc80\0"}


class LeaseContract:
    """Who may change a run."""

    def test_only_one_owner_gets_a_run(self, store: Any) -> None:
        run = added(store, a_run())
        assert claimed(store, "one") == [run]
        assert claimed(store, "two") == []
        assert claimed(store, "one") == []
        assert store.runs.owners() == ["one"]

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

    def test_a_lease_that_ran_out_goes_to_the_next(self, store: Any) -> None:
        run = added(store, a_run())
        claimed(store, "one")
        assert claimed(store, "two", now_s=NOW_S + LEASE_S - 0.1) == []
        assert claimed(store, "two", now_s=NOW_S + LEASE_S) == [run]
        assert store.runs.owners() == ["two"]

    def test_a_renewed_lease_lasts_longer(self, store: Any) -> None:
        run = added(store, a_run())
        claimed(store, "one")
        assert store.runs.renew("one", [run.id], now_s=NOW_S + 20, lease_s=LEASE_S) == {run.id: False}
        assert claimed(store, "two", now_s=NOW_S + LEASE_S) == []
        assert claimed(store, "two", now_s=NOW_S + 20 + LEASE_S) == [run]

    def test_a_lost_lease_is_not_renewed(self, store: Any) -> None:
        kept, lost = a_run(), a_run()
        added(store, kept, lost)
        claimed(store, "one")
        store.runs.release("one", [lost.id])
        claimed(store, "two")
        renewed = store.runs.renew("one", [kept.id, lost.id], now_s=NOW_S, lease_s=LEASE_S)
        assert renewed == {kept.id: False}
        assert store.runs.renew("one", [], now_s=NOW_S, lease_s=LEASE_S) == {}

    def test_a_lease_can_be_given_back(self, store: Any) -> None:
        first, second = a_run(), a_run()
        added(store, first, second)
        claimed(store, "one")
        store.runs.release("two")
        assert claimed(store, "two") == []
        store.runs.release("one", [first.id])
        assert claimed(store, "two") == [first]
        store.runs.release("one")
        assert claimed(store, "two") == [second]
        assert store.runs.owners() == ["two"]

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
            store.runs.apply("zombie", run, step, now_s=NOW_S + LEASE_S)
        assert store.runs.get(run.id).status is Status.FETCH
        assert store.runs.events() == []
        assert store.points.of([run.id]) == []
        assert store.points.summaries(run.id) == []

    def test_nobody_writes_without_a_lease(self, store: Any) -> None:
        run = added(store, a_run())
        with pytest.raises(LeaseLostError):
            store.runs.apply("one", run, Step(status=Status.PLACE), now_s=NOW_S)

    def test_a_final_run_is_left_alone(self, store: Any) -> None:
        run = finished(store, a_run())
        assert store.runs.owners() == []
        assert claimed(store, now_s=NOW_S + 1e6) == []
        assert store.runs.renew("finisher", [run.id], now_s=NOW_S, lease_s=LEASE_S) == {}
        with pytest.raises(LeaseLostError):
            store.runs.apply("finisher", run, Step(status=Status.PLACE), now_s=NOW_S)


class ApplyContract:
    """Steps."""

    def test_a_step_is_written_and_returned(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        placement = a_placement(run, pid=42, folder="/record")
        step = Step(status=Status.WATCH, again_after_s=2.5, placement=placement, reason="it runs")
        after = store.runs.apply("one", run, step, now_s=NOW_S + 1)
        expected: dict[str, Any] = {
            "placement": placement,
            "placed_s": NOW_S + 1,
            "due_s": NOW_S + 3.5,
            "reason": "it runs",
        }
        assert after == replace(run, status=Status.WATCH, **expected)
        assert store.runs.get(run.id) == after

    def test_the_lease_is_kept_until_the_run_is_final(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        run = store.runs.apply("one", run, Step(status=Status.PLACE), now_s=NOW_S)
        assert store.runs.owners() == ["one"]
        assert claimed(store, "two") == []
        run = store.runs.apply("one", run, Step(status=Status.FAILED, cause=Cause.DATA), now_s=NOW_S + 9)
        assert (run.ended_s, run.cause) == (NOW_S + 9, Cause.DATA)
        assert store.runs.owners() == []
        assert store.runs.unfinished() == 0
        assert store.runs.get(run.id) == run

    def test_a_run_whose_holder_died_waits_for_its_time(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        later_s = NOW_S + 10 * LEASE_S
        step = Step(status=Status.PLACE, again_after_s=10 * LEASE_S)
        after = store.runs.apply("one", run, step, now_s=NOW_S)
        assert claimed(store, "two", now_s=later_s - 1) == []
        assert claimed(store, "two", now_s=later_s) == [after]

    def test_a_released_run_waits_for_its_time(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        after = store.runs.apply("one", run, Step(status=Status.PLACE, again_after_s=5.0), now_s=NOW_S)
        store.runs.release("one")
        assert claimed(store, "two", now_s=NOW_S + 4) == []
        assert claimed(store, "two", now_s=NOW_S + 5) == [after]

    def test_events_points_and_samples_come_with_the_step(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        point, block, event = a_point(run), samples_of([1.0, 2.0]), an_event(run, "ended")
        step = Step(status=Status.COLLECT, points=(point,), samples=(block,), events=(event,))
        store.runs.apply("one", run, step, now_s=NOW_S)
        assert store.points.of([run.id]) == [point]
        assert store.points.samples(run.id, "latency") == block
        assert [replace(event, seq=None) for event in store.runs.events(run.id)] == [event]

    def test_a_repeated_step_doubles_no_point_and_no_sample(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        step = Step(status=Status.COLLECT, points=(a_point(run),), samples=(samples_of([1.0, 2.0]),))
        for _ in range(2):
            run = store.runs.apply("one", run, step, now_s=NOW_S)
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
        run = store.runs.apply("one", run, step, now_s=NOW_S)
        run = store.runs.apply("one", run, Step(status=Status.PLACE, next_attempt=True), now_s=NOW_S)
        assert (run.attempt, run.placement, run.placed_s, run.cause) == (2, None, None, None)
        assert store.runs.get(run.id) == run
        assert store.points.of([run.id]) == []
        assert store.points.summaries(run.id) == []


class CancelContract:
    """Requests to end a run."""

    def test_only_the_first_request_counts(self, store: Any) -> None:
        run = added(store, a_run())
        assert store.runs.request_cancel([run.id], [an_event(run, "cancel_requested")]) == [run.id]
        assert store.runs.request_cancel([run.id], [an_event(run, "cancel_requested")]) == []
        assert store.runs.get(run.id).cancel_requested
        assert len(store.runs.events()) == 1

    def test_a_final_run_and_an_unknown_one_are_passed_over(self, store: Any) -> None:
        run = finished(store, a_run())
        assert store.runs.request_cancel([run.id, new_run_id()], []) == []
        assert not store.runs.get(run.id).cancel_requested

    def test_the_holder_hears_of_it(self, store: Any) -> None:
        run, other = a_run(), a_run()
        added(store, run, other)
        (held, _) = claimed(store)
        assert store.runs.cancelled("one") == []
        store.runs.request_cancel([run.id], [])
        assert store.runs.cancelled("one") == [run.id]
        assert store.runs.cancelled("two") == []
        renewed = store.runs.renew("one", [run.id, other.id], now_s=NOW_S, lease_s=LEASE_S)
        assert renewed == {run.id: True, other.id: False}
        after = store.runs.apply("one", held, Step(status=Status.PLACE), now_s=NOW_S)
        assert after.cancel_requested
        assert store.runs.get(run.id) == after

    def test_a_run_that_waits_becomes_due(self, store: Any) -> None:
        run = added(store, a_run(due_s=NOW_S + 3600))
        store.runs.request_cancel([run.id], [])
        assert [held.id for held in claimed(store)] == [run.id]


class ReadContract:
    """Looking runs and events up."""

    def test_a_unique_prefix_is_enough(self, store: Any) -> None:
        run = added(store, a_run())
        for prefix in (run.id[:13], run.id[:8].upper(), run.id.replace("-", ""), run.id.upper()):
            assert store.runs.get(prefix) == run
            assert store.runs.text(prefix) == f"text of {run.id}"

    def test_an_ambiguous_prefix_names_the_candidates(self, store: Any) -> None:
        first, second = (a_run(id=f"01234567-89ab-7000-8000-00000000000{i}") for i in (1, 2))
        added(store, first, second)
        with pytest.raises(NotFoundError, match=f"{first.id}, {second.id}"):
            store.runs.get("0123")

    @pytest.mark.parametrize("name", ["", "f", "no such run", "01234567-89ab-7000-8000-0000000000011"])
    def test_an_unknown_id_is_not_found(self, store: Any, name: str) -> None:
        added(store, a_run(id="01234567-89ab-7000-8000-000000000001"))
        with pytest.raises(NotFoundError):
            store.runs.get(name)
        with pytest.raises(NotFoundError):
            store.runs.text(name)

    def test_unfinished_runs_are_counted(self, store: Any) -> None:
        assert store.runs.unfinished() == 0
        finished(store, a_run())
        added(store, a_run(), a_run())
        assert store.runs.unfinished() == 2

    def test_events_can_be_followed(self, store: Any) -> None:
        first, second = a_run(), a_run()
        store.runs.add([(first, ""), (second, "")], [an_event(run) for run in (first, second, first, second)])
        events = store.runs.events()
        assert [event.run_id for event in events] == [first.id, second.id] * 2
        assert store.runs.events(limit=2) == events[:2]
        assert store.runs.events(after_seq=events[1].seq) == events[2:]
        assert store.runs.events(second.id) == [events[1], events[3]]
        assert store.runs.events(second.id, after_seq=events[1].seq, limit=1) == [events[3]]
        assert store.runs.events(new_run_id()) == []

    def test_a_removed_run_leaves_nothing(self, store: Any) -> None:
        kept, gone = a_run(), a_run()
        added(store, kept)
        finished(store, gone, points=(a_point(gone),), samples=(samples_of([1.0]),), events=(an_event(gone),))
        store.runs.remove([kept.id, gone.id, new_run_id()])
        with pytest.raises(NotFoundError):
            store.runs.get(gone.id)
        assert store.runs.events() == []
        assert store.points.of([gone.id]) == []
        assert store.points.history(gone.series_key, "latency") == []
        with pytest.raises(NotFoundError):
            store.points.samples(gone.id, "latency")
        assert store.runs.get(kept.id) == kept
        assert store.runs.text(kept.id) == f"text of {kept.id}"

    def test_numbers_of_events_are_not_given_twice(self, store: Any) -> None:
        run = finished(store, a_run(), events=())
        store.runs.add([], [an_event(run)])
        last = store.runs.events()[-1].seq
        store.runs.remove([run.id])
        other = a_run()
        store.runs.add([(other, "")], [an_event(other)])
        assert store.runs.events()[0].seq > last


class RunsContract(
    AddContract, AddFinishedContract, LeaseContract, ApplyContract, CancelContract, ReadContract
):
    """All of it but listings, which are ``ListingContract``."""
