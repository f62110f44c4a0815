"""The status of a run."""

from enum import StrEnum


class Status(StrEnum):
    """The status of a run. A status that is not final names the next stage."""

    FETCH = "fetch"
    PLACE = "place"
    WATCH = "watch"
    COLLECT = "collect"
    ANALYSE = "analyse"
    ALERT = "alert"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def final(self) -> bool:
        """Whether the run has ended."""
        return self in {Status.SUCCEEDED, Status.FAILED, Status.CANCELLED}
