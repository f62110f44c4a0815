"""Message ids and cursors of the old HTTP interface."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.ids import new_run_id
from anubis.model.run import Event
from anubis.testing.builders import a_run
from anubis.web.legacy import statuses
from anubis.web.legacy.statuses import Action, Cursor

ACTION = Action(action_id=new_run_id(), parent_id=None, client_id="c", text="x", name="x.toml")


@given(seq=st.integers(1, (1 << 48) - 1), part=st.integers(0, 15))
def test_a_message_id_contains_the_place_of_its_event(seq, part):
    number = statuses.message_id(ACTION.action_id, seq, part)
    assert statuses.place_of(ACTION.action_id, number) == (seq, part)
    assert statuses.place_of(new_run_id(), number) is None, "the id of another action"


@given(st.text(max_size=40))
def test_other_ids_have_no_place(text):
    assert statuses.place_of(ACTION.action_id, text) is None


def made(times):
    run = a_run()
    events = [
        Event(run_id=run.id, kind="note", time_s=time_s, seq=seq) for seq, time_s in enumerate(times, 1)
    ]
    return [each for event in events for each in statuses.of_event(ACTION, run, event, "http://x")]


@given(times=st.lists(st.floats(0, 1e9), min_size=1, max_size=30), data=st.data())
def test_a_client_gets_every_status_once_whatever_the_clock_does(times, data):
    every = made(times)
    received, cursor = [], Cursor()
    while new := statuses.after(ACTION.action_id, every, cursor)[: data.draw(st.integers(1, 5))]:
        received += new
        cursor = Cursor.read(f"{new[-1]['tstamp']}:{new[-1]['message_id']}")
    assert received == every


@pytest.mark.parametrize("text", ["x", "1:", "1:x", "-1", "1" * 16, ":"])
def test_other_texts_are_no_cursors(text):
    assert Cursor.read(text) is None


@pytest.mark.parametrize(
    "text", ["Benchmark finished", "benchmark FAILED", "Benchmark failedBenchmark finished"]
)
def test_texts_of_a_benchmark_do_not_end_a_watch(text):
    event = Event(run_id="x", kind="note", time_s=1.0, message=text, seq=1)
    shown = json.dumps(statuses.of_event(ACTION, a_run(), event, "http://x")).lower()
    assert "benchmark finished" not in shown
    assert "benchmark failed" not in shown


def test_the_command_of_an_action_has_another_id_and_leads_back():
    command = statuses.command_id(ACTION.action_id)
    assert command != ACTION.action_id
    assert statuses.command_id(command) == ACTION.action_id
