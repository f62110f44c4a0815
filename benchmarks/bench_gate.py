"""What the gate costs: runs of 3,000 metrics against their history, in a database of this machine.

The bar: two runs of 3,000 metrics with history are compared within 300 ms, everything from the question to the
verdicts' text included, Python and numpy being loaded.
"""

import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np

from anubis.analysis.verdict_text import render
from anubis.contracts.world import World
from anubis.judging.gate import GateSides, compare_sides
from anubis.judging.series_overview import series_overviews
from anubis.model.descriptor import Subject
from anubis.model.status import Status
from anubis.reporting.gate_report import verdicts
from anubis.store import open_store
from anubis.testing import FakeClock, a_descriptor, a_point, a_run

METRICS, HISTORY, ROUNDS = 3_000, 60, 7
BAR_MS = 300


def filled(store, *, benchmarks):
    """A history of 60 commits of METRICS series spread over some benchmarks, and two runs of the next commit."""
    random = np.random.default_rng(1)
    levels = random.uniform(1, 1000, METRICS)
    runs = []
    for commit in range(HISTORY + 2):
        subject = Subject(version=f"v{min(commit, HISTORY)}")
        for number in range(benchmarks):
            descriptor = replace(a_descriptor(f"bench-{number}"), subject=subject)
            run = a_run(
                descriptor,
                status=Status.SUCCEEDED,
                created_s=1e9 + commit,
                order_s=float(min(commit, HISTORY)),
            )
            points = [
                a_point(
                    run,
                    f"metric {at}",
                    float(levels[at] * np.exp(0.01 * random.standard_normal())),
                    order_s=run.order_s,
                    subject=subject.version,
                    better="lower",
                )
                for at in range(number, METRICS, benchmarks)
            ]
            store.runs.add_finished([(run, "text")], points)
            runs.append(run)
    return runs[-2 * benchmarks :]


def world_of(store):
    return World(
        engines={},
        objects=None,
        records=None,
        runs=store.runs,
        leases=store.leases,
        events=store.events,
        points=store.points,
        alerts=store.alerts,
        clock=FakeClock(),
    )


def timed(work):
    """The median of some rounds after one to warm up, milliseconds."""
    work()
    taken = []
    for _ in range(ROUNDS):
        start_s = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start_s) * 1e3)
    return median(taken)


def main():
    for benchmarks in (1, 100):
        with tempfile.TemporaryDirectory() as folder:
            store = open_store(f"sqlite:///{Path(folder, 'anubis.db')}")
            contender = filled(store, benchmarks=benchmarks)
            world = world_of(store)

            def gate(contender=contender, world=world):
                report = compare_sides([GateSides(contender=contender)], world)
                lines = [render(verdict) for _, verdict in verdicts(report)]
                assert len(lines) == METRICS

            spent_ms = timed(gate)
            state = "ok" if spent_ms <= BAR_MS else f"OVER {BAR_MS}"
            print(
                f"gate: 2 runs of {METRICS} metrics in {benchmarks} benchmarks, {HISTORY} earlier runs: {spent_ms:6.0f} ms  {state}"
            )
            whole_ms = timed(lambda world=world: series_overviews(world))
            print(
                f"series: all {METRICS * (HISTORY + 2):,} points of {METRICS} series read and judged: {whole_ms:6.0f} ms"
            )
            store.close()


if __name__ == "__main__":
    main()
