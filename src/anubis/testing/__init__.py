"""For authors of plug-ins: fakes that implement the contracts, builders of runs, and the contracts as test suites.

A suite is a class of tests; a subclass provides the implementation to be tested as a fixture::

    class TestMyEngine(EngineContract):
        @pytest.fixture
        def engine(self): return MyEngine(...)

The suites import pytest; fakes and builders need only Anubis.
"""

from anubis.testing.builders import a_descriptor, a_placement, a_point, a_run, an_event, block_of, samples_of
from anubis.testing.fake_clock import FakeClock
from anubis.testing.fake_engine import FakeEngine
from anubis.testing.fake_threads import FakeThreads
from anubis.testing.memory_alerts import FakeAlerts
from anubis.testing.memory_deliveries import FakeDeliveries
from anubis.testing.memory_events import FakeEvents
from anubis.testing.memory_folders import FakeObjects, FakeRecords
from anubis.testing.memory_leases import FakeLeases
from anubis.testing.memory_points import FakePoints
from anubis.testing.memory_runs import FakeRuns
from anubis.testing.memory_store import FakeStore
from anubis.testing.memory_sweeps import FakeSweeps
from anubis.testing.memory_triggers import FakeTriggers
from anubis.testing.worlds import a_world

__all__ = [
    "FakeAlerts",
    "FakeClock",
    "FakeDeliveries",
    "FakeEngine",
    "FakeEvents",
    "FakeLeases",
    "FakeObjects",
    "FakePoints",
    "FakeRecords",
    "FakeRuns",
    "FakeStore",
    "FakeSweeps",
    "FakeThreads",
    "FakeTriggers",
    "a_descriptor",
    "a_placement",
    "a_point",
    "a_run",
    "a_world",
    "an_event",
    "block_of",
    "samples_of",
]
