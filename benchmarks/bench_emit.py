"""What emitting costs, and how soon it is in the record; MLflow's client on SQLite beside it.

python benchmarks/bench_emit.py [--calls 200000] [--samples 2000000] [--rounds 3] [--peers-venv DIR] [--quick] [--json FILE]

Each round measures emit() and emit_many() under an agent, then log_metric and log_batch, one after the other. --peers-venv
names a folder for a virtual environment with mlflow; it is made, with pip (half a gigabyte, some minutes), when absent.
"""

import argparse
import itertools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from array import array
from bisect import bisect_left
from pathlib import Path

from peerenv import python_with
from report import Report, add_option, bar_state
from spending import median_of

from anubis.record import samples
from anubis.record.files import FolderFiles
from anubis.record.time_index import Arrivals

PACKAGES = str(Path(__file__).parent.parent / "src")
LAUNCH = f"import sys; sys.path.insert(0, {PACKAGES!r}); from anubis.agent.entry import main; main()"
OURS = f"""
import json, random, sys, time
sys.path.insert(0, {PACKAGES!r})
from anubis.agent.emit import emit, emit_many
calls, count = int(sys.argv[1]), int(sys.argv[2])
values = [random.random() for _ in range(count)]
emit({{"warm": 0.0}})
began = time.perf_counter()
for step in range(calls):
    emit({{"loss": values[step % count]}}, step=step)
single = calls / (time.perf_counter() - began)
began = time.perf_counter()
for low in range(0, count, 1000):
    emit_many({{"batched": values[low : low + 1000]}}, steps=range(low, low + 1000))
batched = count / (time.perf_counter() - began)
print(json.dumps([single, batched]))
"""
MLFLOW = """
import json, random, sys, time
import mlflow
from mlflow.entities import Metric
mlflow.set_tracking_uri("sqlite:///" + sys.argv[1])
client = mlflow.MlflowClient()
run = client.create_run(client.create_experiment("bench")).info.run_id
client.log_metric(run, "warm", 0.0)
began = time.perf_counter()
for step in range(1000):
    client.log_metric(run, "loss", random.random(), step=step)
single = 1000 / (time.perf_counter() - began)
now = int(time.time() * 1000)
batch = [[Metric("batched", random.random(), now, low + i) for i in range(1000)] for low in range(0, 20_000, 1000)]
began = time.perf_counter()
for metrics in batch:
    client.log_batch(run, metrics=metrics)
batched = 20_000 / (time.perf_counter() - began)
print(json.dumps({"single": single, "batched": batched, "version": mlflow.__version__}))
"""


def main():
    asked = arguments()
    report = Report(quick=asked.quick)
    python = python_with(asked.peers_venv, "emit", "mlflow")
    ours, theirs, records = [], [], []
    for _ in range(asked.rounds):
        with tempfile.TemporaryDirectory() as folder:
            ours.append(measure_ours(Path(folder), asked.calls, asked.samples))
            records.append(read_back(Path(folder, "record"), asked.calls, asked.samples))
            if python:
                theirs.append(measure_mlflow(Path(folder), python))
    sizes = f"{asked.calls:,} calls of emit(), then {asked.samples:,} samples in batches of 1000"
    report.add(
        "rates", rates(ours, theirs), title=f"Rates, median (minimum to maximum) of {asked.rounds} rounds"
    )
    report.add("record", delays_and_losses(records), title=f"From the call to the record: {sizes}")
    report.save(asked.json)


