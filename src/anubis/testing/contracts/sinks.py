"""The contracts of ``Sinks`` and ``Holds`` as tests. A subclass has a fixture ``store`` with all parts of a store."""

from dataclasses import replace
from typing import Any

import pytest

from anubis.contracts.events import PURGED_EVENT, Sink, SinkState
from anubis.contracts.garbage import Hold
from anubis.contracts.runs import Part
from anubis.model.errors import NotFoundError
from anubis.model.ids import new_run_id
from anubis.testing.builders import NOW_S, a_run, an_event
from anubis.testing.contracts.runs import finished

LEASE_S = 30.0


def a_sink(**changes: Any) -> Sink:
    """A sink that receives all events from the first one on."""
    sink = Sink(
        id=new_run_id(), address="https://x.example/", secret="", created_s=NOW_S, cursor=0, due_s=NOW_S
    )
    return replace(sink, **changes)


def a_hold(run_id: str, why: str = "audit") -> Hold:
    """A hold of a run."""
    return Hold(run_id=run_id, why=why, actor="me", created_s=NOW_S)


def claimed(store: Any, owner: str = "one", now_s: float = NOW_S) -> Any:
    """The sinks that the owner can claim."""
    return store.sinks.claim(owner, now_s=now_s, lease_s=LEASE_S, limit=10)


class SinksContract:
    """Sinks, their positions and their leases."""

    def test_a_sink_is_found_by_a_prefix(self, store: Any) -> None:
        sink = a_sink(kinds=("final", "placed"), secret="one two")
        store.sinks.add(sink)
        store.sinks.add(a_sink())
        assert replace(store.sinks.get(sink.id), no=None) == sink
        assert [each.id for each in store.sinks.find()][0] == sink.id
        for wrong in ("", sink.id[:4], new_run_id()):
            with pytest.raises(NotFoundError):
                store.sinks.get(wrong)
        store.sinks.remove(sink.id)
        assert len(store.sinks.find()) == 1

    def test_only_a_sink_with_events_is_claimed_and_by_one_owner(self, store: Any) -> None:
        store.sinks.add(a_sink())
        assert store.sinks.next_due_s() is None
        assert claimed(store) == []
        run = a_run()
        store.runs.add([(run, "")], [an_event(run), an_event(run)])
        assert store.sinks.next_due_s() == NOW_S
        (sink,) = claimed(store)
        assert (sink.behind, store.sinks.owners()) == (2, ["one"])
        assert claimed(store, "two") == []
        assert store.sinks.renew("two", [sink.no], now_s=NOW_S, lease_s=LEASE_S) == []
        assert store.sinks.renew("one", [sink.no], now_s=NOW_S, lease_s=LEASE_S) == [sink.no]
        assert not store.sinks.apply("two", replace(sink, cursor=1))
        assert store.sinks.apply("one", replace(sink, cursor=1, delivered=1, delivered_s=NOW_S))
        assert not store.sinks.apply("one", sink)
        (sink,) = claimed(store, "two")
        assert (sink.cursor, sink.delivered, sink.delivered_s) == (1, 1, NOW_S)
        assert claimed(store, "one", NOW_S + LEASE_S)[0].id == sink.id
        store.sinks.release("one")
        assert store.sinks.owners() == []

    def test_a_sink_waits_after_a_failure_and_one_that_is_off_is_resumed(self, store: Any) -> None:
        run = a_run()
        store.runs.add([(run, "")], [an_event(run)])
        store.sinks.add(a_sink())
        (sink,) = claimed(store)
        store.sinks.apply("one", replace(sink, due_s=NOW_S + 8, attempts=3, error="away"))
        assert claimed(store, now_s=NOW_S + 7) == []
        assert store.sinks.next_due_s() == NOW_S + 8
        (sink,) = claimed(store, now_s=NOW_S + 8)
        assert (sink.attempts, sink.error) == (3, "away")
        store.sinks.apply("one", replace(sink, state=SinkState.OFF))
        assert (store.sinks.next_due_s(), claimed(store, now_s=NOW_S + 99)) == (None, [])
        store.sinks.resume(sink.id, now_s=NOW_S + 20)
        (sink,) = claimed(store, now_s=NOW_S + 20)
        assert (sink.state, sink.attempts, sink.error) == (SinkState.ACTIVE, 0, "")

    def test_events_of_removed_runs_remain_until_every_active_sink_has_them(self, store: Any) -> None:
        store.sinks.add(a_sink())
        store.sinks.add(a_sink(state=SinkState.OFF))
        other = a_run()
        run = finished(store, a_run(), events=[])
        store.events.append([an_event(run, "note")])
        store.runs.add([(other, "")], [an_event(other)])
        before = store.events.read_all()
        assert before == store.events.read()
        removed = store.runs.remove([run.id, other.id], [an_event(run, PURGED_EVENT), an_event(other, "x")])
        assert removed == [run.id]
        after = store.events.read_all()
        assert after[:-1] == before
        assert (after[-1].run_id, after[-1].kind) == (run.id, PURGED_EVENT)
        assert [event.run_id for event in store.events.read()] == [other.id]
        assert store.events.read_all(after_seq=before[-1].seq, limit=1) == after[-1:]
        (sink,) = claimed(store)
        store.sinks.apply("one", replace(sink, cursor=after[-1].seq))
        left = [(event.run_id, event.kind) for event in store.events.read_all()]
        assert left == [(other.id, before[-1].kind), (run.id, PURGED_EVENT)]


class HoldsContract:
    """Held runs."""

    def test_a_held_run_is_not_removed(self, store: Any) -> None:
        held, free = finished(store, a_run()), finished(store, a_run())
        store.holds.add([a_hold(held.id)], [an_event(held, "held")])
        assert store.holds.find() == [a_hold(held.id)]
        assert store.holds.held([held.id, free.id, new_run_id()]) == [held.id]
        assert store.runs.remove([held.id, free.id]) == [free.id]
        assert store.runs.expire([held.id], list(Part), [an_event(held, "expired")]) == []
        assert [event.kind for event in store.events.read(held.id)][-1] == "held"
        store.holds.add([a_hold(held.id, "longer")], [])
        assert [hold.why for hold in store.holds.find()] == ["longer"]
        assert store.holds.remove([held.id], [an_event(held, "released")]) == [held.id]
        assert store.holds.remove([held.id], [an_event(held, "released")]) == []
        assert [event.kind for event in store.events.read(held.id)][-2:] == ["held", "released"]
        assert store.runs.remove([held.id]) == [held.id]

    def test_an_unknown_run_cannot_be_held(self, store: Any) -> None:
        run = finished(store, a_run())
        with pytest.raises(NotFoundError):
            store.holds.add([a_hold(run.id), a_hold(new_run_id())], [])
        assert store.holds.find() == []

    def test_parts_of_a_run_expire(self, store: Any) -> None:
        run, unfinished = finished(store, a_run()), a_run()
        store.runs.add([(unfinished, "")], [an_event(unfinished)])
        store.events.append([an_event(run, "note")])
        events = [an_event(run, "expired"), an_event(unfinished, "expired")]
        assert store.runs.expire([run.id, unfinished.id], [Part.EVENTS], events) == [run.id]
        assert [event.kind for event in store.events.read(run.id)] == ["expired"]
        assert len(store.events.read(unfinished.id)) == 1
