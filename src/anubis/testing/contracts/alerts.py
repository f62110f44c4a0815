"""The contract of ``Alerts`` as tests. A subclass has a fixture ``store`` with ``alerts``, ``runs`` and ``events``."""

from dataclasses import replace
from typing import Any

import pytest

from anubis.model.alert import Alert, AlertKind, AlertRow, AlertState
from anubis.model.delivery import Delivery
from anubis.model.errors import ConflictError, NotFoundError
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_point, a_run, an_event
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
    """Stored alerts in their current state."""

    def test_an_alert_comes_back_as_it_was_put(self, store: Any) -> None:
        alert = an_alert(muted_until_s=NOW_S + 60, actor="me", why="known", repository="r")
        bound = replace(alert.rows[0], interval=None, noise_floor=0.01, note="above 1")
        alert = replace(alert, rows=(*alert.rows, bound))
        store.alerts.put([alert], [])
        stored = replace(alert, version=1)
        assert store.alerts.get(alert.id) == stored
        assert store.alerts.get(alert.id[:4]) == stored

    def test_the_trail_of_an_alert_spans_runs(self, store: Any) -> None:
        runs = [added(store, a_run()) for _ in range(2)]
        mine: dict[str, Any] = {"data": {"alert": an_alert().id, "state": "confirmed"}}
        store.alerts.put([], [an_event(runs[0], "alert", message="seen", **mine)])
        store.alerts.put(
            [], [an_event(runs[0], "alert", data={"alert": "f" * 16}), an_event(runs[0], **mine)]
        )
        store.alerts.put([], [an_event(runs[1], "alert", message="known", actor="me", **mine)])
        store.events.append([an_event(runs[1], kind, **mine) for kind in ("delivered", "undelivered")])
        trail = store.alerts.trail(an_alert().id)
        assert [(event.run_id, event.message, event.actor) for event in trail] == [
            (runs[0].id, "seen", ""),
            (runs[1].id, "known", "me"),
            (runs[1].id, "", ""),
            (runs[1].id, "", ""),
        ]
        assert store.alerts.trail("%") == []

    def test_putting_replaces(self, store: Any) -> None:
        run = added(store, a_run())
        store.alerts.put([an_alert()], [an_event(run, "alert")])
        muted = an_alert(state=AlertState.MUTED, version=1)
        store.alerts.put([muted], [an_event(run, "alert")])
        assert store.alerts.find() == [replace(muted, version=2)]
        assert len(store.events.read(run.id)) == 2

    @pytest.mark.parametrize("version", [0, 2])
    def test_the_second_of_two_writers_is_refused(self, store: Any, version: int) -> None:
        run = added(store, a_run())
        store.alerts.put([an_alert()], [])
        other = an_alert("00000000000000aa")
        stale = an_alert(state=AlertState.MUTED, version=version)
        delivery = Delivery(
            alert_id=stale.id, state=stale.state, to="mailto:a@x", run_id=run.id, created_s=NOW_S, due_s=NOW_S
        )
        with pytest.raises(ConflictError):
            store.alerts.put([other, stale], [an_event(run, "alert")], [delivery])
        assert store.alerts.find() == [an_alert(version=1)]
        assert store.events.read(run.id) == []
        assert store.deliveries.of(stale.id) == []

    def test_a_step_with_a_stale_alert_is_not_applied(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        store.alerts.put([an_alert(run_id=run.id)], [])
        stale = Step(status=Status.ALERT, points=(a_point(run),), alerts=(an_alert(run_id=run.id),))
        with pytest.raises(ConflictError):
            store.leases.apply("one", run, stale, now_s=NOW_S)
        assert store.runs.get(run.id).status is run.status
        assert store.points.of([run.id]) == []
        fresh = replace(stale, alerts=(store.alerts.get(an_alert().id),))
        assert store.leases.apply("one", run, fresh, now_s=NOW_S).status is Status.ALERT
        assert store.alerts.get(an_alert().id).version == 2

    def test_a_step_brings_its_alerts(self, store: Any) -> None:
        added(store, a_run())
        (run,) = claimed(store)
        alert = an_alert(run_id=run.id)
        store.leases.apply("one", run, Step(status=Status.ALERT, alerts=(alert,)), now_s=NOW_S)
        assert store.alerts.find() == [replace(alert, version=1)]

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
        old, muted, other = (replace(alert, version=1) for alert in (old, muted, other))
        assert store.alerts.find() == [muted, other, old]
        assert store.alerts.find(states=[AlertState.MUTED, AlertState.RESOLVED]) == [muted]
        assert store.alerts.find(benchmark="hello") == [muted, old]
        assert store.alerts.find(series_key="b%") == [other]
        assert store.alerts.find(series_key="a%") == []
        assert store.alerts.find(states=[AlertState.CONFIRMED], benchmark="hello", series_key="a series") == [
            old
        ]
