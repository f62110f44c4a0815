"""The status of a run, and its phases."""

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


class Phase(StrEnum):
    """What a run that is not final waits for."""

    #: Runs that it needs have not succeeded yet.
    NEEDS = "needs"
    #: Its data are fetched.
    FETCH = "fetch"
    #: It waits for a free machine.
    QUEUE = "queue"
    #: The engine prepares its machine, for example pulls its image.
    START = "start"
    #: It is executed.
    RUN = "run"
