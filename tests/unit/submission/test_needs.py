"""Needs between the runs of a submission, and of stored runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.status import Status
from anubis.submission.needs import Submitted, all_with_needs, with_needs
from anubis.testing.builders import a_descriptor, a_run


def unknown(ref):
    raise NotFoundError(f"no run {ref}")


def needs_by_name(names, needs, find=unknown):
    runs = [(a_run(a_descriptor(name)), "") for name in names]
    by_id = {run.id: run.descriptor.info.name for run, _ in runs}
    found = with_needs(runs, needs, find)
    return {run.descriptor.info.name: sorted(by_id.get(each, each) for each in run.needs) for run, _ in found}


def test_a_bare_need_applies_to_all_other_benchmarks():
    assert needs_by_name(["build", "a", "b"], ["build"]) == {"build": [], "a": ["build"], "b": ["build"]}


def test_a_need_of_one_benchmark_makes_a_chain():
    found = needs_by_name(["a", "b", "c"], ["b=a", "c=b", "c=b"])
    assert found == {"a": [], "b": ["a"], "c": ["b"]}


def test_every_run_of_a_benchmark_is_needed():
    assert needs_by_name(["a", "a", "b"], ["a"])["b"] == ["a", "a"]


def test_stored_runs_are_found_by_reference():
    stored = a_run(status=Status.SUCCEEDED)
    assert needs_by_name(["a"], ["@last"], lambda _ref: stored) == {"a": [stored.id]}


@pytest.mark.parametrize("status", [Status.FAILED, Status.CANCELLED])
def test_a_run_that_cannot_succeed_any_more_is_refused(status):
    with pytest.raises(BadInputError, match=status.value):
        needs_by_name(["a"], ["x"], lambda _ref: a_run(status=status))


def test_unknown_names_are_refused():
    with pytest.raises(NotFoundError):
        needs_by_name(["a"], ["x"])
    with pytest.raises(BadInputError, match="no benchmark 'trains'") as refused:
        needs_by_name(["train", "b"], ["trains=b"])
    assert "did you mean train?" in refused.value.remedy


def test_a_need_for_which_nothing_waits_is_refused():
    with pytest.raises(BadInputError, match="nothing waits for a"):
        needs_by_name(["a", "a"], ["a"])


@pytest.mark.parametrize("needs", [["a=a"], ["a=b", "b=a"], ["a", "b"], ["a=b", "b=c", "c=a"]])
def test_cycles_are_refused(needs):
    with pytest.raises(BadInputError, match="cycle"):
        needs_by_name(["a", "b", "c"], needs)


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd")), max_size=8))
def test_what_is_accepted_has_an_order(pairs):
    try:
        found = needs_by_name("abcd", [f"{name}={ref}" for name, ref in pairs])
    except BadInputError:
        return
    done = set()
    while len(done) < 4:
        ready = {name for name in found if set(found[name]) <= done} - done
        assert ready
        done |= ready


def batch(*submissions, stored=None):
    """The names that each benchmark needs, by submission; each submission is (names, needs)."""
    given = [
        Submitted(runs=[(a_run(a_descriptor(name)), "text") for name in names], needs=needs)
        for names, needs in submissions
    ]
    names = {run.id: (at, run.descriptor.info.name) for at, each in enumerate(given) for run, _ in each.runs}

    def find(ref):
        if stored is None or ref != stored.id:
            raise NotFoundError(f"no run has the id {ref}")
        return stored

    found = all_with_needs(given, find)
    return [
        {run.descriptor.info.name: [names.get(each, each) for each in run.needs] for run, _ in runs}
        for runs in found
    ]


def test_submissions_of_a_batch_need_each_other_by_name():
    assert batch((["build"], []), (["a", "b"], ["build"]), (["report"], ["a", "b"])) == [
        {"build": []},
        {"a": [(0, "build")], "b": [(0, "build")]},
        {"report": [(1, "a"), (1, "b")]},
    ]


def test_a_benchmark_of_the_same_submission_is_meant_first():
    assert batch((["a"], []), (["a", "b"], ["b=a"])) == [{"a": []}, {"a": [], "b": [(1, "a")]}]


def test_all_submissions_with_a_name_are_needed():
    assert batch((["a"], []), (["a"], []), (["b"], ["a"]))[2] == {"b": [(0, "a"), (1, "a")]}


def test_all_problems_of_a_batch_are_reported_at_once():
    failed = a_run(a_descriptor("failed"), status=Status.FAILED)
    with pytest.raises(BadInputError) as caught:
        batch(
            (["a"], ["b"]),
            (["b"], ["a"]),
            (["c"], ["d"]),
            (["d"], ["c", "unknown"]),
            (["e"], [failed.id, "x=a"]),
            stored=failed,
        )
    found = [(each.path, each.message) for each in caught.value.problems]
    assert [path for path, _ in found[:3]] == ["submissions[3].needs", *["submissions[4].needs"] * 2]
    assert "no run has the id unknown" in found[0][1]
    assert "has ended as failed" in found[1][1]
    assert "no benchmark 'x'" in found[2][1]
    cycles = sorted(message for _, message in found[3:])
    assert len(cycles) == 2
    assert {"a", "b"} <= set(cycles[0].replace(",", "").split())
    assert {"c", "d"} <= set(cycles[1].replace(",", "").split())
