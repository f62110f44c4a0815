"""What schedules cost: CPU of an idle worker, and how late runs are submitted by five workers. SQLite.

python benchmarks/bench_schedules.py [--schedules 10000] [--quick] [--json FILE]

The workers are processes of "anubis worker --schedules". The schedules are hourly, spread over the minutes of an hour; those of the
next full minute are due together. CPU times are those of the processes, so other load changes only the lateness.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from report import Report, add_option, bar_state

from anubis.contracts.runs import RunQuery
from anubis.contracts.schedules import DueState
from anubis.describe import due_after
from anubis.settings import Settings
from anubis.store import open_store
from anubis.store.schedules.rows import schedule_values
from anubis.store.text import packed
from anubis.testing.contracts.schedules import a_schedule
from anubis.wiring import build

WORKERS = 5
#: Longest time to store one schedule, seconds.
STORED_S = 0.002
#: Time in which workers start, seconds.
SETTLE_S = 15.0
TEXT = """spec_version = "1.0"
[info]
name = "hourly"
scheduling = "{minute} * * * *"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
"""
#: Most that a row may have, in its unit.
BARS = {"CPU of an idle worker, % of a core": 1.0, "latest of the runs after its due time, s": 1.0}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--schedules", type=int, default=10_000)
    parser.add_argument(
        "--quick", action="store_true", help="a tenth of the schedules, and a shorter idle time"
    )
    add_option(parser)
    asked = parser.parse_args()
    count = asked.schedules // 10 if asked.quick else asked.schedules
    report = Report(quick=asked.quick)
    # Agents of runs in progress may still write while the folder is deleted.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        values = measured(Path(folder), count, idle_s=10.0 if asked.quick else 60.0)
    rows = [
        [
            name,
            f"{value:.3g}",
            *([f"{BARS[name]:g}", bar_state(value, BARS[name])] if name in BARS else ["", ""]),
        ]
        for name, value in values.items()
    ]
    report.add(
        "schedules",
        [["", "value", "bar", ""], *rows],
        title=f"{count:,} schedules, {WORKERS} workers",
    )
    report.save(asked.json)


def measured(home, count, *, idle_s):
    environment = {**os.environ, "ANUBIS_HOME": str(home)}
    build(Settings.from_env(environment)).close()
    store = open_store(f"sqlite:///{home}/anubis.db")
    first_s = add_schedules(store, home, count, idle_s)
    workers = [
        subprocess.Popen([sys.executable, "-m", "anubis", "worker", "--schedules"], env=environment)
        for _ in range(WORKERS)
    ]
    try:
        time.sleep(SETTLE_S)
        spent_s = [cpu_s(worker.pid) for worker in workers]
        time.sleep(idle_s)
        idle = max(cpu_s(worker.pid) - before_s for worker, before_s in zip(workers, spent_s, strict=True))
        due = [each for each in store.schedules.find() if each.next_s == first_s]
        while time.time() < first_s + 1.0 or any(
            store.schedules.get(each.id).next_s == first_s for each in due
        ):
            time.sleep(1.0)
    finally:
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
        for worker in workers:
            worker.wait()
    return {
        "CPU of an idle worker, % of a core": 100.0 * idle / idle_s,
        "runs that were due together": len(due),
        **lateness(store, due, first_s),
    }


def add_schedules(store, home, count, idle_s):
    """Hourly schedules, the first of them due at a full minute after the idle time; returns that minute."""
    started_s = time.time()
    # Due after all are stored, the workers have started and the idle time has passed.
    margin_s = 2 * SETTLE_S + idle_s + count * STORED_S
    first_s = (started_s + margin_s) // 60 * 60 + 60
    rows = []
    for number in range(count):
        minute = int(first_s // 60 + number) % 60
        schedule = a_schedule(
            f"s{number}", scheduling=f"{minute} * * * *", folder=str(home), file="hourly.toml"
        )
        next_s = due_after(schedule.scheduling, "UTC", first_s - 1)
        text = packed(TEXT.format(minute=minute))
        rows.append({**schedule_values(replace(schedule, next_s=next_s, ready_s=next_s)), "text": text})
    store.database.transact(lambda session: [session.rows("add_schedule", **row) for row in rows])
    print(f"{count} schedules were stored in {time.time() - started_s:.1f} s", file=sys.stderr)
    return first_s


def lateness(store, due, first_s):
    """Statistics of the times between the due time and the submission of the runs."""
    late_s, runs = [], 0
    for schedule in due:
        rows = store.runs.find(RunQuery(parent_id=schedule.id))
        [noted] = store.schedules.due_times(schedule.id, limit=10)
        assert noted.state is DueState.STARTED, noted
        assert len(rows) == 1, "none twice, none lost"
        late_s.append(rows[0].created_s - first_s)
        runs += len(rows)
    late_s.sort()
    return {
        "median of the runs after its due time, s": late_s[runs // 2],
        "latest of the runs after its due time, s": late_s[-1],
    }


def cpu_s(pid):
    """User and system time of a process, seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
