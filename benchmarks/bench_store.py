"""What the store costs: CPU of a run's life, bytes of a run, listings, samples. SQLite, and PostgreSQL where it is installed.

python benchmarks/bench_store.py [--runs 10000] [--quick] [--json FILE]

Listings and reads are the best of nine calls; the others are one execution.
"""

import argparse
import math
import sqlite3
import sys
import tempfile
import time
from array import array
from contextlib import contextmanager
from pathlib import Path

import numpy  # noqa: F401, ICN001  long columns are packed by it; its import (0.1 s) is not what is measured
import psycopg
from report import Report, add_option, bar_state

from anubis.contracts.runs import RunQuery
from anubis.model.cause import Cause
from anubis.model.points import SampleBlock
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import a_descriptor, a_placement, a_point, a_run, an_event

NOW_S = 1_700_000_000.0
TEXT = '[info]\nname = "hello"\n[hardware]\ninstance_type = "local"\n[ml]\nbenchmark_code = "true"\n'
FOLDER = "/home/someone/.anubis/records"


#: Executions of one call, of which the quickest counts.
BEST_OF = 9
#: Most that a row may have, in its unit.
BARS = {
    "database per run without its points, B": 1000,
    "one metric of 1,000 samples as 500 points, ms": 2,
    "one metric of 50,000 samples as 500 points, ms": 2,
}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--quick", action="store_true", help="a fifth of the runs, SQLite alone")
    add_option(parser)
    asked = parser.parse_args()
    report = Report(quick=asked.quick)
    runs = asked.runs // 5 if asked.quick else asked.runs
    with tempfile.TemporaryDirectory() as folder:
        columns = {"SQLite": measured(f"sqlite:///{folder}/anubis.db", runs, sqlite_bytes)}
    if not asked.quick:
        with a_server() as url:
            if url:
                columns["PostgreSQL"] = measured(url, runs, postgresql_bytes)
            else:
                print("PostgreSQL: not measured, its server binaries are not installed")
    report.add(
        "store", rows_of(columns), title=f"A database of {runs:,} runs; calls are the best of {BEST_OF}"
    )
    report.save(asked.json)


def rows_of(columns):
    """One row for each title, one column for each database, the bar and whether SQLite meets it."""
    rows = [["what", "bar", *columns, "SQLite: bar"]]
    for title in columns["SQLite"]:
        values = [found[title] for found in columns.values()]
        bar = BARS.get(title)
        state = "" if bar is None else bar_state(round(values[0], 2), bar)
        rows.append([title, "" if bar is None else f"{bar:,}", *map(shown, values), state])
    return rows


