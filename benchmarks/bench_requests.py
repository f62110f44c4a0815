"""What a service accepts and sends per second: single submissions, batches, samples. SQLite, and PostgreSQL if it is installed.

python benchmarks/bench_requests.py [--seconds 10] [--quick] [--json FILE]

The service only answers (--role api), so that it places no run. The clients are one program on the same cores, with one connection
each. An answer to a submission is sent when its runs are on the disk; every submission has an idempotency key.
"""

import argparse
import json
import os
import tempfile
import time
from array import array
from pathlib import Path

import http_load
from bench_service import postgresql, service
from report import Report, add_option

from anubis.client import Client
from anubis.model.points import SampleBlock
from anubis.model.status import Status
from anubis.settings import Settings
from anubis.testing import a_run
from anubis.wiring import build

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
#: Least that a row must have, per second.
BARS = {
    "submissions, 32 clients": 500,
    "runs, 250 descriptors in a request, 4 clients": 5000,
    "runs, 1,000 of one descriptor in a request, 2 clients": 5000,
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
    columns = {}
    with tempfile.TemporaryDirectory() as folder:
        columns["SQLite"] = measured(Path(folder) / "home", {}, seconds)
    with tempfile.TemporaryDirectory() as folder, postgresql() as url:
        if url:
            columns["PostgreSQL"] = measured(Path(folder) / "home", {"ANUBIS_DATABASE_URL": url}, seconds)
    rows = [["per second", *columns, "bar", ""]]
    for title in columns["SQLite"]:
        found = [column[title] for column in columns.values()]
        bar = BARS.get(title)
        state = "" if bar is None else "met" if min(found) >= bar else "**missed**"
        rows.append([title, *(f"{rate:,.0f}" for rate in found), f"at least {bar:,}" if bar else "", state])
    report.add("requests", rows, title="What a service accepts and sends, per second")
    report.save(asked.json)


def measured(home, environ, seconds):
    settings = Settings.from_env({"ANUBIS_HOME": str(home), **environ})
    run_id = with_samples(settings)
    environment = {**os.environ, **environ, "ANUBIS_HOME": str(home)}
    environment.pop("ANUBIS_SERVICE_URL", None)
    one = {"descriptors": [{"text": TEXT, "folder": "/"}]}
    rounds = json.dumps({"submissions": [{**one, "rounds": BATCH}]}).encode()
    several = json.dumps({"descriptors": one["descriptors"] * 250}).encode()
    single = json.dumps(one).encode()
    found = {}
    with service(environment, "--role", "api") as (process, _):

        def rate(title, path, body, runs, clients):
            row = len(found)
            done = http_load.load(
                process.url,
                lambda number: http_load.post(
                    f"/api/v1/{path}", body if isinstance(body, bytes) else body(number), f"{row}-{number}"
                ),
                clients=clients,
                seconds=seconds,
                expected=201,
            )
            found[title] = done.per_s * runs
            print(f"  {title}: {found[title]:,.0f}", flush=True)

        rate("submissions, 32 clients", "runs", single, 1, 32)
        rate("runs, 250 descriptors in a request, 4 clients", "runs", several, 250, 4)
        rate("runs, 1,000 of one descriptor in a request, 2 clients", "runs/batches", rounds, BATCH, 2)
        rate("runs, 1,000 different descriptors in a request, 2 clients", "runs/batches", different, BATCH, 2)
        found["samples read, 100,000 in a request"] = samples_read(process.url, settings, run_id, seconds)
    found["writes of 4 KiB to this disk, each with fdatasync"] = synced(home, seconds / 4)
    return found


def different(number):
    """A batch of descriptors that were not sent before."""
    texts = [TEXT.replace("1.5", f"{number}.{at}") for at in range(BATCH)]
    return json.dumps(
        {"submissions": [{"descriptors": [{"text": text, "folder": "/"}]} for text in texts]}
    ).encode()


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


def samples_read(url, settings, run_id, seconds):
    """Samples per second that a client has as columns."""
    read, begun = 0, time.monotonic()
    with Client.remote(url, settings) as client:
        while time.monotonic() - begun < seconds:
            read += len(client.results.samples(run_id, "loss").values)
    return read / (time.monotonic() - begun)


def synced(folder, seconds):
    """Writes to the disk per second, one after the other: the limit of commits that exclude one another."""
    count, started_s = 0, time.monotonic()
    with (folder / "synced").open("wb", buffering=0) as file:
        while time.monotonic() < started_s + seconds:
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            count += 1
        return count / (time.monotonic() - started_s)


if __name__ == "__main__":
    main()
