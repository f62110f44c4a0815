"""The contracts of ``Alerts`` and ``Cursors`` as tests. A subclass has a fixture ``store`` with both, and ``runs``."""

from dataclasses import replace
from typing import Any

import pytest

from anubis.model.alert import Alert, AlertKind, AlertRow, AlertState
from anubis.model.errors import NotFoundError
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_run, an_event
from anubis.testing.contracts.runs import added, claimed


def an_alert(alert_id: str = "0123456789abcdef", **changes: Any) -> Alert:
    """An alert with one row; ``changes`` are fields of Alert."""
    row = AlertRow(
        series_key="a series",
        fingerprint="a machine",
        metric="latency",
        units="ms",
        better="lower",
        kind=AlertKind.REGRESSION,
        effect=0.25,
        interval=(0.2, 0.3),
        before=1.0,
        after=1.25,
        n_before=10,
        n_after=5,
    )
    alert = Alert(
        id=alert_id,
        benchmark="hello",
        kind=AlertKind.REGRESSION,
        state=AlertState.CONFIRMED,
        rows=(row,),
        run_id="01234567-89ab-7000-8000-000000000001",
        last_old="v1",
        first_new="v2",
        opened_s=NOW_S,
        changed_s=NOW_S,
    )
    return replace(alert, **changes)


class AlertsContract:
    """Alerts as they stand."""

    def test_an_alert_comes_back_as_it_was_put(self, store: Any) -> None:
        alert = an_alert(muted_until_s=NOW_S + 60, actor="me", why="known", repository="r")
        bound = replace(alert.rows[0], interval=None, noise_floor=0.01, note="above 1")
        alert = replace(alert, rows=(*alert.rows, bound))
        store.alerts.put([alert], [])
        assert store.alerts.get(alert.id) == alert
        assert store.alerts.get(alert.id[:4]) == alert

    def test_the_trail_of_an_alert_spans_runs(self, store: Any) -> None:
        runs = [added(store, a_run()) for _ in range(2)]
        mine: dict[str, Any] = {"data": {"alert": an_alert().id, "state": "confirmed", "to": ["mailto:a"]}}
        store.alerts.put([], [an_event(runs[0], "alert", message="seen", **mine)])
        store.alerts.put(
            [], [an_event(runs[0], "alert", data={"alert": "f" * 16}), an_event(runs[0], **mine)]
        )
        store.alerts.put([], [an_event(runs[1], "alert", message="known", actor="me", **mine)])
        trail = store.alerts.trail(an_alert().id)
        assert [(event.run_id, event.message, event.actor) for event in trail] == [
            (runs[0].id, "seen", ""),
            (runs[1].id, "known", "me"),
        ]
        assert store.alerts.trail("%") == []

    def test_putting_replaces(self, store: Any) -> None:
        run = added(store, a_run())
        store.alerts.put([an_alert()], [an_event(run, "alert")])
        muted = an_alert(state=AlertState.MUTED)
        store.alerts.put([muted], [an_event(run, "alert")])
        assert store.alerts.find() == [muted]
        assert len(store.events.read(run.id)) == 2

    def test_a_step_brings_its_alerts(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        alert = an_alert(run_id=run.id)
        store.leases.apply("one", run, Step(status=Status.ALERT, alerts=(alert,)), now_s=NOW_S)
        assert store.alerts.find() == [alert]

    def test_an_unknown_or_ambiguous_id_is_not_found(self, store: Any) -> None:
        store.alerts.put([an_alert("aa00"), an_alert("aa01"), an_alert("aa")], [])
        assert store.alerts.get("aa").id == "aa"
        for name in ("b", "", "a%"):
            with pytest.raises(NotFoundError):
                store.alerts.get(name)
        with pytest.raises(NotFoundError, match="aa00, aa01"):
            store.alerts.get("aa0")

    def test_each_condition_narrows(self, store: Any) -> None:
        old = an_alert("01", opened_s=NOW_S - 1)
        muted = an_alert("02", state=AlertState.MUTED)
        other = an_alert("03", benchmark="other", rows=(replace(old.rows[0], series_key="b%"),))
        store.alerts.put([old, muted, other], [])
        assert store.alerts.find() == [muted, other, old]
        assert store.alerts.find(states=[AlertState.MUTED, AlertState.RESOLVED]) == [muted]
        assert store.alerts.find(benchmark="hello") == [muted, old]
        assert store.alerts.find(series_key="b%") == [other]
        assert store.alerts.find(series_key="a%") == []
        assert store.alerts.find(states=[AlertState.CONFIRMED], benchmark="hello", series_key="a series") == [
            old
        ]


class CursorsContract:
    """How far receivers of events have come."""

    def test_a_cursor_moves_forward_only(self, store: Any) -> None:
        for seq in (3, 5, 4):
            store.cursors.advance("notify/a", seq)
        assert store.cursors.all("notify/") == {"notify/a": 5}

    def test_a_new_receiver_may_start_at_nothing(self, store: Any) -> None:
        store.cursors.advance("notify/a", 0)
        assert store.cursors.all("notify/a") == {"notify/a": 0}

    def test_names_are_told_apart_by_their_beginning(self, store: Any) -> None:
        for name in ("notify", "notify/a", "notify_b", "sink/a"):
            store.cursors.advance(name, 1)
        assert sorted(store.cursors.all("notify/")) == ["notify/a"]
        assert sorted(store.cursors.all("notify_")) == ["notify_b"]
        assert len(store.cursors.all("")) == 4
