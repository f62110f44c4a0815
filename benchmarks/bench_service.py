"""What the service costs while it is idle: time to healthy, memory and CPU. SQLite, and PostgreSQL if it is installed.

python benchmarks/bench_service.py [--quick] [--json FILE]

Modules are compiled before, as after an installation with pip. What requests cost is measured by bench_requests and bench_listing.
"""

import argparse
import contextlib
import http.client
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from report import Report, add_option

ANUBIS = [sys.executable, "-m", "anubis"]
#: Time after the start that does not count as idle, seconds.
SETTLE_S = 8.0
#: What a row may have, in its unit.
MOST = {"start to healthy, s": 1.0, "memory while idle, MB": 100.0}


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
    return ["", ""]


def measured(home, settings, seconds):
    environment = {**os.environ, **settings, "ANUBIS_HOME": str(home)}
    environment.pop("ANUBIS_SERVICE_URL", None)
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with service(environment) as (_, _):
        pass  # makes the database, and compiles the modules
    values = {}
    with service(environment) as (process, values["start to healthy, s"]):
        time.sleep(SETTLE_S)
        before_s = cpu_s(process.pid)
        time.sleep(seconds)
        values["CPU while idle, % of a core"] = 100.0 * (cpu_s(process.pid) - before_s) / seconds
        values["memory while idle, MB"] = resident_mb(process.pid)
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
        while not is_healthy(process.url):
            time.sleep(0.005)
        took_s = time.monotonic() - started_s
        try:
            yield process, took_s
        finally:
            process.send_signal(signal.SIGTERM)


def is_healthy(url):
    address = urlsplit(url)
    with contextlib.closing(http.client.HTTPConnection(address.hostname, address.port, timeout=60)) as client:
        client.request("GET", "/healthz")
        return client.getresponse().status == 200


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
    with cluster(folder, "-c listen_addresses= -c max_connections=100") as server:
        yield server.url


if __name__ == "__main__":
    main()
