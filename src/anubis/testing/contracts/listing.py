"""The contract of ``Runs.find`` as tests. A subclass has a fixture ``store`` with ``runs`` and ``points`` in it."""

from typing import Any

import pytest

from anubis.contracts.runs import RunQuery, RunRow, StoredNames
from anubis.model.cause import Cause
from anubis.model.descriptor import Subject
from anubis.model.errors import NotFoundError
from anubis.model.ids import new_run_id
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_descriptor, a_point, a_run
from anubis.testing.contracts.runs import added, finished


def found(store: Any, **conditions: Any) -> list[str]:
    """Ids of the rows, in order."""
    return [row.id for row in store.runs.find(RunQuery(**conditions))]


class ListingContract:
    """Listings of runs."""

    def test_a_row_says_what_a_listing_shows(self, store: Any) -> None:
        descriptor = a_descriptor("trains", labels={"team": "vision"}, subject=Subject(commit="c0ffee"))
        run = a_run(
            descriptor,
            family_id="a family",
            cell={"file": "a.toml", "BATCH": 16},
            overrides={"measure.repeats": "3"},
        )
        points = (a_point(run, "latency", 1.5), a_point(run, "throughput", 9.0, units="1/s"))
        finished(store, run, status=Status.FAILED, cause=Cause.TIMEOUT, reason="too slow", points=points)
        assert store.runs.find(RunQuery()) == [
            RunRow(
                id=run.id,
                name="trains",
                status=Status.FAILED,
                cause=Cause.TIMEOUT,
                engine="fake",
                created_s=NOW_S,
                placed_s=None,
                ended_s=NOW_S + 5,
                reason="too slow",
                family_id="a family",
                labels={"team": "vision"},
                subject="c0ffee",
                cell={"file": "a.toml", "BATCH": 16},
                overrides={"measure.repeats": "3"},
                values={"latency": (1.5, "ms"), "throughput": (9.0, "1/s")},
            )
        ]

    def test_the_newest_come_first_unless_told_otherwise(self, store: Any) -> None:
        runs = [a_run(created_s=NOW_S + age) for age in (2, 3, 1)]
        added(store, *runs)
        second, first, third = (run.id for run in runs)
        assert found(store) == [first, second, third]
        assert found(store, newest_first=False) == [third, second, first]
        assert found(store, limit=2) == [first, second]
        assert found(store, newest_first=False, limit=1) == [third]

    def test_nothing_is_found_in_an_empty_store(self, store: Any) -> None:
        assert found(store) == []

    @pytest.mark.parametrize(
        "conditions",
        [
            {"name": "wanted"},
            {"subject": "v1.2"},
            {"subject": "v1"},
            {"labels": {"team": "vision"}},
            {"labels": {"team": "vision", "tier": "1"}},
            {"statuses": (Status.FAILED, Status.CANCELLED)},
            {"family_id": "kin"},
            {"parent_id": "01234567-89ab-7000-8000-000000000009"},
            {"owner": "ada"},
            {"metric": "accuracy"},
            {"since_s": NOW_S + 10},
            {"ids": ("01234567-89ab-7000-8000-000000000001", new_run_id())},
        ],
        ids=lambda conditions: "-".join(map(str, conditions)),
    )
    def test_each_condition_narrows(self, store: Any, conditions: dict[str, Any]) -> None:
        other = a_run(a_descriptor(labels={"team": "speech", "tier": "1"}))
        finished(store, other, points=(a_point(other, "latency"),))
        wanted = a_run(
            a_descriptor("wanted", labels={"team": "vision", "tier": "1"}, subject=Subject(version="v1.2")),
            id="01234567-89ab-7000-8000-000000000001",
            family_id="kin",
            parent_id="01234567-89ab-7000-8000-000000000009",
            owner="ada",
            created_s=NOW_S + 10,
            due_s=NOW_S,
        )
        finished(store, wanted, status=Status.FAILED, points=(a_point(wanted, "accuracy"),))
        assert found(store, **conditions) == [wanted.id]

    def test_conditions_are_joined_by_and(self, store: Any) -> None:
        first = a_run(a_descriptor("one", labels={"team": "a"}))
        second = a_run(a_descriptor("one", labels={"team": "b"}))
        third = a_run(a_descriptor("two", labels={"team": "a"}))
        added(store, first, second, third)
        assert found(store, name="one", labels={"team": "a"}, statuses=(Status.FETCH,)) == [first.id]
        assert found(store, labels={"team": "a", "tier": "1"}) == []
        assert found(store, name="two", labels={"team": "b"}) == []

    def test_the_end_of_a_time_span_is_not_part_of_it(self, store: Any) -> None:
        runs = [a_run(created_s=NOW_S + age) for age in (0, 1, 2)]
        added(store, *runs)
        assert found(store, since_s=NOW_S + 1, until_s=NOW_S + 2) == [runs[1].id]

    def test_a_name_is_not_a_pattern(self, store: Any) -> None:
        added(store, a_run(a_descriptor("a%")), a_run(a_descriptor("ab")))
        assert len(found(store, name="a%")) == 1
        assert found(store, subject="%") == []

    @pytest.mark.parametrize("newest_first", [True, False])
    def test_pages_follow_one_another_without_a_gap(self, store: Any, *, newest_first: bool) -> None:
        runs = [a_run(created_s=NOW_S + age) for age in (0, 1, 1, 1, 2)]
        added(store, *runs)
        complete = found(store, newest_first=newest_first)
        pages: list[str] = []
        after = None
        while page := found(store, newest_first=newest_first, after=after, limit=2):
            pages += page
            after = page[-1]
        assert pages == complete
        assert len(complete) == len(runs)

    def test_the_names_of_stored_runs_are_known(self, store: Any) -> None:
        first, second, third = (
            a_run(a_descriptor(name, labels=labels))
            for name, labels in (("b", {"team": "vision"}), ("a", {"team": "speech", "tier": "1"}), ("b", {}))
        )
        assert store.runs.names() == StoredNames(benchmarks=(), metrics=(), labels={})
        finished(store, first, points=(a_point(first, "latency"), a_point(first, "accuracy")))
        finished(store, second, points=(a_point(second, "latency"),))
        finished(store, third, points=(a_point(third, "gone"),))
        store.runs.remove([third.id])
        assert store.runs.names() == StoredNames(
            benchmarks=("a", "b"),
            metrics=("accuracy", "latency"),
            labels={"team": ("speech", "vision"), "tier": ("1",)},
        )

    def test_a_page_keeps_its_conditions(self, store: Any) -> None:
        runs = [a_run(a_descriptor(name), created_s=NOW_S + at) for at, name in enumerate("abab")]
        added(store, *runs)
        assert found(store, name="a", after=runs[3].id) == [runs[2].id, runs[0].id]
        assert found(store, name="a", after=runs[2].id) == [runs[0].id]

    def test_runs_that_are_added_meanwhile_do_not_shift_a_page(self, store: Any) -> None:
        old, new = a_run(created_s=NOW_S), a_run(created_s=NOW_S + 1)
        added(store, old, new)
        added(store, a_run(created_s=NOW_S + 2))
        assert found(store, after=new.id) == [old.id]

    def test_a_page_after_a_run_that_is_gone_is_an_error(self, store: Any) -> None:
        added(store, a_run())
        with pytest.raises(NotFoundError, match="first page"):
            found(store, after=new_run_id())
