"""The contract of ``Runs`` as tests. A subclass has a fixture ``store`` with ``runs`` and ``points`` in it."""

from dataclasses import replace
from typing import Any

import pytest

from anubis.contracts.runs import KeyedSubmission, RunQuery
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.ids import new_run_id
from anubis.model.run import Run, Step
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_descriptor, a_point, a_run, an_event, samples_of
from anubis.testing.contracts.finished_runs import AddFinishedContract

LEASE_S = 30.0


def added(store: Any, *runs: Run) -> Run:
    """Store the runs; returns the first."""
    store.runs.add([(run, f"text of {run.id}") for run in runs], [])
    return runs[0]


def claimed(store: Any, owner: str = "one", *, now_s: float = NOW_S, limit: int = 10) -> list[Run]:
    """The runs that the owner claims."""
    return list(store.leases.claim(owner, now_s=now_s, lease_s=LEASE_S, limit=limit))


def finished(store: Any, run: Run, **changes: Any) -> Run:
    """The run, stored and ended by a step with ``changes`` (fields of Step)."""
    added(store, run)
    (held,) = [held for held in claimed(store, "finisher") if held.id == run.id]
    step = Step(status=changes.pop("status", Status.SUCCEEDED), **changes)
    after: Run = store.leases.apply("finisher", held, step, now_s=NOW_S + 5)
    return after


class KeyedContract:
    """Submissions with a key."""

    def test_a_key_is_stored_with_its_runs(self, store: Any) -> None:
        run = a_run()
        keyed = KeyedSubmission(key="k\u00fc", digest="d", run_ids=(run.id,), created_s=NOW_S)
        assert store.runs.submission(keyed.key) is None
        store.runs.add([(run, "")], [], keyed=keyed)
        assert store.runs.submission(keyed.key) == keyed
        assert store.runs.get(run.id) == run

    def test_a_second_submission_with_a_key_stores_nothing(self, store: Any) -> None:
        run, other = a_run(), a_run()
        keyed = KeyedSubmission(key="k", digest="d", run_ids=(run.id,), created_s=NOW_S)
        store.runs.add([(run, "")], [], keyed=keyed)
        with pytest.raises(ConflictError, match="key"):
            store.runs.add([(other, "")], [an_event(other)], keyed=replace(keyed, digest="e"))
        assert store.runs.submission("k") == keyed
        assert [row.id for row in store.runs.find(RunQuery())] == [run.id]
        assert store.events.read() == []

    def test_a_key_is_kept_for_a_week(self, store: Any) -> None:
        keyed = KeyedSubmission(key="old", digest="d", run_ids=(), created_s=NOW_S)
        store.runs.add([(a_run(), "")], [], keyed=keyed)
        week_s = 7 * 86_400
        store.runs.add([(a_run(), "")], [], keyed=replace(keyed, key="young", created_s=NOW_S + week_s))
        assert store.runs.submission("old") == keyed
        store.runs.add([(a_run(), "")], [], keyed=replace(keyed, key="new", created_s=NOW_S + week_s + 1))
        assert store.runs.submission("old") is None


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

    def test_short_ids_are_as_short_as_they_are_unique(self, store: Any) -> None:
        """Confirming runs have ids of the same millisecond, and so may runs of two machines."""
        ids = [
            "01234567-89ab-7000-8000-000000000000",
            "01234567-89ab-7000-8000-000000000001",
            "01234567-89ab-7100-8000-000000000000",
            "01234567-89ac-7000-8000-000000000000",
        ]
        added(store, *(a_run(id=run_id) for run_id in ids))
        short = store.runs.short_ids([*ids, "fedcba98-7654-7000-8000-000000000000"])
        assert list(short.values()) == [*ids[:2], "01234567-89ab-71", "01234567-89ac", "fedcba98-7654"]
        assert [store.runs.get(short[run_id]).id for run_id in ids] == ids

    def test_adding_again_changes_nothing(self, store: Any) -> None:
        run = a_run()
        for _ in range(2):
            store.runs.add([(run, "")], [an_event(run)])
        assert store.runs.unfinished() == 1
        assert len(store.events.read()) == 1

    def test_what_was_not_added_yet_is_added_by_a_repetition(self, store: Any) -> None:
        first, second = a_run(), a_run()
        store.runs.add([(first, "")], [an_event(first)])
        store.runs.add([(first, ""), (second, "")], [an_event(first), an_event(second)])
        assert [event.run_id for event in store.events.read()] == [first.id, second.id]

    def test_any_text_survives(self, store: Any) -> None:
        text = 'name = "\u00fc\u4e2d\U0001f600"\n' * 1000
        run = a_run(a_descriptor("\u00fc\u4e2d\U0001f600"))
        store.runs.add([(run, text)], [an_event(run, message="\u00fc\u4e2d", data={"\u00fc": "\udc80\0"})])
        assert store.runs.text(run.id) == text
        assert store.runs.get(run.id) == run
        assert store.events.read()[0].data == {"\u00fc": "\udc80\0"}


class CancelContract:
    """Requests to cancel runs."""

    def test_only_the_first_request_counts(self, store: Any) -> None:
        run = added(store, a_run())
        assert store.runs.request_cancel([run.id], [an_event(run, "cancel_requested")]) == [run.id]
        assert store.runs.request_cancel([run.id], [an_event(run, "cancel_requested")]) == []
        assert store.runs.get(run.id).cancel_requested
        assert len(store.events.read()) == 1

    def test_a_final_run_and_an_unknown_one_are_passed_over(self, store: Any) -> None:
        run = finished(store, a_run())
        assert store.runs.request_cancel([run.id, new_run_id()], []) == []
        assert not store.runs.get(run.id).cancel_requested

    def test_the_owner_of_the_lease_sees_the_request(self, store: Any) -> None:
        run, other = a_run(), a_run()
        added(store, run, other)
        (held, _) = claimed(store)
        assert store.leases.cancelled("one") == []
        store.runs.request_cancel([run.id], [])
        assert store.leases.cancelled("one") == [run.id]
        assert store.leases.cancelled("two") == []
        renewed = store.leases.renew("one", [run.id, other.id], now_s=NOW_S, lease_s=LEASE_S)
        assert renewed == {run.id: True, other.id: False}
        after = store.leases.apply("one", held, Step(status=Status.PLACE), now_s=NOW_S)
        assert after.cancel_requested
        assert store.runs.get(run.id) == after

    def test_a_run_that_waits_becomes_due(self, store: Any) -> None:
        run = added(store, a_run(due_s=NOW_S + 3600))
        store.runs.request_cancel([run.id], [])
        assert [held.id for held in claimed(store)] == [run.id]


class ReadContract:
    """Queries of runs."""

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

    def test_a_removed_run_leaves_nothing(self, store: Any) -> None:
        kept, gone = a_run(), a_run()
        added(store, kept)
        finished(store, gone, points=(a_point(gone),), samples=(samples_of([1.0]),), events=(an_event(gone),))
        store.runs.remove([kept.id, gone.id, new_run_id()])
        with pytest.raises(NotFoundError):
            store.runs.get(gone.id)
        assert store.events.read() == []
        assert store.points.of([gone.id]) == []
        assert store.points.history(gone.series_key, "latency") == []
        with pytest.raises(NotFoundError):
            store.points.samples(gone.id, "latency")
        assert store.runs.get(kept.id) == kept
        assert store.runs.text(kept.id) == f"text of {kept.id}"


class RunsContract(AddContract, KeyedContract, AddFinishedContract, CancelContract, ReadContract):
    """The whole contract except listings, which are in ``ListingContract``."""
