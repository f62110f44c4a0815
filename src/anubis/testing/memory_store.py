"""The store in memory: what every real one has to agree with."""

from anubis.testing.memory_alerts import FakeAlerts, FakeCursors
from anubis.testing.memory_events import FakeEvents
from anubis.testing.memory_leases import FakeLeases
from anubis.testing.memory_points import FakePoints
from anubis.testing.memory_runs import FakeRuns
from anubis.testing.memory_state import MemoryState


class FakeStore:
    """All of them together, as ``anubis.store.open_store`` gives them."""

    def __init__(self) -> None:
        shelf = MemoryState()
        self.runs = FakeRuns(shelf)
        self.leases = FakeLeases(shelf)
        self.events = FakeEvents(shelf)
        self.points = FakePoints(shelf)
        self.alerts = FakeAlerts(shelf)
        self.cursors = FakeCursors(shelf)

    def close(self) -> None:
        """Nothing to close; a fake store lives as long as the test."""
