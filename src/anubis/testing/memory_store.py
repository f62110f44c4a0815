"""The store in memory, the reference for every store."""

from anubis.model.points import SESSION_PAUSE_S
from anubis.testing.memory_alerts import FakeAlerts
from anubis.testing.memory_deliveries import FakeDeliveries
from anubis.testing.memory_events import FakeEvents
from anubis.testing.memory_leases import FakeLeases
from anubis.testing.memory_points import FakePoints
from anubis.testing.memory_runs import FakeRuns
from anubis.testing.memory_schedules import FakeSchedules
from anubis.testing.memory_sinks import FakeHolds, FakeSinks
from anubis.testing.memory_state import MemoryState
from anubis.testing.memory_sweeps import FakeSweeps
from anubis.testing.memory_triggers import FakeTriggers


class FakeStore:
    """All parts of a store, like the result of ``anubis.store.open_store``."""

    def __init__(self, *, session_pause_s: float = SESSION_PAUSE_S) -> None:
        shelf = MemoryState(session_pause_s=session_pause_s)
        #: Weights of projects, and their most running runs.
        self.weights, self.max_running = shelf.weights, shelf.max_running
        self.runs = FakeRuns(shelf)
        self.leases = FakeLeases(shelf)
        self.events = FakeEvents(shelf)
        self.points = FakePoints(shelf)
        self.alerts = FakeAlerts(shelf)
        self.deliveries = FakeDeliveries(shelf)
        self.schedules = FakeSchedules(shelf)
        self.sweeps = FakeSweeps(shelf)
        self.sinks = FakeSinks(shelf)
        self.holds = FakeHolds(shelf)
        self.triggers = FakeTriggers()

    def close(self) -> None:
        """Do nothing; the store has no resources to release."""
