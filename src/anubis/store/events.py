"""Events: numbered in the order of commits."""

from collections.abc import Iterator, Sequence
from itertools import count

from anubis.model.run import Event
from anubis.store.database import Session
from anubis.store.rows import event_values


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
    if not events:
        return
    ((last,),) = session.rows("count_events", count=len(events))
    numbers = count(last - len(events) + 1)
    session.write_all("add_event", [event_values(event, next(numbers), words) for event in events])
