"""The common begin of executions: the measured replica prepares the machine when all others wait for it."""

import json
import os
from pathlib import Path

import pytest

from anubis.agent.joint import Joint
from anubis.agent.options import Options
from anubis.record import layout, liveness


class Waiting:
    """Instead of waiting, the next of these steps happens."""

    def __init__(self, *steps):
        self.steps = list(steps)

    def pump(self, until_ns):
        assert self.steps, "it waits for ever"
        self.steps.pop(0)()


@pytest.fixture
def records(tmp_path):
    """The records of the measured replica and of another one, whose agents run."""
    paths = [str(tmp_path / "benchmark" / rank) for rank in "01"]
    locks = []
    for path in paths:
        Path(path).mkdir(parents=True)
        locks.append(liveness.claim(path))
    yield paths
    for lock in locks:
        os.close(lock)


def joint(record, other, waiting, *, until="", one_machine=True):
    needs = [] if until else [{"name": "benchmark 1", "record": other}]
    facts = {"until": until, "needs": needs, "in_step": [other], "ranks": "", "is_service": False}
    facts["one_machine"] = one_machine
    path = Path(record, layout.GROUP)
    path.write_text(json.dumps(facts))
    causes = []
    options = Options(["--record", record, "--group", str(path)])
    return Joint(options, None, waiting, lambda: not causes, lambda *cause: causes.append(cause))


def steps(record):
    path = Path(record, layout.STEPS)
    return path.stat().st_size if path.exists() else 0


def step(record):
    with Path(record, layout.STEPS).open("a") as file:
        file.write(".")


def test_the_measured_replica_prepares_the_machine_when_all_others_wait(records):
    measured, other = records
    seen = []

    def prepare():
        seen.append((steps(measured), steps(other)))

    def nothing_yet():
        assert seen == []

    waiting = Waiting(nothing_yet, lambda: step(other))
    begins = joint(measured, other, waiting)
    assert begins.may_begin(prepare)
    assert seen == [(0, 1)], "no replica has begun"
    assert steps(measured) == 1
    waiting.steps += [lambda: None, lambda: step(other)]
    assert begins.may_begin(prepare)
    assert seen == [(0, 1), (1, 2)]


def test_another_replica_prepares_nothing_and_waits_for_the_measured_one(records):
    measured, other = records
    waiting = Waiting(lambda: step(measured))
    assert joint(other, measured, waiting, until=measured).may_begin(lambda: pytest.fail("prepared"))
    assert waiting.steps == []
    assert steps(other) == 1


def test_a_replica_on_another_machine_prepares_that_before_it_waits(records):
    measured, other = records
    seen = []
    waiting = Waiting(lambda: step(measured))
    begins = joint(other, measured, waiting, until=measured, one_machine=False)
    assert begins.may_begin(lambda: seen.append(steps(other)))
    assert seen == [0]
    assert steps(other) == 1
