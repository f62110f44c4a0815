"""What a service accepts and sends in large requests: batches of submissions, and samples. SQLite, on this machine.

python benchmarks/bench_requests.py [--seconds 10] [--quick] [--json FILE]

The service only answers (--role api), so that it places no run. Clients are threads of another process on the same cores.
An answer to a submission is sent when its runs are on the disk.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from array import array
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

from report import Report, add_option, bar_state

from anubis.client import Client
from anubis.model.points import SampleBlock
from anubis.model.status import Status
from anubis.settings import Settings
from anubis.testing import a_run
from anubis.wiring import build

BIN = Path(sys.executable).parent
TEXT = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "echo score=1.5"
[[output.metrics]]
name = "score"
units = "1/s"
pattern = 'score=(\\S+)'
"""
BATCH, SAMPLES = 1000, 100_000
#: Least that a row may have, per second.
BARS = {
    "submissions, 1,000 different ones in a request": 5000,
    "runs, 1,000 of one descriptor in a request": 5000,
    "samples read, 100,000 in a request": 100_000,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--quick", action="store_true", help="a fifth of the time")
    add_option(parser)
    asked = parser.parse_args()
    seconds = asked.seconds / 5 if asked.quick else asked.seconds
    report = Report(quick=asked.quick)
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder) / "home", seconds)
    report.add("requests", rows, title="What a service accepts and sends, per second")
    report.save(asked.json)


def measured(home, seconds):
    settings = Settings.from_env({"ANUBIS_HOME": str(home)})
    run_id = with_samples(settings)
    command = [BIN / "anubis", "serve", "--listen", "127.0.0.1:0", "--role", "api"]
    service = subprocess.Popen(
        command,
        env={**os.environ, "ANUBIS_HOME": str(home)},
        stdout=subprocess.PIPE,
        text=True,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = service.stdout.readline().strip()
        one = {"descriptors": [{"text": TEXT, "folder": str(home)}]}
        different = [
            {"descriptors": [{"text": TEXT.replace("1.5", str(number)), "folder": str(home)}]}
            for number in range(BATCH)
        ]
        found = {
            "submissions, 1,000 different ones in a request": BATCH
            * posted(url, "/api/v1/runs/batches", {"submissions": different}, seconds, 2),
            "runs, 1,000 of one descriptor in a request": BATCH
            * posted(url, "/api/v1/runs/batches", {"submissions": [{**one, "rounds": BATCH}]}, seconds, 2),
            "samples read, 100,000 in a request": samples_read(url, settings, run_id, seconds),
        }
    finally:
        service.terminate()
        service.wait()
        service.stdout.close()
    rows = [["what", "per second", "bar", "state"]]
    for title, rate in found.items():
        bar = BARS.get(title)
        state = "" if bar is None else bar_state(bar, rate)
        rows.append([title, f"{rate:,.0f}", f"{bar:,}" if bar else "", state])
    return rows


def with_samples(settings):
    """A home folder with a run that has samples; its id."""
    installation = build(settings)
    run = a_run(status=Status.SUCCEEDED)
    block = SampleBlock(
        metric="loss",
        units="none",
        values=array("d", [1 / (at + 1) for at in range(SAMPLES)]),
        times_s=array("d", [1.7e9 + at / 10 for at in range(SAMPLES)]),
        steps=array("q", range(SAMPLES)),
        repeats=array("i", [0] * SAMPLES),
    )
    installation.world.runs.add_finished([(run, TEXT)], [], samples={run.id: [block]})
    installation.close()
    return run.id


def posted(url, path, body, seconds, clients):
    """Requests per second that were answered with 201."""
    address, content = urlsplit(url), json.dumps(body).encode()
    done, until = [], time.monotonic() + seconds

    def post():
        connection = HTTPConnection(address.hostname, address.port)
        while time.monotonic() < until:
            connection.request("POST", path, content, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 201, answer.status
            done.append(time.monotonic())
        connection.close()

    begun = time.monotonic()
    threads = [threading.Thread(target=post) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return len(done) / (max(done) - begun)


def samples_read(url, settings, run_id, seconds):
    """Samples per second that a client has as columns."""
    read, begun = 0, time.monotonic()
    with Client.remote(url, settings) as client:
        while time.monotonic() - begun < seconds:
            read += len(client.results.samples(run_id, "loss").values)
    return read / (time.monotonic() - begun)


if __name__ == "__main__":
    main()
