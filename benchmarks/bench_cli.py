"""How long a person waits for the command line: the version, the help, and a listing over 10,000 runs with 10 metrics.

python benchmarks/bench_cli.py [--runs 10000] [--times 15] [--quick] [--json FILE]

Each row is the wall time of separate processes, from start to end, with a pipe as output. In the same
rounds: the interpreter alone, and the listings of peers where their commands are installed (MLflow, DVC, asv).
"""

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import Report, add_option, bar_state

from anubis.model.points import Point
from anubis.model.status import Status
from anubis.settings import Settings
from anubis.testing.builders import a_descriptor, a_point, a_run
from anubis.wiring import build

BIN = Path(sys.executable).parent
METRICS = 10
BARS_MS = {"anubis --version": 60, "anubis history": 250}
#: Commands of peers that only say something about themselves: what starting them costs.
PEERS = (("mlflow", "--version"), ("dvc", "--version"), ("asv", "--version"), ("hyperfine", "--version"))


def fill(home, runs):
    """A home with this many final runs."""
    house = build(Settings.from_env({"ANUBIS_HOME": str(home), "USER": "bench"}))
    descriptor = a_descriptor("bench", labels={"team": "vision"})
    now_s = time.time()
    for start in range(0, runs, 1000):
        batch = [
            a_run(
                descriptor,
                status=Status.SUCCEEDED,
                created_s=now_s - runs + at,
                placed_s=now_s,
                ended_s=now_s,
            )
            for at in range(start, min(start + 1000, runs))
        ]
        points: list[Point] = [
            a_point(run, f"metric_{number}", 100.5 + number) for run in batch for number in range(METRICS)
        ]
        house.world.runs.add_finished([(run, "") for run in batch], points)
    house.close()


def commands():
    """What is measured, by name."""
    found = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "anubis --version": [BIN / "anubis", "--version"],
        "anubis --help": [BIN / "anubis", "--help"],
        "anubis history": [BIN / "anubis", "history"],
        "anubis history --label --metric": [
            BIN / "anubis", "history", "--label", "team=vision", "--metric", "metric_3",
        ],
        "anubis history --limit 1000": [BIN / "anubis", "history", "--limit", "1000"],
        "anubis history --limit 10000": [BIN / "anubis", "history", "--limit", "10000"],
        "anubis status": [BIN / "anubis", "status"],
        "anubis show @last": [BIN / "anubis", "show", "@last"],
        "anubis results @last": [BIN / "anubis", "results", "@last"],
    }  # fmt: skip
    for program, *words in PEERS:
        if path := shutil.which(program):
            found[" ".join((program, *words))] = [path, *words]
    return found


def waited_ms(command, environment):
    began = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=True)
    return 1000 * (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--times", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="a tenth of the runs, one process each")
    add_option(parser)
    given = parser.parse_args()
    report = Report(quick=given.quick)
    if given.quick:
        given.times, given.runs = 1, given.runs // 10
    with tempfile.TemporaryDirectory() as home:
        fill(Path(home), given.runs)
        environment = {**os.environ, "ANUBIS_HOME": home}
        waits = {name: [] for name in commands()}
        for command in commands().values():
            waited_ms(command, environment)
        for _ in range(given.times):
            for name, command in commands().items():
                waits[name].append(waited_ms(command, environment))
    rows = [[f"{given.times} processes each", "bar, ms", "median", "best", "worst", ""]]
    for name, found in waits.items():
        bar, middle = BARS_MS.get(name), statistics.median(found)
        times = [f"{value:.0f}" for value in (middle, min(found), max(found))]
        rows.append([f"`{name}`", str(bar) if bar else "", *times, bar_state(middle, bar) if bar else ""])
    title = f"{given.runs:,} runs with {METRICS} metrics; {given.times} processes each; milliseconds"
    report.add("commands", rows, title=title)
    report.save(given.json)


if __name__ == "__main__":
    main()
