"""The words for run statuses and events in everything that people read; JSON has their names, which are stable."""

from collections.abc import Mapping

from anubis.model.run import Run
from anubis.model.status import Phase, Status

WORDS: Mapping[Status, str] = {
    Status.FETCH: "fetching",
    Status.PLACE: "queued",
    Status.WATCH: "running",
    Status.COLLECT: "collecting",
    Status.ANALYSE: "analysing",
    Status.ALERT: "alerting",
    Status.SUCCEEDED: "succeeded",
    Status.FAILED: "failed",
    Status.CANCELLED: "cancelled",
}

_EVENT_WORDS = {
    "cancel_requested": "cancelling",
    "contaminated": "disturbed",
}


def is_waiting(run: Run) -> bool:
    """Whether a run was handed to its engine and has no machine yet; its reason says what it waits for."""
    return run.status is Status.WATCH and run.phase is Phase.QUEUE


def word_of(run: Run) -> str:
    """The word for what a run does now."""
    return "waiting" if is_waiting(run) else WORDS[run.status]


def event_word(kind: str) -> str:
    """The word of an event kind."""
    return _EVENT_WORDS.get(kind, kind.replace("_", " "))
