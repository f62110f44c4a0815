"""What to know about the values of runs: crossed bounds of the descriptor, values that were not recorded."""

from collections.abc import Iterable, Iterator

from anubis.api.json_values import Json
from anubis.cli import terminal
from anubis.cli.views import tables
from anubis.model.run import CROSSED_EVENT, MISSING_EVENT, NOT_STEADY_EVENT, REJECTED_EVENT, Event

_KINDS = {
    CROSSED_EVENT: ("threshold", "red"),
    REJECTED_EVENT: ("note", "yellow"),
    MISSING_EVENT: ("note", "yellow"),
    NOT_STEADY_EVENT: ("note", "yellow"),
}


def lines(events: Iterable[Event]) -> Iterator[str]:
    """A line for each remark about a run in its timeline."""
    width = terminal.width()
    for event in events:
        if event.kind in _KINDS:
            title, colour = _KINDS[event.kind]
            for line in tables.folded(f"{title}: {event.message}", width and width - 2):
                yield terminal.style(f"  {line}", fg=colour)


def as_json(events: Iterable[Event]) -> list[Json]:
    """The remarks in timelines: the run, the kind, the metric and a sentence of each."""
    return [
        {"run": event.run_id, "kind": event.kind, **event.data, "text": event.message}
        for event in events
        if event.kind in _KINDS
    ]
