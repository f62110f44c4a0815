"""The outbox: what receivers must still be sent, and what came of it."""

from collections.abc import Sequence

from anubis.model.delivery import Delivery
from anubis.model.run import LONGEST_PAUSE_S, Event, longest_lease_s
from anubis.store.dictionaries import Dictionaries
from anubis.store.events import event_words, write_events
from anubis.store.rows import delivery_of, delivery_values, outcome_values
from anubis.store.sql.database import Database, Session


def write_deliveries(session: Session, deliveries: Sequence[Delivery]) -> None:
    """Add rows, or replace the state of those that are pending for the same alert and address.

    Call it after ``write_events``, which makes writers wait for one another: then the order of numbers is the order
    of commits.
    """
    if deliveries:
        session.write_all("add_delivery", [delivery_values(delivery) for delivery in deliveries])


class StoredDeliveries:
    """``Deliveries`` (see the contract) in a database."""

    def __init__(self, database: Database, dictionaries: Dictionaries) -> None:
        self._database = database
        self._dictionaries = dictionaries

    def claim(self, owner: str, *, now_s: float, lease_s: float, limit: int) -> Sequence[Delivery]:
        values = {"owner": owner, "now_s": now_s, "until_s": now_s + lease_s, "most": limit}
        values |= {"latest_s": now_s + LONGEST_PAUSE_S, "latest_lease_s": now_s + longest_lease_s(lease_s)}
        claimed = self._database.lease("claim_deliveries", **values)
        if not claimed:
            return []
        rows = self._database.rows("claimed_deliveries", numbers=[row.no for row in claimed])
        return [delivery_of(row) for row in rows]

    def renew(self, owner: str, numbers: Sequence[int], *, now_s: float, lease_s: float) -> Sequence[int]:
        rows = self._database.lease(
            "renew_deliveries", owner=owner, numbers=list(numbers), until_s=now_s + lease_s
        )
        return sorted(row.no for row in rows)

    def release(self, owner: str) -> None:
        self._database.lease("release_deliveries", owner=owner)

    def owners(self) -> Sequence[str]:
        return sorted(row.holder for row in self._database.rows("delivery_owners"))

    def apply(self, owner: str, after: Delivery, events: Sequence[Event]) -> bool:
        words = self._dictionaries.words(event_words(events))

        def work(session: Session) -> bool:
            rows = session.rows("apply_delivery", owner=owner, **outcome_values(after))
            rows = rows or session.rows("replaced_delivery", owner=owner, no=after.no)
            if rows and rows[0].run is not None:
                write_events(session, events, words)
            return bool(rows)

        return self._database.transact(work)

    def next_due_s(self) -> float | None:
        (row,) = self._database.rows("next_delivery")
        due_s: float | None = row.due_s
        return due_s

    def forget(self, *, before_s: float) -> int:
        return self._database.write("remove_deliveries", before_s=before_s)

    def of(self, alert_id: str) -> Sequence[Delivery]:
        return [delivery_of(row) for row in self._database.rows("deliveries", alert=alert_id)]
