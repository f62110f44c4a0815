"""Projects start runs in proportion to their weights, by simulation: random weights, workers, ends and pauses."""

import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.model.cause import Cause
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import FakeStore, a_descriptor, a_placement, a_run
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.leases import make_projects

LEASE_S = 30.0
#: Runs that start in one simulation.
STARTS = 240


class Machines:
    """A store whose projects always have queued runs, and workers that lease, start and end them."""

    def __init__(self, store, weights):
        self.store, self.weights, self.now_s = store, weights, NOW_S
        self.started, self.order, self.running = Counter(), [], []
        self.queued = Counter()
        make_projects(store, weights)

    def fill(self, names, count):
        """So many queued runs in each of these projects, submitted one project after the other."""
        runs = []
        for name in names:
            missing = count - self.queued[name]
            runs += [
                (a_run(a_descriptor(priority=number % 3), project=name, created_s=self.now_s), "")
                for number in range(missing)
            ]
            self.queued[name] = max(count, self.queued[name])
        self.store.runs.add(runs, [])

    def start(self, worker, limit):
        found = self.store.leases.claim(worker, now_s=self.now_s, lease_s=LEASE_S, limit=limit)
        for run in found:
            step = Step(status=Status.WATCH, placement=a_placement(run))
            self.running.append((worker, self.store.leases.apply(worker, run, step, now_s=self.now_s)))
            self.started[run.project] += 1
            self.queued[run.project] -= 1
            self.order.append(run.project)

    def end_all(self):
        for worker, run in self.running:
            step = Step(status=Status.FAILED, cause=Cause.USER_ERROR)
            self.store.leases.apply(worker, run, step, now_s=self.now_s)
        self.running = []


def opened(folder, kind):
    return FakeStore() if kind == "fake" else open_store(f"sqlite:///{Path(folder, 'anubis.db')}")


WEIGHTS = st.lists(st.sampled_from([0.5, 1.0, 2.0, 3.0, 5.0]), min_size=2, max_size=4)


@settings(max_examples=12)
@given(
    kind=st.sampled_from(["fake", "sqlite", "sqlite"]),
    weights=WEIGHTS,
    limits=st.lists(st.integers(1, 7), min_size=1),
)
def test_shares_are_those_of_the_weights(kind, weights, limits):
    named = {f"p{number}": weight for number, weight in enumerate(weights)}
    with tempfile.TemporaryDirectory() as folder:
        store = opened(folder, kind)
        try:
            machines = Machines(store, named)
            turn = 0
            while len(machines.order) < STARTS:
                machines.fill(named, 8)
                machines.start(f"worker {turn % 3}", limits[turn % len(limits)])
                machines.end_all()
                machines.now_s += 1
                turn += 1
            total = len(machines.order)
            for name, weight in named.items():
                share, due = machines.started[name] / total, weight / sum(weights)
                assert abs(share - due) <= 0.05, (named, machines.started)
            # Nothing starves: at any time each project has had its share, except for one run of each project.
            for at in range(0, total, 10):
                seen = Counter(machines.order[:at])
                for name, weight in named.items():
                    due = at * weight / sum(weights)
                    assert seen[name] >= due - 1 - max(weights) / min(weights), (name, at, named, seen)
        finally:
            store.close()


@settings(max_examples=8)
@given(
    pause=st.integers(10, 60),
    limit=st.integers(1, 5),
    weights=st.tuples(st.sampled_from([1.0, 4.0]), st.sampled_from([1.0, 2.0])),
)
def test_a_project_that_was_idle_gets_its_share_and_no_more(pause, limit, weights):
    named = dict(zip(("busy", "idle"), weights, strict=True))
    with tempfile.TemporaryDirectory() as folder:
        store = opened(folder, "sqlite")
        try:
            machines = Machines(store, named)
            while len(machines.order) < pause:
                machines.fill(["busy"], 10)
                machines.start("worker", limit)
                machines.end_all()
                machines.now_s += 1
            before = len(machines.order)
            while len(machines.order) < before + 100:
                machines.fill(named, 10)
                machines.start("worker", limit)
                machines.end_all()
                machines.now_s += 1
            after = Counter(machines.order[before:])
            for name, weight in named.items():
                due = weight / sum(weights)
                assert abs(after[name] / after.total() - due) <= 0.05, after
        finally:
            store.close()
