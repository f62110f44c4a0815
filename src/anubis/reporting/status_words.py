"""The words for run statuses and events in everything that people read; JSON has their names, which are stable."""

from collections.abc import Mapping

from anubis.model.status import Status

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


def event_word(kind: str) -> str:
    """The word of an event kind."""
    return _EVENT_WORDS.get(kind, kind.replace("_", " "))
