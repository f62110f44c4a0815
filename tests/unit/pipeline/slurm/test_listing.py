"""The JSON of every form that Slurm has printed."""

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as some

from anubis.pipeline.slurm.listing import Element, ListingError, read
from support.tree import ROOT

RECORDED = ROOT / "tests" / "recorded" / "slurm"


def recorded(name):
    return read((RECORDED / f"{name}.json").read_text())


def states(listing):
    return {number: element.state for number, element in listing.elements.items()}


def test_the_queue_of_22_05():
    listing = recorded("squeue-22.05")
    assert states(listing) == {
        "1_0": "RUNNING",
        "1_1": "RUNNING",
        "1_2": "PENDING",
        "2_3": "PENDING",
        "2_4": "PENDING",
    }
    assert listing.arrays == {"anubis-x": "1", "anubis-z": "2"}
    assert listing.elements["1_2"].reason == "Resources"
    assert listing.elements["1_0"].nodes == "n1"


def test_the_accounting_of_22_05():
    listing = recorded("sacct-22.05")
    assert listing.arrays == {"anubis-x": "1"}
    assert set(listing.elements) == {"1_0", "1_1", "1_2"}
    assert listing.elements["1_2"] == Element(state="RUNNING", nodes="n1", exit_code=0)


#: Printed by 24.11 in the forms of 23.11, 24.05 and 24.11, and by 26.05.
FORMS = [f"{program}-24.11-v0.0.{form}" for program in ("squeue", "sacct") for form in (40, 41, 42)]


@pytest.mark.parametrize("name", [*FORMS, "squeue-26.05-v0.0.45"])
def test_the_forms_since_23_11(name):
    listing = recorded(name)
    assert states(listing) == {
        "1_0": "FAILED",
        "1_1": "COMPLETED",
        "1_2": "CANCELLED",
        "1_3": "RUNNING",
        "1_4": "RUNNING",
        "1_5": "PENDING",
        "1_6": "PENDING",
        "2_0": "PENDING",
    }
    assert listing.arrays == {"anubis-x": "1", "anubis-y": "2"}
    assert listing.elements["1_0"].exit_code == 3
    assert (listing.elements["1_3"].nodes, listing.elements["1_6"].nodes) == ("n1", "")
    assert listing.elements["1_6"].reason == "JobArrayTaskLimit"
    assert not listing.unlisted


def test_the_accounting_lists_elements_that_wait_as_bits():
    """Bits 5 and 6: not the elements 0 and 60."""
    waiting = {
        "job_id": 1,
        "array": {"job_id": 1, "task_id": number(None), "task": "0x60"},
        "state": {"current": ["PENDING"], "reason": "None"},
    }
    assert set(listed(waiting).elements) == {"1_5", "1_6"}


def number(value):
    return {"set": value is not None, "infinite": False, "number": value or 0}


def row(**fields):
    """A row of ``squeue`` since 23.02, with only the fields that are read."""
    given = {
        "job_id": 17,
        "name": "anubis-x",
        "array_job_id": number(17),
        "array_task_id": number(3),
        "array_task_string": "",
        "job_state": ["RUNNING"],
        "state_reason": "None",
        "nodes": "n1",
        "restart_cnt": 0,
        "exit_code": {"status": ["SUCCESS"], "return_code": number(0), "signal": {"id": number(None)}},
    }
    return {**given, **fields}


def listed(*rows):
    return read(json.dumps({"jobs": rows}))


@pytest.mark.parametrize(
    ("words", "state"),
    [
        (["RUNNING"], "RUNNING"),
        ("RUNNING", "RUNNING"),  # 23.02: a word beside numbers that are objects
        (["TIMEOUT", "COMPLETING"], "TIMEOUT"),
        (["COMPLETING", "CANCELLED"], "CANCELLED"),
        (["RUNNING", "CONFIGURING"], "RUNNING"),
        (["PENDING", "REQUEUED"], "REQUEUED"),
        (["NODE_FAIL", "REQUEUED"], "REQUEUED"),
        ("CANCELLED by 1000", "CANCELLED"),
        ("OUT_OF_MEMORY", "OUT_OF_MEMORY"),
        (["A_NEW_STATE"], "A_NEW_STATE"),
    ],
)
def test_a_state_is_a_word_or_a_list_of_flags(words, state):
    element = listed(row(job_state=words)).elements["17_3"]
    assert element.state == state
    assert element.exit_code == 0


def test_elements_that_have_not_started_share_a_row():
    waiting = row(array_task_id=number(None), array_task_string="0-2,7,10-14:2%5", job_state=["PENDING"])
    listing = listed(waiting, row(job_id=18, array_task_id=number(5)))
    assert {each for each in listing.elements if listing.elements[each].is_pending} == {
        f"17_{index}" for index in (0, 1, 2, 7, 10, 12, 14)
    }
    assert not listing.elements["17_5"].is_pending
    assert listing.get("17", 4) is None


def test_a_list_that_slurm_shortens_means_every_other_element():
    waiting = row(array_task_id=number(None), array_task_string="0-2,7,...", job_state=["PENDING"])
    listing = listed(waiting, row(array_task_id=number(5)))
    assert listing.get("17", 900).is_pending
    assert not listing.get("17", 5).is_pending


def test_no_array_is_one_element():
    plain = row(job_id=9, array_job_id=number(0), array_task_id=number(None))
    assert set(listed(plain).elements) == {"9_0"}
    assert set(listed({**plain, "array_job_id": 0, "array_task_id": None}).elements) == {"9_0"}


def test_an_exit_code_is_that_of_the_program():
    assert listed(row(exit_code=256)).elements["17_3"].exit_code == 1
    assert listed(row(exit_code={"return_code": number(3)})).elements["17_3"].exit_code == 3
    assert listed(row(exit_code={"return_code": 3})).elements["17_3"].exit_code == 3
    assert listed(row(exit_code=None)).elements["17_3"].exit_code is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        '{"jobs": 3}',
        '{"jobs": [3]}',
        '{"jobs": [{}]}',
        '{"jobs": [{"job_id": "x"}]}',
        "[" * 9999,
    ]
    + [json.dumps({"jobs": [row(job_state=state)]}) for state in ([], [3], None, {}, [""], "")],
)
def test_anything_else_is_refused(text):
    with pytest.raises(ListingError):
        read(text)


values = some.recursive(
    some.none() | some.booleans() | some.integers(-9, 9) | some.text(max_size=5),
    lambda inner: (
        some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from(sorted(row())), inner, max_size=4)
    ),
    max_leaves=9,
)


@given(some.dictionaries(some.sampled_from(sorted(row())), values))
def test_no_row_causes_another_error(fields):
    with contextlib.suppress(ListingError):
        listed(row(**fields))
