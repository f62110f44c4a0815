"""The contract of ``Events`` as tests. A subclass has a fixture ``store`` with ``runs`` and ``events`` in it."""

from dataclasses import replace
from typing import Any

from anubis.model.ids import new_run_id
from anubis.testing.builders import a_run, an_event
from anubis.testing.contracts.runs import added, finished


class EventsContract:
    """Stored events of runs."""

    def test_events_get_rising_numbers(self, store: Any) -> None:
        run = a_run()
        events = [an_event(run, kind, message="hi", data={"n": [1, None]}, actor="me") for kind in "abc"]
        store.runs.add([(run, "")], events)
        stored = store.events.read()
        assert [replace(event, seq=None) for event in stored] == events
        assert [event.seq for event in stored] == sorted({event.seq for event in stored})

    def test_events_can_be_followed(self, store: Any) -> None:
        first, second = a_run(), a_run()
        store.runs.add([(first, ""), (second, "")], [an_event(run) for run in (first, second, first, second)])
        events = store.events.read()
        assert [event.run_id for event in events] == [first.id, second.id] * 2
        assert store.events.read(limit=2) == events[:2]
        assert store.events.read(after_seq=events[1].seq) == events[2:]
        assert store.events.read(second.id) == [events[1], events[3]]
        assert store.events.read(second.id, after_seq=events[1].seq, limit=1) == [events[3]]
        assert store.events.read(new_run_id()) == []

    def test_numbers_of_events_are_not_given_twice(self, store: Any) -> None:
        run = finished(store, a_run(), events=())
        store.events.append([an_event(run)])
        last = store.events.read()[-1].seq
        store.runs.remove([run.id])
        other = a_run()
        store.runs.add([(other, "")], [an_event(other)])
        assert store.events.read()[0].seq > last

    def test_the_last_number_remains_when_events_are_removed(self, store: Any) -> None:
        assert store.events.last() == 0
        run = finished(store, a_run(), events=())
        store.events.append([an_event(run)])
        last = store.events.last()
        assert last == store.events.read()[-1].seq
        store.runs.remove([run.id])
        assert store.events.last() == last

    def test_events_can_be_added_to_a_run(self, store: Any) -> None:
        first, second = a_run(), a_run()
        added(store, first, second)
        store.events.append([an_event(second, "note"), an_event(first, "note")])
        store.events.append([])
        assert [event.run_id for event in store.events.read()] == [second.id, first.id]
