"""The queue of one process, with a Slurm that answers what the test says."""

import itertools
from dataclasses import dataclass, field

import pytest

from anubis.pipeline.slurm import queue
from anubis.pipeline.slurm.commands import (
    SlurmAwayError,
    SlurmError,
    SlurmFullError,
    SlurmNoAccountingError,
)
from anubis.pipeline.slurm.listing import Element, Listing
from anubis.pipeline.slurm.queue import Queue
from anubis.pipeline.slurm.spool import Array, Limit, Spool

EMPTY = Listing(elements={}, arrays={}, unlisted={})


@dataclass
class ScriptedCommands:
    """Records the calls; every answer can be an exception."""

    submitted: list = field(default_factory=list)
    cancelled: list = field(default_factory=list)
    answer: object = "17"
    listing: object = EMPTY
    ends: object = EMPTY
    calls: int = 0
    asked: list = field(default_factory=list)

    def may_call(self):
        return True

    def submit(self, words, script):
        self.submitted.append(words)
        return self._given(self.answer)

    def queue(self):
        self.asked.append("squeue")
        return self._given(self.listing)

    def accounting(self, arrays, names=()):
        self.asked.append(("sacct", *arrays, *names))
        return self._given(self.ends)

    def cancel(self, elements):
        self.cancelled.append(list(elements))

    def _given(self, answer):
        self.calls += 1
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def now(monkeypatch):
    """The monotonic clock, which a test advances."""
    clock = [1000.0]
    monkeypatch.setattr(queue.time, "monotonic", lambda: clock[0])
    return clock


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "slurm")


@pytest.fixture
def slurm():
    return ScriptedCommands()


@pytest.fixture
def a_queue(slurm, spool, now):
    return Queue(slurm, spool, gather_s=1.0, most=10)


def stored(spool, name, *options, limit=None):
    entry = spool.entry(name)
    spool.create(entry, {"script": b"#!/bin/sh\n"}, options, limit)
    return entry


def elements(**states):
    """A listing of array 17: ``_0="RUNNING"``."""
    found = {f"17{index}": Element(state=state) for index, state in states.items()}
    return Listing(elements=found, arrays={"anubis-a.1": "17"}, unlisted={})


def added(a_queue, *entries):
    for entry in entries:
        a_queue.add(entry)
    return list(entries)


def array_words(slurm):
    return [next(word for word in words if word.startswith("--array")) for words in slurm.submitted]


def test_attempts_wait_for_others_and_share_an_array(a_queue, spool, slurm, now):
    entries = added(a_queue, stored(spool, "a.1"))
    a_queue.turn(entries)
    assert slurm.submitted == []
    now[0] += 0.9
    entries += added(a_queue, stored(spool, "b.1"))
    now[0] += 0.9
    a_queue.turn(entries)
    assert slurm.submitted == []
    now[0] += 0.1
    a_queue.turn(entries)
    assert array_words(slurm) == ["--array=0-1"]
    assert [entry.member for entry in entries] == [("anubis-a.1", 0), ("anubis-a.1", 1)]
    assert [a_queue.known(entry).id for entry in entries] == ["17_0", "17_1"]


def test_the_limit_of_a_family_holds_for_one_array_after_the_other(a_queue, spool, slurm, now):
    limit = Limit(family="f", at_once=2)
    first = added(a_queue, *(stored(spool, f"a{number}.1", limit=limit) for number in range(3)))
    now[0] += 1
    a_queue.turn(first)
    assert array_words(slurm) == ["--array=0-2%2"]
    later = added(a_queue, stored(spool, "b.1", limit=limit))
    others = added(a_queue, stored(spool, "c.1"), stored(spool, "d.1", limit=Limit(family="g", at_once=2)))
    for _ in range(4):
        now[0] += 1
        a_queue.turn([*first, *later, *others])
    assert array_words(slurm)[1:] == ["--array=0-0", "--array=0-0"]
    assert [entry.member is None for entry in (*later, *others)] == [True, False, False]
    for entry in first:
        spool.remove(entry)
    now[0] += 1
    a_queue.turn([*later, *others])
    assert later[0].member is not None


def test_an_attempt_does_not_wait_for_ever(a_queue, spool, slurm, now):
    entries = []
    for number in range(12):
        entries += added(a_queue, stored(spool, f"a{number}.1"))
        now[0] += 0.95
        a_queue.turn(entries)
    assert len(slurm.submitted) == 1


def test_other_options_are_another_array(a_queue, spool, slurm, now):
    entries = added(
        a_queue,
        stored(spool, "a.1", "--mem=1"),
        stored(spool, "b.1", "--mem=2"),
        stored(spool, "c.1", "--mem=1"),
    )
    now[0] += 1
    for _ in range(3):
        a_queue.turn(entries)
    assert array_words(slurm) == ["--array=0-1", "--array=0-0"]
    assert "--mem=2" in slurm.submitted[1]


def test_a_refusal_is_that_of_every_attempt(a_queue, spool, slurm, now):
    slurm.answer = SlurmError("invalid partition specified: nope")
    entries = added(a_queue, stored(spool, "a.1"), stored(spool, "b.1"))
    now[0] += 1
    a_queue.turn(entries)
    assert {a_queue.known(entry).refusal for entry in entries} == {"invalid partition specified: nope"}
    a_queue.turn(entries)
    assert len(slurm.submitted) == 1


