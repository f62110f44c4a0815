"""What emitting costs, and how soon it is in the record; MLflow's client on SQLite beside it.

python benchmarks/bench_emit.py [--calls 200000] [--samples 2000000] [--rounds 3] [--peers-venv DIR] [--quick]

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
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} CPUs")
    python = python_with(asked.peers_venv, "emit", "mlflow")
    ours, theirs = [], []
    for number in range(asked.rounds):
        with tempfile.TemporaryDirectory() as folder:
            ours.append(measure_ours(Path(folder), asked.calls, asked.samples))
            if number == 0:
                report_ours(Path(folder), ours[0], asked.calls, asked.samples)
            if python:
                theirs.append(measure_mlflow(Path(folder), python))
    print(f"== rates, median (least to greatest) of {asked.rounds}")
    show("emit(), calls/s", median_of([one["single"] for one in ours]))
    show("emit_many() of 1000, samples/s", median_of([one["batched"] for one in ours]))
    if not theirs:
        print("  MLflow: not measured (--peers-venv)")
        return
    version = theirs[0]["version"]
    for what, title in {
        "single": "log_metric(), calls/s",
        "batched": "log_batch() of 1000, samples/s",
    }.items():
        ratio = statistics.median(o[what] / t[what] for o, t in zip(ours, theirs, strict=True))
        figure = f"{median_of([one[what] for one in theirs])}   (ours: {ratio:,.0f} times as many)"
        show(f"MLflow {version}, SQLite: {title}", figure)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--calls", type=int, default=200_000)
    parser.add_argument("--samples", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers-venv", type=Path, metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="a quarter of each, one round")
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


def report_ours(folder, rates, calls, count):
    record = folder / "record"
    facts = json.loads((record / "exit.json").read_text())
    began = time.perf_counter()
    found = samples.load(FolderFiles(str(record)))
    loaded = sum(map(len, found.values())) / (time.perf_counter() - began)
    print(f"== emit under an agent: {calls:,} calls, then {count:,} samples in batches of 1000")
    show("emit(), calls/s", f"{rates['single']:,.0f}")
    show("emit_many(), samples/s", f"{rates['batched']:,.0f}")
    show("missing", f"{calls + count + 1 - sum(map(len, found.values()))}")
    show("call to record, median / worst of emit()", "{:.1f} / {:.1f} ms".format(*delays(record, calls)))
    show(
        "agent CPU / sidecars' CPU",
        f"{facts['agent']['cpu_s']:.2f} / {facts['agent']['sidecars_cpu_s']:.2f} s",
    )
    show("samples complete after the end", f"{facts['ended_s'] - facts['executions'][0]['ended_s']:.2f} s")
    show("loading them back as columns, samples/s", f"{loaded:,.0f}")


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


def show(what, figure):
    print(f"  {what:<46} {figure}")


if __name__ == "__main__":
    os.environ.pop("BENCHMARK_AI", None)
    main()
