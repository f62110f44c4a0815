"""Work that must happen on time and is not a run's: deliveries, schedules, campaign steps."""

from typing import Protocol


class Chore(Protocol):
    """Periodic work that a reconciler drives beside its runs.

    Several reconcilers may drive the same chore on one database: what is due must be claimed under a lease.
    """

    #: Names its thread and its log messages.
    name: str

    def turn(self) -> float | None:
        """Do what is due; the seconds until there may be something to do again. None: nothing is outstanding.

        Called in a thread of its own, never twice at the same time by one reconciler; it may block without
        stalling runs. An exception is logged, and the chore is called again after a pause.
        """
        ...
