"""Events: numbered in the order of commits."""

from collections.abc import Iterator, Sequence
from itertools import count

from anubis.model.run import Event
from anubis.store.dictionaries import Dictionaries
from anubis.store.rows import event_of, event_values, id_bytes
from anubis.store.sql.database import Database, Session
from anubis.store.sql.listening import EVENTS


def event_words(events: Sequence[Event]) -> Iterator[str]:
    """The words that must have numbers before the events are written."""
    for event in events:
        yield event.kind
        if event.actor:
            yield event.actor


def write_events(session: Session, events: Sequence[Event], words: dict[str, int]) -> None:
    """Append events under the next numbers.

    The row that counts them stays locked until the commit, so the order of numbers is the order of commits: last
    in a transaction, because on PostgreSQL others wait for it.
    """
    _write(session, "add_event", events, words)


def write_removals(session: Session, events: Sequence[Event], words: dict[str, int]) -> None:
    """Append events about runs that this transaction has removed; see ``write_events``."""
    _write(session, "add_removed_event", events, words)


def _write(session: Session, statement: str, events: Sequence[Event], words: dict[str, int]) -> None:
    if not events:
        return
    last = session.row("count_events", count=len(events)).seq
    numbers = count(last - len(events) + 1)
    session.write_all(statement, [event_values(event, next(numbers), words) for event in events])
    session.notify(EVENTS)


class StoredEvents:
    """``Events`` (see the contract) in a database.

    Numbers have no gaps except those of removed runs, and their order is the order of commits. Writers take their
    numbers from one row that they hold until they commit; on PostgreSQL transactions with events therefore wait
    for one another.
    """

    def __init__(
        self, database: Database, dictionaries: Dictionaries, within: Sequence[str] | None = None
    ) -> None:
        """``within``: names of the projects whose events are read; None: all."""
        self._within = within
        self._database = database
        self._dictionaries = dictionaries

    def append(self, events: Sequence[Event]) -> None:
        words = self._dictionaries.words(event_words(events))
        self._database.transact(lambda session: write_events(session, events, words))

    def read(self, run_id: str | None = None, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        if run_id is None and self._within is not None:
            rows = self._database.rows(
                "events_within", projects=[*self._within], after_seq=after_seq, most=limit
            )
        elif run_id is None:
            rows = self._database.rows("events", after_seq=after_seq, most=limit)
        else:
            rows = self._database.rows(
                "events_of_run", run_id=id_bytes(run_id), after_seq=after_seq, most=limit
            )
        return [event_of(row) for row in rows]

    def read_all(self, *, after_seq: int = 0, limit: int = 1000) -> Sequence[Event]:
        return [event_of(row) for row in self._database.rows("all_events", after_seq=after_seq, most=limit)]

    def last(self) -> int:
        (row,) = self._database.rows("last_event")
        return int(row.seq)
