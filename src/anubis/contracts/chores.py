"""Timed work that does not belong to a run: deliveries, schedules, campaign steps."""

from typing import Protocol


class Chore(Protocol):
    """Periodic work that a reconciler drives in addition to its runs.

    Several reconcilers may drive the same chore on one database, so due work must be claimed under a lease.
    """

    #: Name of its thread, used in log messages.
    name: str

    def turn(self) -> float | None:
        """Do the due work; returns the seconds until more work may be due, None: no work is outstanding.

        Called in a separate thread, never concurrently by one reconciler; it may block without delaying runs. An
        exception is logged, and the chore is called again after a pause.
        """
        ...
