"""What an attempt without a result is, by the state of its element."""

import json

import pytest

from anubis.model.cause import Cause
from anubis.model.run import Seen
from anubis.pipeline.slurm import observing, replicas, script
from anubis.pipeline.slurm.listing import Element
from anubis.pipeline.slurm.queue import Known
from anubis.pipeline.slurm.spool import Array, Spool
from anubis.record import layout, liveness


@pytest.fixture
def record(tmp_path):
    (tmp_path / "record").mkdir()
    return tmp_path / "record"


@pytest.fixture
def entry(tmp_path):
    spool = Spool(tmp_path / "slurm")
    made = spool.entry("a.1")
    spool.create(made, {script.ELEMENT: b""}, ())
    return made


def known(state=None, **fields):
    element = Element(state=state, nodes="n1", **fields) if state else None
    return Known(id="17_3", array=Array(name="x", id="17", submitted_s=100.0), element=element)


def claim(record):
    (record / layout.ALIVE).write_text('{"pid": 1}')


@pytest.mark.parametrize(
    ("state", "cause", "words"),
    [
        ("CANCELLED", Cause.CANCELLED, "cancelled in Slurm"),
        ("DEADLINE", Cause.TIMEOUT, "deadline"),
        ("OUT_OF_MEMORY", Cause.OUT_OF_MEMORY, "more memory"),
        ("PREEMPTED", Cause.PREEMPTED, "preempted"),
        ("TIMEOUT", Cause.TIMEOUT, "time limit"),
        ("NODE_FAIL", None, "its node failed"),
        ("BOOT_FAIL", None, "did not start"),
    ],
)
@pytest.mark.parametrize("claimed", [False, True])
def test_an_end_has_one_cause(record, entry, state, cause, words, claimed):
    if claimed:
        claim(record)
    seen = observing.unfinished(record, entry, known(state), "")
    assert seen.seen is (Seen.ENDED if cause else Seen.LOST)
    assert seen.cause is cause
    assert words in seen.reason
    assert "element 17_3 on n1" in seen.reason
    assert replicas.is_claimed(record), "no other element can start it"


def test_an_agent_that_did_not_start_has_its_message(record, entry):
    assert (
        "cannot read /home"
        in observing.unfinished(record, entry, known("FAILED"), "cannot read /home").reason
    )


def test_the_message_of_the_agent_comes_first(record, entry):
    (record / layout.AGENT_LOG).write_text("python: not found\n")
    assert "python: not found" in observing.unfinished(record, entry, known("FAILED"), "other").reason


@pytest.mark.parametrize("state", ["COMPLETED", "FAILED"])
def test_an_agent_without_a_result_vanished(record, entry, state):
    claim(record)
    seen = observing.unfinished(record, entry, known(state), "")
    assert (seen.seen, "vanished" in seen.reason) == (Seen.LOST, True)
    seen = observing.unfinished(record, entry, known(state, restarts=1), "")
    assert (seen.seen, "requeued" in seen.reason) == (Seen.LOST, True)


def test_before_its_end(record, entry):
    seen = observing.unfinished(record, entry, Known(), "")
    assert (seen.seen, seen.reason) == (Seen.WAITING, "")
    seen = observing.unfinished(record, entry, Known(problem="Unable to contact"), "")
    assert (seen.seen, seen.reason) == (Seen.WAITING, "Slurm does not accept it now: Unable to contact")
    seen = observing.unfinished(record, entry, known("PENDING", reason="Resources"), "")
    assert (seen.seen, seen.reason) == (Seen.WAITING, "in the queue of Slurm: Resources")
    assert observing.unfinished(record, entry, known("RUNNING"), "").seen is Seen.WAITING
    claim(record)
    for state in (None, "PENDING", "RUNNING", "COMPLETING"):  # what Slurm said may be old
        assert observing.unfinished(record, entry, known(state), "").seen is Seen.RUNNING
    assert observing.unfinished(record, entry, known("PENDING", restarts=1), "").seen is Seen.LOST


def test_an_element_that_is_missing_for_long_is_lost(record, entry, monkeypatch):
    missing = Known(id="17_3", array=Array(name="x", id="17"), missing_s=observing.MISSING_S + 1)
    assert "neither squeue nor sacct" in observing.unfinished(record, entry, missing, "").reason
    assert liveness.is_revoked(str(record))


def test_a_refusal_and_a_failed_set_up(record, entry):
    seen = observing.unfinished(record, entry, Known(refusal="invalid account"), "")
    assert (seen.seen, seen.cause) == (Seen.ENDED, Cause.USER_ERROR)
    (entry.folder / script.FAILED).write_text("data n1: the data cannot be put at /data\n")
    seen = observing.unfinished(record, entry, known("FAILED"), "")
    assert (seen.cause, seen.reason) == (Cause.DATA, "n1: the data cannot be put at /data")
    (entry.folder / script.FAILED).write_text("nonsense\n")
    assert observing.unfinished(record, entry, known("FAILED"), "").cause is Cause.INTERNAL


def test_a_revoked_attempt(record, entry):
    liveness.revoke(str(record))
    assert observing.unfinished(record, entry, known("PENDING"), "").seen is Seen.LOST
    (record / layout.CANCEL).touch()
    assert observing.unfinished(record, entry, known("PENDING"), "").cause is Cause.CANCELLED


def write_exit(record, cause):
    facts = {
        "version": 1,
        "code": None,
        "cause": cause,
        "reason": "The run was cancelled.",
        "started_s": 112.5,
    }
    (record / layout.EXIT).write_text(json.dumps(facts))


def recorded(record, about):
    return observing.recorded(record, replicas.result(record), about)


def test_slurm_knows_why_an_agent_was_ended(record):
    write_exit(record, "cancelled")
    assert recorded(record, known("RUNNING")).seen is Seen.RUNNING
    assert recorded(record, known()).seen is Seen.RUNNING
    assert recorded(record, known("TIMEOUT")).cause is Cause.TIMEOUT
    assert recorded(record, known("PREEMPTED")).cause is Cause.PREEMPTED
    assert recorded(record, known("PENDING", restarts=1)).cause is Cause.PREEMPTED
    assert recorded(record, known("COMPLETED")).cause is Cause.CANCELLED
    (record / layout.CANCEL).touch()
    seen = recorded(record, known("RUNNING"))
    assert (seen.seen, seen.cause, seen.queued_s) == (Seen.ENDED, Cause.CANCELLED, 12.5)


def test_every_other_result_is_that_of_the_agent(record):
    write_exit(record, "out_of_memory")
    for about in (known("RUNNING"), known("TIMEOUT"), known(), Known()):
        assert recorded(record, about).cause is Cause.OUT_OF_MEMORY


def test_a_damaged_result_counts_once_the_element_has_ended(record):
    (record / layout.EXIT).write_text("{")
    assert recorded(record, known("RUNNING")).seen is Seen.RUNNING
    assert recorded(record, known("COMPLETED")).cause is Cause.RECORD_DAMAGED
