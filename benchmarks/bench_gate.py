"""What the gate costs: runs of 3,000 metrics against their history, in a database of this machine.

python benchmarks/bench_gate.py [--quick] [--json FILE]

The bar: two runs of 3,000 metrics with history are compared within 300 ms, everything from the query to the
verdicts' text included, Python and numpy being loaded.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import numpy as np
from report import Report, add_option, bar_state

from anubis.analysis.samples.compare import compare_many
from anubis.analysis.verdict_text import render
from anubis.contracts.world import World
from anubis.judging.gate import GateSides, compare_sides
from anubis.judging.series_overview import series_overviews
from anubis.model.descriptor import Subject
from anubis.model.status import Status
from anubis.model.verdict import Sides
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
        deliveries=store.deliveries,
        environments=None,
        clock=FakeClock(),
    )


def timed(work, rounds):
    """The median of some rounds after one to warm up, milliseconds."""
    work()
    taken = []
    for _ in range(rounds):
        start_s = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start_s) * 1e3)
    return median(taken)


def in_memory():
    """Two single runs with history, as the analysis gets them after reading."""
    random = np.random.default_rng(5)
    values = 100 * np.exp(0.02 * random.standard_normal((METRICS, HISTORY + 2)))
    return [
        Sides(metric=f"m{k}", baseline=(row[0],), contender=(row[1],), history=tuple(row[2:]), better="lower")
        for k, row in enumerate(values.tolist())
    ]


def from_database(benchmarks, rounds):
    """Milliseconds of the gate, and of reading and judging every series, with the metrics spread over benchmarks."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder, 'anubis.db')}")
        contender = filled(store, benchmarks=benchmarks)
        world = world_of(store)

        def gate():
            report = compare_sides([GateSides(contender=contender)], world)
            lines = [render(verdict) for _, verdict in verdicts(report)]
            assert len(lines) == METRICS

        spent = timed(gate, rounds), timed(lambda: series_overviews(world), rounds)
        store.close()
    return spent


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one round")
    add_option(parser)
    asked = parser.parse_args()
    report = Report(quick=asked.quick)
    rounds = 1 if asked.quick else ROUNDS
    rows = [["what", "bar, ms", f"ms, median of {rounds}", ""]]
    for benchmarks, where in ((1, "1 benchmark"), (100, "100 benchmarks")):
        gate_ms, all_ms = from_database(benchmarks, rounds)
        rows += [
            [
                f"two runs of {METRICS:,} metrics in {where}, read with {HISTORY} earlier runs, compared, as text",
                str(BAR_MS),
                f"{gate_ms:.0f}",
                bar_state(gate_ms, BAR_MS),
            ],
            [
                f"all {METRICS * (HISTORY + 2):,} points of {METRICS:,} series in {where}, read and judged",
                "",
                f"{all_ms:.0f}",
                "",
            ],
        ]
    sides = in_memory()
    spent_ms = timed(lambda: compare_many(sides), rounds)
    rows.append(["the comparison of 3,000 metrics without reading and text", "", f"{spent_ms:.0f}", ""])
    report.add("gate", rows, title="Gate")
    report.save(asked.json)


if __name__ == "__main__":
    main()
