"""The world that stages get, from fakes and what a test or a bench brings."""

from typing import Any

from anubis.contracts.world import World
from anubis.testing.fake_clock import FakeClock
from anubis.testing.memory_folders import FakeObjects, FakeRecords
from anubis.testing.memory_store import FakeStore

#: The parts of a world that a store has.
STORED = ("runs", "leases", "events", "points", "alerts", "deliveries", "sweeps")


def a_world(store: Any = None, **parts: Any) -> World:
    """A world on this store, in memory by default; ``parts`` are fields of World.

    It has no engines, environments and datasets unless they are given: they have no fakes that need no folder.
    """
    store = store or FakeStore()
    usual: dict[str, Any] = {
        "engines": {},
        "objects": FakeObjects(),
        "records": FakeRecords(),
        "environments": None,
        "datasets": None,
        "clock": FakeClock(),
        **{name: getattr(store, name) for name in STORED},
    }
    return World(**{**usual, **parts})
