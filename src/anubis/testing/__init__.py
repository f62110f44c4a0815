"""For authors of plug-ins: fakes that obey the contracts, builders of runs, and the contracts as test suites.

A suite is a class of tests; a subclass gives it the implementation as a fixture and is then a test of it::

    class TestMyEngine(EngineContract):
        @pytest.fixture
        def engine(self): return MyEngine(...)

The suites import pytest; fakes and builders need nothing but Anubis.
"""

from anubis.testing.builders import a_descriptor, a_placement, a_point, a_run, an_event, block_of, samples_of
from anubis.testing.fake_clock import FakeClock
from anubis.testing.fake_engine import FakeEngine
from anubis.testing.memory_alerts import FakeAlerts, FakeCursors
from anubis.testing.memory_events import FakeEvents
from anubis.testing.memory_folders import FakeObjects, FakeRecords
from anubis.testing.memory_leases import FakeLeases
from anubis.testing.memory_points import FakePoints
from anubis.testing.memory_runs import FakeRuns
from anubis.testing.memory_store import FakeStore

__all__ = [
    "FakeAlerts",
    "FakeClock",
    "FakeCursors",
    "FakeEngine",
    "FakeEvents",
    "FakeLeases",
    "FakeObjects",
    "FakePoints",
    "FakeRecords",
    "FakeRuns",
    "FakeStore",
    "a_descriptor",
    "a_placement",
    "a_point",
    "a_run",
    "an_event",
    "block_of",
    "samples_of",
]
