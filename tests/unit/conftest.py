"""A world of fakes, and a record as an agent leaves it."""

import json
from types import SimpleNamespace

import pytest

from anubis.contracts.world import World
from anubis.pipeline.reconciler import Reconciler
from anubis.testing import FakeClock, FakeEngine, FakeObjects, FakeRecords, FakeStore
from anubis.testing.builders import NOW_S


@pytest.fixture
def house(tmp_path):
    """The fakes, wired: ``house.world``, and each of them by its name."""
    store, clock = FakeStore(), FakeClock()
    engine = FakeEngine()
    world = World(
        engines={"fake": engine},
        objects=FakeObjects(),
        records=FakeRecords(tmp_path),
        runs=store.runs,
        leases=store.leases,
        events=store.events,
        points=store.points,
        alerts=store.alerts,
        clock=clock,
    )
    return SimpleNamespace(
        world=world,
        store=store,
        clock=clock,
        engine=engine,
        runs=store.runs,
        leases=store.leases,
        events=store.events,
        points=store.points,
    )


@pytest.fixture
def reconciler(house):
    return Reconciler(house.world, "one")


@pytest.fixture
def leave_record(house):
    """Writes what an agent would have left of a run: one good execution unless told otherwise."""

    def leave(run, *, repeats=1, **changes):
        folder = house.world.records.folder(run.id, run.attempt)
        folder.mkdir(parents=True)
        executions = [
            {
                "phase": "measure",
                "repeat": repeat,
                "code": changes.get("code", 0),
                "started_s": NOW_S + repeat,
                "ended_s": NOW_S + repeat + 1,
                "wall_s": 1.0,
                "user_s": 0.5,
                "system_s": 0.1,
                "peak_memory_bytes": 1000,
            }
            for repeat in range(repeats)
        ]
        last = {"code": 0, "cause": None, "reason": "", "executions": executions} | changes
        (folder / "exit.json").write_text(json.dumps(last))
        (folder / "facts.json").write_text(json.dumps({"fingerprint": "machine"}))
        return folder

    return leave
