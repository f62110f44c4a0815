"""What the gate costs: runs of 3,000 metrics against their history, in a database of this machine.

python benchmarks/bench_gate.py [--quick] [--json FILE]

The bar: two runs of 3,000 metrics with history are compared within 300 ms of CPU, everything from the query to the
verdicts' text included, Python and numpy being loaded. On an idle machine CPU and wall times are the same.
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
from anubis.judging.gate import GateSides, compare_sides
from anubis.judging.series_overview import series_overviews
from anubis.model.descriptor import Subject
from anubis.model.status import Status
from anubis.model.verdict import Sides
from anubis.reporting.gate_report import verdicts
from anubis.store import open_store
from anubis.testing import a_descriptor, a_point, a_run, a_world

METRICS, HISTORY, ROUNDS = 3_000, 60, 7
#: Metrics and rounds of a quick run.
QUICK = 300, 1
BAR_MS = 300


def filled(store, *, benchmarks, metrics=METRICS):
    """A history of 60 commits of ``metrics`` series spread over some benchmarks, and two runs of the next commit."""
    random = np.random.default_rng(1)
    levels = random.uniform(1, 1000, metrics)
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
                for at in range(number, metrics, benchmarks)
            ]
            store.runs.add_finished([(run, "text")], points)
            runs.append(run)
    return runs[-2 * benchmarks :]


def timed(work, rounds):
    """The median CPU and wall times of some rounds after one to warm up, milliseconds."""
    work()
    cpu, wall = [], []
    for _ in range(rounds):
        cpu_s, wall_s = time.process_time(), time.perf_counter()
        work()
        cpu.append((time.process_time() - cpu_s) * 1e3)
        wall.append((time.perf_counter() - wall_s) * 1e3)
    return median(cpu), median(wall)


def in_memory(metrics):
    """Two single runs with history, as the analysis gets them after reading."""
    random = np.random.default_rng(5)
    values = 100 * np.exp(0.02 * random.standard_normal((metrics, HISTORY + 2)))
    return [
        Sides(metric=f"m{k}", baseline=(row[0],), contender=(row[1],), history=tuple(row[2:]), better="lower")
        for k, row in enumerate(values.tolist())
    ]


def from_database(benchmarks, metrics, rounds):
    """CPU and wall times of the gate, and of reading and judging every series, with the metrics spread over benchmarks."""
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(f"sqlite:///{Path(folder, 'anubis.db')}")
        contender = filled(store, benchmarks=benchmarks, metrics=metrics)
        world = a_world(store)

        def gate():
            report = compare_sides([GateSides(contender=contender)], world)
            lines = [render(verdict) for _, verdict in verdicts(report)]
            assert len(lines) == metrics

        spent = timed(gate, rounds), timed(lambda: series_overviews(world), rounds)
        store.close()
    return spent


def shown(times):
    return [f"{one:.0f}" for one in times]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="a tenth of the metrics, one round")
    add_option(parser)
    asked = parser.parse_args()
    report = Report(quick=asked.quick)
    metrics, rounds = QUICK if asked.quick else (METRICS, ROUNDS)
    rows = [["what", "bar, ms of CPU", f"CPU, ms, median of {rounds}", "wall, ms", ""]]
    for benchmarks, where in ((1, "1 benchmark"), (100, "100 benchmarks")):
        gate, everything = from_database(benchmarks, metrics, rounds)
        what = (
            f"two runs of {metrics:,} metrics in {where}, read with {HISTORY} earlier runs, compared, as text"
        )
        rows.append([what, str(BAR_MS), *shown(gate), bar_state(gate[0], BAR_MS)])
        points = f"all {metrics * (HISTORY + 2):,} points of {metrics:,} series"
        rows.append([f"{points} in {where}, read and judged", "", *shown(everything), ""])
    sides = in_memory(metrics)
    compared = timed(lambda: compare_many(sides), rounds)
    rows.append([f"the comparison of {metrics:,} metrics without reading and text", "", *shown(compared), ""])
    report.add("gate", rows, title="Gate")
    report.save(asked.json)


if __name__ == "__main__":
    main()
