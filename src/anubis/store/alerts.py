"""Alerts as they are now."""

from collections.abc import Sequence
from typing import Any

from anubis.contracts.alerts import TRAIL
from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.errors import NotFoundError
from anubis.model.run import Event
from anubis.store.deliveries import write_deliveries
from anubis.store.dictionaries import Dictionaries
from anubis.store.events import event_words, write_events
from anubis.store.listing import narrowed
from anubis.store.rows import alert_of, alert_values, event_of, id_bytes, id_text
from anubis.store.sql.codes import ALERT_STATE_CODES
from anubis.store.sql.database import Database, Session, chunked, statements_of
from anubis.store.text import clean, json_text
from anubis.store.writing import write_alerts

_CANDIDATES = 5


class StoredAlerts:
    """``Alerts`` (see the contract) in a database."""

    def __init__(
        self, database: Database, dictionaries: Dictionaries, within: Sequence[str] | None = None
    ) -> None:
        """``within``: names of the projects whose alerts exist for the caller; None: all."""
        self._within = within
        self._database = database
        self._dictionaries = dictionaries

    def put(
        self, alerts: Sequence[Alert], events: Sequence[Event], deliveries: Sequence[Delivery] = ()
    ) -> None:
        words = self._dictionaries.words(event_words(events))
        rows = [alert_values(alert) for alert in sorted(alerts, key=lambda alert: alert.id)]

        def work(session: Session) -> None:
            write_alerts(session, rows)
            write_events(session, events, words)
            write_deliveries(session, deliveries)

        self._database.transact(work)

    def get(self, alert_id: str) -> Alert:
        rows = self._database.rows("alert", prefix=alert_id, most=_CANDIDATES + 1) if alert_id else []
        found = self._visible([alert_of(row) for row in rows])
        exact = [alert for alert in found if alert.id == alert_id]
        if len(exact or found) == 1:
            return (exact or found)[0]
        if not found:
            raise NotFoundError(f"no alert has the id {alert_id}", remedy="anubis alerts lists them")
        shown = ", ".join(alert.id for alert in found[:_CANDIDATES])
        raise NotFoundError(
            f"several alerts begin with {alert_id}: {shown}", remedy="give more digits of the id"
        )

    def _visible(self, alerts: Sequence[Alert]) -> list[Alert]:
        """The alerts whose run is in a visible project; not those of runs that were removed."""
        if self._within is None:
            return list(alerts)
        ids = {id_bytes(alert.run_id) for alert in alerts}
        runs = {
            id_text(row.id)
            for some in chunked(sorted(ids))
            for row in self._database.rows("among_projects", ids=some, projects=[*self._within])
        }
        return [alert for alert in alerts if alert.run_id in runs]

    def trail(self, alert_id: str) -> Sequence[Event]:
        rows = self._database.rows("trail", kinds=TRAIL, part=f'"alert":{json_text(alert_id)}')
        # In SQL the pair may stand anywhere in the data, and its % would match anything.
        return [event for event in map(event_of, rows) if event.data.get("alert") == alert_id]

    def find(
        self,
        *,
        states: Sequence[AlertState] = (),
        benchmark: str | None = None,
        series_key: str | None = None,
    ) -> Sequence[Alert]:
        sql = statements_of(self._database.driver.name)
        values: dict[str, Any] = {}
        if states:
            values["states"] = [ALERT_STATE_CODES[state] for state in states]
        if benchmark is not None:
            values["benchmark"] = clean(benchmark)
        if series_key is not None:
            values["series_key"] = series_key
        where = [sql[f"where_alert_{name}"] for name in values]
        with self._database.session() as session:
            rows = session.ask(narrowed(sql["list_alerts"], where), values)
        found = self._visible([alert_of(row) for row in rows])
        # In SQL the key may stand anywhere in the alert, and its % would match anything.
        return [a for a in found if series_key is None or any(row.series_key == series_key for row in a.rows)]
