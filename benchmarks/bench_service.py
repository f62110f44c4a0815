"""What the service costs: time to healthy, memory and CPU while idle, submissions per second. SQLite, and PostgreSQL if it is installed.

python benchmarks/bench_service.py [--quick] [--json FILE]

The service has no reconcilers while submissions are counted, and commits wait for the disk. Four clients submit at the same
time, each on one connection. No other tool is measured: none in the list of peers accepts runs over HTTP.
"""

import argparse
import contextlib
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from report import Report, add_option

ANUBIS = [sys.executable, "-m", "anubis"]
CLIENTS, BATCH = 4, 250
#: Time after the start that does not count as idle, seconds.
SETTLE_S = 8.0
TEXT = """spec_version = "1.0"
[info]
name = "load"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
"""
#: What a row must reach, in its unit: at most, at least.
MOST = {"start to healthy, s": 1.0, "memory while idle, MB": 100.0}
LEAST = {"submissions, 1/s": 500.0, "runs in requests of 250, 1/s": 5000.0}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="shorter times")
    add_option(parser)
    asked = parser.parse_args()
    report = Report(quick=asked.quick)
    seconds = 3.0 if asked.quick else 20.0
    columns = {}
    with tempfile.TemporaryDirectory() as folder:
        columns["SQLite"] = measured(Path(folder) / "home", {}, seconds)
    with tempfile.TemporaryDirectory() as folder, postgresql() as url:
        if url:
            columns["PostgreSQL"] = measured(Path(folder) / "home", {"ANUBIS_DATABASE_URL": url}, seconds)
    names = list(columns["SQLite"])
    rows = [
        [name, *(f"{column[name]:.3g}" for column in columns.values()), *bar(name, columns)] for name in names
    ]
    report.add("service", [["", *columns, "bar", ""], *rows], title="one service")
    report.save(asked.json)


def bar(name, columns):
    """The bar of a row, and whether every column meets it."""
    if name in MOST:
        met = all(column[name] <= MOST[name] for column in columns.values())
        return [f"at most {MOST[name]:g}", "met" if met else "**missed**"]
    if name in LEAST:
        met = all(column[name] >= LEAST[name] for column in columns.values())
        return [f"at least {LEAST[name]:g}", "met" if met else "**missed**"]
    return ["", ""]


def measured(home, settings, seconds):
    environment = {**os.environ, **settings, "ANUBIS_HOME": str(home)}
    environment.pop("ANUBIS_SERVICE_URL", None)
    with service(environment) as (_, _):
        pass  # makes the database
    values = {}
    with service(environment) as (process, values["start to healthy, s"]):
        time.sleep(SETTLE_S)
        before_s = cpu_s(process.pid)
        time.sleep(seconds)
        values["CPU while idle, % of a core"] = 100.0 * (cpu_s(process.pid) - before_s) / seconds
        values["memory while idle, MB"] = resident_mb(process.pid)
    with service(environment, "--role", "api") as (process, _):
        values["submissions, 1/s"] = submitted(process.url, 1, seconds)
        values["runs in requests of 250, 1/s"] = submitted(process.url, BATCH, seconds)
    values["writes of 4 KiB to this disk, each with fdatasync, 1/s"] = synced(home, seconds / 4)
    return values


class Process(subprocess.Popen):
    """A service and its address."""

    url = ""


@contextlib.contextmanager
def service(environment, *words):
    """A running service, and the time from its start until it was healthy, seconds."""
    started_s = time.monotonic()
    command = [*ANUBIS, "serve", "--listen", "127.0.0.1:0", "--log-format", "json", *words]
    with Process(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        process.url = process.stdout.readline().strip()
        while request(connection_to(process.url), "GET", "/healthz")[0] != 200:
            time.sleep(0.005)
        took_s = time.monotonic() - started_s
        try:
            yield process, took_s
        finally:
            process.send_signal(signal.SIGTERM)


def submitted(url, batch, seconds):
    """Runs that were stored per second."""
    body = json.dumps({"descriptors": [{"text": TEXT, "folder": "/"}] * batch})
    counts, end_s = [0] * CLIENTS, time.monotonic() + seconds

    def submit(client):
        with contextlib.closing(connection_to(url)) as connection:
            while time.monotonic() < end_s:
                key = f"{batch}-{client}-{counts[client]}"
                headers = {"Content-Type": "application/json", "Idempotency-Key": key}
                status, answer = request(connection, "POST", "/api/v1/runs", body, headers)
                assert status == 201, answer
                counts[client] += batch

    threads = [threading.Thread(target=submit, args=(client,)) for client in range(CLIENTS)]
    started_s = time.monotonic()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(counts) / (time.monotonic() - started_s)


def synced(folder, seconds):
    """Writes to the disk per second, one after the other: the limit of commits that exclude one another."""
    count, started_s = 0, time.monotonic()
    with (folder / "synced").open("wb", buffering=0) as file:
        while time.monotonic() < started_s + seconds:
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            count += 1
        return count / (time.monotonic() - started_s)


def connection_to(url):
    address = urlsplit(url)
    return http.client.HTTPConnection(address.hostname, address.port, timeout=60)


def request(connection, method, path, body=None, headers=()):
    connection.request(method, path, body, dict(headers))
    answer = connection.getresponse()
    return answer.status, answer.read()


def cpu_s(pid):
    """User and system time of a process, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mb(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1000 for line in lines if line.startswith("VmRSS"))


@contextlib.contextmanager
def postgresql():
    """The address of a server whose commits wait for the disk; None if it is not installed."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.postgresql import binaries, cluster  # noqa: PLC0415  the cluster of the tests

    folder = binaries()
    if folder is None:
        yield None
        return
    with cluster(folder, "-c listen_addresses= -c max_connections=50") as server:
        yield server.url


if __name__ == "__main__":
    main()