def shown(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def measured(url, runs, size):
    """Title with unit -> value, of one database."""
    opened = time.perf_counter()
    store = open_store(url)
    found = {"open a new database, ms": (time.perf_counter() - opened) * 1e3}
    found |= one_life(store, 300)
    empty = size(url)
    found |= many_runs(store, runs)
    total = {name: (bytes_ - empty.get(name, 0)) / runs for name, bytes_ in size(url).items()}
    logged = sum(bytes_ for name, bytes_ in total.items() if name.startswith("points"))
    found["database per run, B"] = sum(total.values())
    found["database per run without its points, B"] = sum(total.values()) - logged
    found |= {**listings(store, runs), **sampled(store)}
    store.close()
    return found


def one_life(store, runs):
    """Each run alone: added, claimed, six steps, two renewals; the way a null run goes."""
    wall, cpu = time.perf_counter(), time.process_time()
    for i in range(runs):
        run = a_run(created_s=NOW_S + i)
        store.runs.add([(run, TEXT)], [an_event(run, "submitted", actor="a-client")])
        live(store, run, NOW_S + i, renewals=2)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {
        "a run's life (add, claim, 6 steps, 2 renewals), CPU, ms": cpu / runs * 1e3,
        "a run's life, wall, ms": wall / runs * 1e3,
    }


def live(store, run, now_s, *, renewals=0):
    (held,) = store.leases.claim("host/boot/1/2/abcd", now_s=now_s, lease_s=30, limit=1)
    assert held.id == run.id
    for _ in range(renewals):
        store.leases.renew("host/boot/1/2/abcd", [run.id], now_s=now_s, lease_s=30)
    for step in steps(held):
        held = store.leases.apply("host/boot/1/2/abcd", held, step, now_s=now_s)


def steps(run):
    folder = f"{FOLDER}/{run.id}/a1/benchmark/0"
    points = tuple(a_point(run, f"metric-{i}", 1.5 + math.sin(i), spread=0.1) for i in range(10))
    yield Step(status=Status.PLACE)
    yield Step(
        status=Status.WATCH,
        placement=a_placement(run, folder=folder, pid=4242, started="8812345"),
        events=(an_event(run, "placed", message="on engine process"),),
    )
    yield Step(status=Status.WATCH, events=(an_event(run, "running"),))
    yield Step(
        status=Status.COLLECT,
        reason="exit code 0",
        events=(an_event(run, "ended", message="exit code 0", data={"exit_code": 0}),),
    )
    yield Step(status=Status.ANALYSE, points=points)
    yield Step(status=Status.SUCCEEDED, events=(an_event(run, "final", data={"status": "succeeded"}),))


def many_runs(store, runs):
    """``runs`` finished runs of one descriptor with ten points and five events each, a few of them otherwise."""
    cpu = time.process_time()
    plain = a_descriptor("hello", labels={"team": "vision"})
    rare = a_descriptor("rare", labels={"team": "speech"})
    for start in range(0, runs, 500):
        new = [
            a_run(rare if i % 1000 == 7 else plain, created_s=NOW_S + i)
            for i in range(start, min(start + 500, runs))
        ]
        store.runs.add([(run, TEXT) for run in new], [an_event(run, "submitted", actor="me") for run in new])
        for held in store.leases.claim("host/boot/1/2/abcd", now_s=NOW_S + runs, lease_s=9e9, limit=500):
            finish(store, held)
    return {
        "a run of 500 added at a time, claimed, 2 steps, CPU, ms": (time.process_time() - cpu) / runs * 1e3
    }


def finish(store, held):
    _, placed, running, ended, measured, final = steps(held)
    failed = held.descriptor.info.name == "rare"
    step = Step(status=Status.WATCH, placement=placed.placement, events=placed.events + running.events)
    held = store.leases.apply("host/boot/1/2/abcd", held, step, now_s=held.created_s)
    last = Step(
        status=Status.FAILED if failed else Status.SUCCEEDED,
        cause=Cause.USER_ERROR if failed else None,
        reason="exit code 0",
        events=ended.events + final.events,
        points=(*measured.points, a_point(held, "rare metric")) if failed else measured.points,
    )
    store.leases.apply("host/boot/1/2/abcd", held, last, now_s=held.created_s + 1)


def listings(store, runs):
    end_s = NOW_S + runs
    found = {}
    for title, conditions in {
        "the newest 50": {},
        "by name (1 in 1000)": {"name": "rare"},
        "by label (999 in 1000)": {"labels": {"team": "vision"}},
        "by label (none)": {"labels": {"team": "nobody"}},
        "by metric (all)": {"metric": "metric-3"},
        "by metric (1 in 1000)": {"metric": "rare metric"},
        "by status (1 in 1000)": {"statuses": (Status.FAILED,)},
        "by time": {"since_s": end_s - runs / 2, "until_s": end_s - runs / 4},
        "by all of them": {
            "name": "hello",
            "labels": {"team": "vision"},
            "metric": "metric-3",
            "statuses": (Status.SUCCEEDED,),
            "since_s": NOW_S,
        },
    }.items():
        found[f"find, {title}, ms"] = best_ms(lambda c=conditions: store.runs.find(RunQuery(limit=50, **c)))
    found["find, 1000 rows, ms"] = best_ms(lambda: store.runs.find(RunQuery(limit=1000)))
    key = a_run(a_descriptor("hello", labels={"team": "vision"})).series_key
    length = len(store.points.history(key, "metric-3"))
    history_ms = best_ms(lambda: store.points.history(key, "metric-3"))
    return {**found, f"history of one series, {length:,} points, ms": history_ms}


def sampled(store):
    found = {}
    for length, series in ((1_000, 10), (50_000, 4)):
        blocks = tuple(block(f"samples-{i}", length) for i in range(series))
        runs = [a_run() for _ in range(5)]
        store.runs.add([(run, TEXT) for run in runs], [])
        held = store.leases.claim("me", now_s=9e9, lease_s=30, limit=len(runs))
        wall = time.perf_counter()
        for run in held:
            store.leases.apply("me", run, Step(status=Status.COLLECT, samples=blocks), now_s=NOW_S)
        wall = time.perf_counter() - wall
        found[f"samples stored a second, {series} metrics of {length:,}, millions"] = (
            length * series * len(runs) / wall / 1e6
        )
        found[f"one metric of {length:,} samples as 500 points, ms"] = best_ms(
            lambda run=runs[0]: store.points.samples(run.id, "samples-0", most=500)
        )
    found["summaries of 4 metrics, ms"] = best_ms(lambda: store.points.summaries(runs[0].id))
    return found


def block(metric, length):
    return SampleBlock(
        metric=metric,
        units="ms",
        values=array("d", [100 + math.sin(i * 12.9898) * 43.758 for i in range(length)]),
        times_s=array("d", [NOW_S + i * 0.013 for i in range(length)]),
        steps=array("q", range(length)),
        repeats=array("i", bytes(4 * length)),
    )


def best_ms(call):
    best = math.inf
    for _ in range(BEST_OF):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best * 1e3


def sqlite_bytes(url):
    connection = sqlite3.connect(url.removeprefix("sqlite:///"))
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    try:
        rows = connection.execute("SELECT name, sum(pgsize) FROM dbstat GROUP BY name").fetchall()
    except sqlite3.OperationalError:  # built without dbstat
        rows = [("all", connection.execute("PRAGMA page_count").fetchone()[0] * 4096)]
    connection.close()
    return dict(rows)


def postgresql_bytes(url):
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("VACUUM (FULL, ANALYZE)")
        return dict(
            connection.execute(
                "SELECT relname, pg_relation_size(oid) FROM pg_class WHERE relkind IN ('r', 'i')"
                " AND relnamespace = current_schema()::regnamespace"
            ).fetchall()
        )


@contextmanager
def a_server():
    """URL of a new PostgreSQL server with the defaults of its makers; None when it is not installed."""
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    from support.postgresql import binaries, run_as_anybody  # noqa: PLC0415  the cluster of the tests

    if not (folder := binaries()):
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="pg-", dir="/tmp") as home:
        data = f"{home}/data"
        run_as_anybody(
            home, folder / "initdb", "-D", data, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"
        )
        options = f"-c listen_addresses= -k {home}"
        run_as_anybody(home, folder / "pg_ctl", "-D", data, "-l", f"{home}/log", "-w", "-o", options, "start")
        try:
            yield f"postgresql://postgres@/postgres?host={home}"
        finally:
            run_as_anybody(home, folder / "pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")


if __name__ == "__main__":
    main()
