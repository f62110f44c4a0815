"""The contract of ``Triggers`` as tests. A subclass has a fixture ``store`` with ``triggers`` in it."""

from dataclasses import replace
from typing import Any

import pytest

from anubis.contracts.service.triggers import (
    ChangeKind,
    DeliveryState,
    Trigger,
    TriggerDelivery,
    TriggerDescriptor,
    TriggerKind,
)
from anubis.model.errors import ConflictError, NotFoundError
from anubis.testing.builders import NOW_S


def a_trigger(**changes: Any) -> Trigger:
    """A trigger of GitHub; ``changes`` are fields of Trigger."""
    trigger = Trigger(
        name="main",
        kind=TriggerKind.GITHUB,
        secret="hook",  # noqa: S106  the name of a secret
        changes=(ChangeKind.PUSH,),
        descriptors=(TriggerDescriptor(text="text", name="a.toml", folder="/"),),
        owner="me",
        created_s=NOW_S,
    )
    return replace(trigger, **changes)


def a_report(**changes: Any) -> TriggerDelivery:
    """A report that started a run; ``changes`` are fields of TriggerDelivery."""
    report = TriggerDelivery(
        trigger="main", id="d1", received_s=NOW_S, state=DeliveryState.STARTED, run_ids=("r",)
    )
    return replace(report, **changes)


class TriggersContract:
    """Stored triggers."""

    def test_a_name_is_unique_in_its_project(self, store: Any) -> None:
        first, other = a_trigger(), a_trigger(project="team")
        for each in (first, other):
            store.triggers.add(each)
            with pytest.raises(ConflictError):
                store.triggers.add(each)
        assert [store.triggers.get(name) for name in ("main", "team:main")] == [first, other]
        assert store.triggers.find() == [first, other]
        store.triggers.note(a_report(trigger="team:main"), forget_before_s=0.0)
        assert store.triggers.deliveries("main", limit=9) == []
        store.triggers.remove("team:main")
        assert store.triggers.find() == [first]

    def test_a_trigger_is_read_as_it_was_written(self, store: Any) -> None:
        trigger = a_trigger(overrides={"a": "b"}, patterns=("v*", "main"), script="x.tar")
        store.triggers.add(trigger)
        assert store.triggers.get("main") == trigger
        other = a_trigger(name="aaa", changes=(ChangeKind.TAG, ChangeKind.IMAGE))
        store.triggers.add(other)
        assert store.triggers.find() == [other, trigger]

    def test_a_name_is_taken_once(self, store: Any) -> None:
        store.triggers.add(a_trigger())
        with pytest.raises(ConflictError):
            store.triggers.add(a_trigger(owner="other"))
        assert store.triggers.get("main").owner == "me"

    def test_a_deleted_trigger_has_no_reports(self, store: Any) -> None:
        store.triggers.add(a_trigger())
        store.triggers.note(a_report(), forget_before_s=0)
        store.triggers.remove("main")
        store.triggers.remove("main")
        with pytest.raises(NotFoundError):
            store.triggers.get("main")
        with pytest.raises(NotFoundError):
            store.triggers.note(a_report(), forget_before_s=0)
        store.triggers.add(a_trigger())
        assert store.triggers.deliveries("main", limit=9) == []

    def test_a_report_is_stored_once_unless_it_failed(self, store: Any) -> None:
        store.triggers.add(a_trigger())
        failed = a_report(state=DeliveryState.FAILED, reason="because", run_ids=())
        assert store.triggers.delivery("main", "d1") is None
        assert store.triggers.note(failed, forget_before_s=0) == failed
        assert store.triggers.note(a_report(), forget_before_s=0) == a_report()
        late = a_report(run_ids=("other",))
        assert store.triggers.note(late, forget_before_s=0) == a_report()
        assert store.triggers.delivery("main", "d1") == a_report()

    def test_the_newest_reports_come_first_and_old_ones_are_deleted(self, store: Any) -> None:
        store.triggers.add(a_trigger())
        reports = [a_report(id=f"d{age}", received_s=NOW_S + age) for age in range(3)]
        for report in reports:
            store.triggers.note(report, forget_before_s=0)
        assert store.triggers.deliveries("main", limit=2) == reports[:0:-1]
        new = a_report(id="new", received_s=NOW_S + 9)
        store.triggers.note(new, forget_before_s=NOW_S + 2)
        assert store.triggers.deliveries("main", limit=9) == [new, reports[2]]
