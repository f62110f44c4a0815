"""How long the pages of a service take: an installation with 10,000 runs and 3,000 series. SQLite.

python benchmarks/bench_pages.py [--quick] [--json FILE]

Each page is requested one request after another on one connection, after one request that is not counted; the times are those of
complete answers. No other tool is measured: none in the list of peers has these pages.
"""

import argparse
import contextlib
import http.client
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from report import Report, add_option

from anubis.client import Client
from anubis.settings import Settings

ANUBIS = [sys.executable, "-m", "anubis"]
METRICS, POINTS = 10, 33
#: At most so long, ms.
BAR_MS = 100.0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="300 series, and fewer requests")
    add_option(parser)
    asked = parser.parse_args()
    benchmarks, requests = (30, 30) if asked.quick else (300, 200)
    report = Report(quick=asked.quick)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        ends = filled(home, benchmarks)
        with service(home) as url:
            rows = [measured(url, name, path, requests) for name, path in pages(ends)]
    title = f"{benchmarks * POINTS:,} runs, {benchmarks * METRICS:,} series"
    titles = ["page", "median, ms", "p99, ms", "size, kB", "bar of p99", ""]
    report.add("pages", [titles, *rows], title=title)
    report.save(asked.json)


def filled(home, benchmarks):
    """Store the history; the ids of the first and of the last run of one benchmark."""
    noise = random.Random(1)
    lines = ["benchmark,metric,value,unit,better,commit,time,run"]
    for number in range(benchmarks):
        for at in range(POINTS):
            shift = 0.9 if number % 20 == 0 and at >= 20 else 1.0
            for metric in range(METRICS):
                value = noise.gauss(100 * shift, 0.6)
                time_s = 1_790_000_000 + 86_400 * at + number
                lines.append(
                    f"bench{number:03d},metric{metric},{value:.5g},1/s,higher,{at:040x},{time_s},b{number}r{at}"
                )
    file = home.parent / "history.csv"
    file.write_text("\n".join(lines))
    with Client.embedded(Settings.from_env({"ANUBIS_HOME": str(home)})) as client:
        client.histories.store(client.histories.read([str(file)]))
        client.series.analyse()
        points = client.series.find(benchmark="bench000", metric="metric0")[0].points
    return points[0].run_id, points[-1].run_id


def pages(ends):
    old, new = ends
    return [
        ("overview", "/ui"),
        ("runs", "/ui/runs"),
        ("runs of a benchmark", "/ui/runs?benchmark=bench005"),
        ("list of all series", "/ui/benchmarks"),
        ("list of all series, last page", "/ui/benchmarks?page=6"),
        ("benchmark, 10 series", "/ui/benchmarks/bench000"),
        ("comparison, 10 metrics", f"/ui/compare?a={old}&b={new}"),
        ("run", f"/ui/runs/{new}"),
        ("alerts", "/ui/alerts"),
        ("events", "/ui/events"),
    ]


def measured(url, name, path, requests):
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname, address.port, timeout=60)
    times = []
    for _ in range(requests + 1):
        started_s = time.perf_counter()
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        times.append(1000 * (time.perf_counter() - started_s))
        assert answer.status == 200, (path, answer.status)
    connection.close()
    times = sorted(times[1:])
    p99 = times[min(len(times) - 1, int(0.99 * len(times)))]
    met = "met" if p99 <= BAR_MS else "**missed**"
    return [
        name,
        f"{times[len(times) // 2]:.3g}",
        f"{p99:.3g}",
        f"{len(body) / 1000:.3g}",
        f"at most {BAR_MS:g}",
        met,
    ]


@contextlib.contextmanager
def service(home):
    environment = {**os.environ, "ANUBIS_HOME": str(home)}
    environment.pop("ANUBIS_SERVICE_URL", None)
    process = subprocess.Popen(
        [*ANUBIS, "serve", "--listen", "127.0.0.1:0", "--role", "api"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


if __name__ == "__main__":
    main()
