"""Decisions about rights: an append-only list."""

from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import TypeVar

from anubis.model.access.roles import Decision
from anubis.store.access.members import described
from anubis.store.sql.database import Database, Session
from anubis.store.text import clean

T = TypeVar("T")
#: How long decisions are kept, seconds.
KEPT_S = 400 * 86_400.0
_LONGEST = 500
#: Larger than the number of a decision.
_LARGEST = (1 << 31) - 1
_NAMES = [spec.name for spec in fields(Decision)]


def write_decisions(session: Session, decisions: Sequence[Decision]) -> None:
    """Add rows."""
    session.write_all("add_decision", [_values(decision) for decision in decisions])


def change(database: Database, by: Decision, action: str, target: str, work: Callable[[Session], T]) -> T:
    """Do something in a transaction, which also stores that it was done. ``by`` has the actor and the time."""
    done = described(by, action, target)

    def changed(session: Session) -> T:
        result = work(session)
        write_decisions(session, [done])
        return result

    return database.transact(changed)


class StoredDecisions:
    """Decisions about rights in a database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, decisions: Sequence[Decision]) -> None:
        """Store decisions in one transaction."""
        self._database.transact(lambda session: write_decisions(session, decisions))

    def find(
        self,
        *,
        actor: str = "",
        refused: bool = False,
        since_s: float = 0.0,
        before_no: int | None = None,
        limit: int = 100,
    ) -> list[Decision]:
        """The newest decisions, newest first: of one actor, only refusals, since a time, before the one with a number."""
        rows = self._database.rows(
            "newest_decisions",
            actor=actor,
            most_allowed=0 if refused else 1,
            since_s=since_s,
            before_no=_LARGEST if before_no is None else before_no,
            most=limit,
        )
        return [
            Decision(
                **{name: getattr(row, name) for name in _NAMES if name != "allowed"},
                allowed=bool(row.allowed),
            )
            for row in rows
        ]

    def forget(self, now_s: float) -> int:
        """Delete decisions that are older than ``KEPT_S``; their number."""
        return self._database.write("forget_decisions", before_s=now_s - KEPT_S)


def _values(decision: Decision) -> dict[str, object]:
    values = {name: getattr(decision, name) for name in _NAMES if name != "no"}
    texts = {name: clean(value)[:_LONGEST] for name, value in values.items() if isinstance(value, str)}
    return values | texts | {"allowed": int(decision.allowed)}
