"""How long a page of runs takes over HTTP, with each filter, among many runs. SQLite, and PostgreSQL if it is installed.

python benchmarks/bench_listing.py [--runs 100000] [--quick] [--json FILE]

A page has 100 runs, each with two values. The rare values are those of one run in a thousand, or of the oldest runs. One client
sends one request after the other.
"""

import argparse
import os
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import http_load
from bench_service import postgresql, service
from report import Report, add_option

from anubis.api.paging import cursor_after
from anubis.model.descriptor import Subject
from anubis.model.identity import digest, series_key
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import a_descriptor, a_point, a_run
from anubis.testing.builders import NOW_S

#: Longest time of a page, 99th percentile, milliseconds.
BAR_MS = 50
REQUESTS = 50
BENCHMARKS, COMMITS = 20, 50


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the runs, SQLite alone")
    add_option(parser)
    asked = parser.parse_args()
    runs = asked.runs // 50 if asked.quick else asked.runs
    report = Report(quick=asked.quick)
    columns = {}
    with tempfile.TemporaryDirectory() as folder, ExitStack() as servers:
        columns["SQLite"] = measured(Path(folder), f"sqlite:///{folder}/anubis.db", runs)
        url = None if asked.quick else servers.enter_context(postgresql())
        if url:
            columns["PostgreSQL"] = measured(Path(folder), url, runs)
    rows = [["filter", *(f"{name}, {part}" for name in columns for part in ("p50", "p99")), "bar, ms", ""]]
    for title in columns["SQLite"]:
        found = [values[title] for values in columns.values()]
        state = "met" if all(last <= BAR_MS for _, last in found) else "**missed**"
        rows.append([title, *(f"{value:.1f}" for pair in found for value in pair), str(BAR_MS), state])
    report.add("listing", rows, title=f"A page of 100 of {runs:,} runs over HTTP, ms")
    report.save(asked.json)


def measured(folder, url, runs):
    """Median and 99th percentile of each filter, milliseconds."""
    first, middle = filled(url, runs)
    environment = {**os.environ, "ANUBIS_HOME": str(folder / "home"), "ANUBIS_DATABASE_URL": url}
    environment.pop("ANUBIS_SERVICE_URL", None)
    found = {}
    with service(environment, "--role", "api") as (process, _):
        for title, query in queries(first, middle, runs).items():
            data = http_load.get(f"/api/v1/runs?{urlencode(query)}")
            http_load.load(process.url, lambda _, data=data: data, clients=1, count=5)
            pages = http_load.load(process.url, lambda _, data=data: data, clients=1, count=REQUESTS)
            found[title] = pages.quantile_ms(0.5), pages.quantile_ms(0.99)
            print(f"  {title}: {found[title][0]:.1f}, {found[title][1]:.1f} ms", flush=True)
    return found


def filled(url, count):
    """Store the runs; the ids of the oldest one and of one in the middle."""
    descriptors = []
    for benchmark in range(BENCHMARKS):
        for commit in range(COMMITS):
            labels = {"team": "vision" if benchmark % 2 else "text", "commit": str(commit)}
            if (benchmark, commit) == (3, 3):
                labels["rare"] = "yes"
            made = a_descriptor(f"bench-{benchmark}", labels=labels)
            descriptor = replace(made, subject=Subject(commit=f"{commit:02d}{benchmark:02d}{'ab' * 18}"))
            descriptors.append((descriptor, digest(descriptor), series_key(descriptor)))
    store, ids = open_store(url), []
    for start in range(0, count, 1000):
        runs = [
            a_stored_run(at, descriptors[at % len(descriptors)], ids) for at in range(start, start + 1000)
        ]
        points = [a_point(run, metric) for run in runs for metric in ("latency", "score")]
        points += [a_point(run, "rare") for run in runs[:1]]
        points += [a_point(run, "oldest") for run in runs[:20] if not start]
        store.runs.add_finished([(run, "text") for run in runs], points)
        ids += [run.id for run in runs]
    if store.database.driver.name == "postgresql":  # as its daemon does within minutes
        with store.database.session() as session:
            session.connection.execute("ANALYZE")
    store.close()
    return ids[0], ids[count // 2]


def a_stored_run(at, described, ids):
    descriptor, digested, key = described
    rare = at % 1000 == 7
    return replace(
        a_run(),
        descriptor=descriptor,
        digest=digested,
        series_key=key,
        created_s=NOW_S + at,
        placed_s=NOW_S + at,
        ended_s=NOW_S + at + 1,
        status=Status.FAILED if rare else Status.SUCCEEDED,
        owner="rare" if rare else f"person-{at % 10}",
        family_id=f"family-{at // 10}",
        parent_id=ids[0] if rare and ids else None,
    )


def queries(first, middle, runs):
    """Title -> parameters."""
    middle_s = NOW_S + runs // 2
    return {
        "none": {},
        "the oldest first": {"oldest_first": "true"},
        "a page in the middle": {"cursor": cursor_after(middle)},
        "status of most": {"status": "succeeded"},
        "status, 1 in 1,000": {"status": "failed"},
        "status of none": {"status": "cancelled"},
        "benchmark, 1 in 20": {"benchmark": "bench-7"},
        "benchmark of none": {"benchmark": "unknown"},
        "label, 1 in 2": {"label": "team=vision"},
        "label, 1 in 1,000": {"label": "rare=yes"},
        "label of none": {"label": "rare=no"},
        "commit, 1 in 1,000": {"commit": f"0303{'ab' * 18}"},
        "prefix of commits, 1 in 50": {"commit": "07"},
        "owner, 1 in 10": {"owner": "person-3"},
        "owner, 1 in 1,000": {"owner": "rare"},
        "owner of none": {"owner": "unknown"},
        "parent": {"parent": first},
        "family": {"family": f"family-{runs // 20}"},
        "metric of all": {"metric": "latency"},
        "metric, 1 in 1,000": {"metric": "rare"},
        "metric of the 20 oldest": {"metric": "oldest"},
        "metric of none": {"metric": "unknown"},
        "an hour": {"since_s": middle_s, "until_s": middle_s + 3600},
        "label, benchmark, status and an hour": {
            "label": "team=vision",
            "benchmark": "bench-7",
            "status": "succeeded",
            "since_s": middle_s,
            "until_s": middle_s + 3600,
        },
        "benchmark and owner, none in common": {"benchmark": "bench-7", "owner": "person-3"},
        "owner and metric, 1 in 1,000": {"owner": "person-0", "metric": "rare"},
    }


if __name__ == "__main__":
    main()
