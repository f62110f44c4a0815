"""The words for run statuses in everything that people read; JSON has the names of the statuses, which are stable."""

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