def test_a_full_queue_gets_smaller_arrays_later(a_queue, spool, slurm, now):
    slurm.answer = SlurmFullError("AssocMaxSubmitJobLimit")
    entries = added(a_queue, *(stored(spool, f"{name}.1") for name in "abcd"))
    now[0] += 1
    a_queue.turn(entries)
    assert a_queue.known(entries[0]).problem == "AssocMaxSubmitJobLimit"
    a_queue.turn(entries)
    assert array_words(slurm) == ["--array=0-3"]
    slurm.answer = "18"
    now[0] += queue.REFUSED_S
    a_queue.turn(entries)
    assert array_words(slurm) == ["--array=0-3", "--array=0-1"]


def test_without_an_answer_the_array_is_looked_for_by_name(a_queue, spool, slurm, now):
    slurm.answer = SlurmAwayError("Socket timed out")
    entries = added(a_queue, stored(spool, "a.1"))
    now[0] += 1
    a_queue.turn(entries)
    assert (a_queue.known(entries[0]).id, a_queue.known(entries[0]).problem) == ("", "Socket timed out")
    now[0] += queue.REFUSED_S
    slurm.listing = elements(_0="RUNNING")
    a_queue.turn(entries)
    assert len(slurm.submitted) == 1
    known = a_queue.known(entries[0])
    assert (known.id, known.element.state, known.problem) == ("17_0", "RUNNING", "")


@pytest.mark.parametrize("ends", [EMPTY, SlurmNoAccountingError("disabled")])
def test_an_array_that_slurm_does_not_have_is_submitted_again(a_queue, spool, slurm, now, ends):
    slurm.answer, slurm.ends = SlurmAwayError("Socket timed out"), ends
    entries = added(a_queue, stored(spool, "a.1"))
    now[0] += 1
    a_queue.turn(entries)
    now[0] += queue.REFUSED_S
    slurm.answer = "17"
    a_queue.turn(entries)
    assert array_words(slurm) == ["--array=0-0"] * 2
    assert ("sacct", "anubis-a.1") in slurm.asked
    assert a_queue.known(entries[0]).id == "17_0"


def submitted(a_queue, spool, now):
    entries = added(a_queue, stored(spool, "a.1"))
    now[0] += 1
    a_queue.turn(entries)
    return entries


def test_queries_become_rarer_while_nothing_changes(a_queue, spool, slurm, now):
    entries = submitted(a_queue, spool, now)
    slurm.listing = elements(_0="PENDING")
    times = []
    for _ in range(6000):
        now[0] += 0.01
        before = len(slurm.asked)
        a_queue.turn(entries)
        if len(slurm.asked) > before:
            times.append(now[0])
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert pauses == sorted(pauses)
    assert max(pauses) == pytest.approx(queue.LATEST_S, abs=0.05)
    assert len(times) < 15
    slurm.listing = elements(_0="RUNNING")
    now[0] += queue.LATEST_S
    a_queue.turn(entries)
    now[0] += queue.SOONEST_S
    before = len(slurm.asked)
    a_queue.turn(entries)
    assert len(slurm.asked) == before + 1


def test_what_the_queue_forgot_is_asked_from_the_accounting(a_queue, spool, slurm, now):
    entries = submitted(a_queue, spool, now)
    now[0] += queue.SOONEST_S
    a_queue.turn(entries)
    assert a_queue.known(entries[0]).missing_s == 0.0
    now[0] += queue.LATEST_S
    slurm.ends = elements(_0="RUNNING")  # it lags behind
    a_queue.turn(entries)
    assert ("sacct", "17") in slurm.asked
    known = a_queue.known(entries[0])
    assert known.element is None
    assert known.missing_s > 0
    now[0] += queue.LATEST_S
    slurm.ends = elements(_0="NODE_FAIL")
    a_queue.turn(entries)
    assert a_queue.known(entries[0]).element.state == "NODE_FAIL"
    assert a_queue.known(entries[0]).missing_s == 0.0


def test_nothing_is_missing_while_slurm_does_not_respond(a_queue, spool, slurm, now):
    entries = submitted(a_queue, spool, now)
    slurm.listing = SlurmAwayError("Unable to contact slurm controller")
    for _ in range(100):
        now[0] += 10.0
        a_queue.turn(entries)
    known = a_queue.known(entries[0])
    assert (known.missing_s, known.problem) == (0.0, "Unable to contact slurm controller")


def test_cancellations_are_one_call(a_queue, slurm, now):
    for number in range(200):
        a_queue.cancel(f"17_{number}")
    a_queue.turn([])
    assert [len(each) for each in slurm.cancelled] == [200]
    a_queue.cancel("17_0")
    a_queue.turn([])
    assert len(slurm.cancelled) == 1
    now[0] += queue.CANCEL_AGAIN_S + 1
    a_queue.cancel("17_0")
    a_queue.turn([])
    assert slurm.cancelled[1:] == [["17_0"]]
    a_queue._timer.cancel()


def test_what_another_process_did_counts(a_queue, spool, slurm, now):
    entry = stored(spool, "a.1")
    added(a_queue, entry)
    spool.join("anubis-z.1", [entry])
    spool.note_submitted(Array(name="anubis-z.1", id="99", submitted_s=1.0))
    now[0] += 1
    a_queue.turn([])
    assert slurm.submitted == []
    assert a_queue.known(entry).id == "99_0"