def rates(ours, theirs):
    """The rows for both ways to emit, with MLflow where it was measured."""
    peer = f"MLflow {theirs[0]['version']} on SQLite" if theirs else "MLflow: not measured (--peers-venv)"
    rows = [["a second", "bar", "Anubis", "", peer, "ours / theirs"]]
    for what, title, peer_title, bar in (
        ("single", "`emit()`, one value a call", "`log_metric`", 20_000),
        ("batched", "`emit_many()` of 1000, samples", "`log_batch` of 1000", 200_000),
    ):
        values = [one[what] for one in ours]
        state = bar_state(bar, statistics.median(values))
        beside = ["", ""]
        if theirs:
            ratio = statistics.median(o[what] / t[what] for o, t in zip(ours, theirs, strict=True))
            beside = [f"{peer_title}: {median_of([one[what] for one in theirs])}", f"{ratio:,.0f}"]
        rows.append([title, f"{bar:,}", median_of(values), state, *beside])
    return rows


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--samples", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers-venv", type=Path, metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="a quarter of each, one round")
    add_option(parser)
    asked = parser.parse_args()
    if asked.quick:
        asked.calls, asked.samples, asked.rounds = asked.calls // 4, asked.samples // 4, 1
    return asked


def measure_ours(folder, calls, count):
    """Calls and samples a second; the record stays in the folder."""
    record = folder / "record"
    command = [sys.executable, "-c", OURS, str(calls), str(count)]
    words = [sys.executable, "-I", "-S", "-c", LAUNCH, "exec", "--record", str(record), "--", *command]
    subprocess.run(words, check=True)
    return dict(zip(("single", "batched"), json.loads((record / "stdout").read_text()), strict=True))


def read_back(record, calls, count):
    """What the record of one round says about delays and losses."""
    facts = json.loads((record / "exit.json").read_text())
    began = time.perf_counter()
    found = samples.load(FolderFiles(str(record)))
    stored = sum(map(len, found.values()))
    middle_ms, worst_ms = delays(record, calls)
    return {
        "missing": calls + count + 1 - stored,
        "loaded": stored / (time.perf_counter() - began),
        "middle_ms": middle_ms,
        "worst_ms": worst_ms,
        "complete_s": facts["ended_s"] - facts["executions"][0]["ended_s"],
        "agent_s": facts["agent"]["cpu_s"],
        "sidecars_s": facts["agent"]["sidecars_cpu_s"],
    }


def delays_and_losses(records):
    worst_ms = max(one["worst_ms"] for one in records)
    missing = sum(one["missing"] for one in records)
    rows = [
        ["what", "bar", "measured", ""],
        ["samples missing, all rounds", "0", f"{missing:,}", bar_state(missing, 0)],
        [
            "from the call to the record, worst of all rounds, ms",
            "1000",
            f"{worst_ms:.1f}",
            bar_state(worst_ms, 1000),
        ],
    ]
    for key, title in {
        "middle_ms": "from the call to the record, median, ms",
        "complete_s": "samples complete after the end, s",
        "agent_s": "agent, CPU, s",
        "sidecars_s": "sampler and extractor, CPU, s",
        "loaded": "reading the samples as columns, samples a second",
    }.items():
        rows.append([title, "", median_of([one[key] for one in records]), ""])
    return rows


def delays(record, calls):
    """Milliseconds from the time a line of emit() carries to the time its bytes were written to the record."""
    arrivals = list(Arrivals(FolderFiles(str(record)), ["emit"]).new())
    ends, found, at = [end for _, end, _, _ in arrivals], array("d"), 0
    with (record / "emit").open("rb") as lines:
        for number, line in enumerate(itertools.islice(lines, calls + 1)):
            at += len(line)
            if number % 100 == 1:
                time_ns = arrivals[bisect_left(ends, at)][2]
                found.append((time_ns - json.loads(line)["t"]) / 1e6)
    ordered = sorted(found)
    return ordered[len(ordered) // 2], ordered[-1]


def measure_mlflow(folder, python):
    done = subprocess.run(
        [python, "-W", "ignore", "-c", MLFLOW, str(folder / "mlflow.db")],
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return json.loads(done.stdout.splitlines()[-1])


if __name__ == "__main__":
    os.environ.pop("BENCHMARK_AI", None)
    main()
