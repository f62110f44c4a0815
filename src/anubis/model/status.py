"""The one status of a run."""

from enum import StrEnum


class Status(StrEnum):
    """A status that is not final names the stage that is due next."""

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
        """True once nothing will change any more."""
        return self in {Status.SUCCEEDED, Status.FAILED, Status.CANCELLED}
