"""A world of fakes, and a record as an agent leaves it."""

import json
from types import SimpleNamespace

import pytest

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.pipeline.reconciler import Reconciler
from anubis.settings import Settings
from anubis.submission.environment.handover import HomeEnvironments
from anubis.testing import FakeClock, FakeEngine, FakeStore, FakeThreads, a_world
from anubis.testing.builders import NOW_S
from support.datasets import cache_in


@pytest.fixture
def house(tmp_path):
    """The fakes, wired: ``house.world``, and each of them by its name."""
    store, clock = FakeStore(), FakeClock()
    engine = FakeEngine()
    world = a_world(
        store,
        engines={"fake": engine},
        environments=HomeEnvironments(Settings.from_env({"ANUBIS_HOME": str(tmp_path)}), {}),
        datasets=cache_in(tmp_path),
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
        threads=FakeThreads(),
    )


@pytest.fixture
def new_reconciler(house):
    """Makes a reconciler whose threads run when the test says so."""
    return lambda owner, **options: Reconciler(house.world, owner, **{"start": house.threads} | options)


@pytest.fixture
def reconciler(new_reconciler):
    return new_reconciler("one")


@pytest.fixture
def leave_record(house):
    """Writes what an agent would have left of a run: one good execution unless told otherwise."""

    def leave(run, *, repeats=1, **changes):
        files = RoleFiles(house.world.records, RecordKey(run.id, run.attempt))
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
        last = {
            "code": 0,
            "cause": None,
            "reason": "",
            "executions": executions,
            "extraction": "none",
        } | changes
        files.records.replace(files.key, "facts.json", json.dumps({"fingerprint": "machine"}).encode())
        files.records.replace(files.key, "exit.json", json.dumps(last).encode())
        return files

    return leave
