"""How long a search in the output of all runs takes, with the index and without it. SQLite, records in a folder.

python benchmarks/bench_search.py [--lines 10000000] [--quick] [--json FILE]

The output is that of trainings: steps, losses and rates, with an identifier that differs in every line. The files were written
just before, so that they are in the page cache. Each search is one page of up to 100 lines.
"""

import argparse
import random
import statistics
import tempfile
import time
from pathlib import Path

from report import Report, add_option, bar_state

from anubis.contracts.records import RecordKey
from anubis.model.status import Status
from anubis.search.indexing import chunks_of
from anubis.search.query import LogQuery
from anubis.search.searching import Searcher
from anubis.store import FolderRecords, open_store
from anubis.testing import a_run
from anubis.testing.builders import NOW_S
from anubis.wiring import WallClock

LINES_PER_RUN = 10_000
#: Longest search, 99th percentile, milliseconds.
BAR_MS = 300
SEARCHES = 100
REGEX_SEARCHES = 50


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--lines", type=int, default=10_000_000)
    parser.add_argument("--quick", action="store_true", help="a fiftieth of the lines")
    add_option(parser)
    asked = parser.parse_args()
    lines = asked.lines // 50 if asked.quick else asked.lines
    report = Report(quick=asked.quick)
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(Path(folder), lines // LINES_PER_RUN)
    report.add("search", rows, title=f"A search in {lines:,} lines")
    report.save(asked.json)


def measured(folder, runs):
    store, records = open_store(f"sqlite:///{folder}/anubis.db"), FolderRecords(folder / "records")
    searcher = Searcher(store.runs, records, store.log_index, WallClock())
    random.seed(1)
    ids, size = [], 0
    for at in range(runs):
        run = a_run(status=Status.SUCCEEDED, created_s=NOW_S + at, placed_s=NOW_S + at)
        text = output(at)
        store.runs.add_finished([(run, "text")], [])
        records.append(RecordKey(run.id, 1), "stdout", 0, text)
        ids.append(run.id)
        size += len(text)
    rows = [["what", "median", "99 %", "bar", "state"]]

    def row(title, patterns, *, bar=BAR_MS, **options):
        times_ms = sorted(timed(searcher, pattern, **options) for pattern in patterns)
        last = times_ms[min(len(times_ms) - 1, int(len(times_ms) * 0.99))]
        state = bar_state(last, bar) if bar else ""
        rows.append(
            [
                title,
                f"{statistics.median(times_ms):.0f} ms",
                f"{last:.0f} ms",
                f"{bar} ms" if bar else "",
                state,
            ]
        )

    anywhere = [(random.randrange(runs), random.randrange(LINES_PER_RUN)) for _ in range(SEARCHES)]
    row("without an index: an identifier of one line", [identifier(*place) for place in anywhere[:2]], bar=0)
    begun = time.perf_counter()
    for run_id in ids:
        store.log_index.put({run_id: chunks_of(records, run_id)})
    indexed_s = time.perf_counter() - begun
    row("an identifier of one line", [identifier(*place) for place in anywhere])
    row("the same, without case", [identifier(*place).upper() for place in anywhere], ignore_case=True)
    row("a text that no line has", [f"CUDA error {number}" for number in range(SEARCHES)])
    row("a text of every tenth line", ["lr=0.001 "] * SEARCHES)
    row(
        "a regular expression around an identifier",
        [f"^step.*{identifier(*place)}$" for place in anywhere[:REGEX_SEARCHES]],
        regex=True,
    )
    megabytes = size / 1e6
    database = sum(path.stat().st_size for path in folder.glob("anubis.db*")) / 1e6
    rows.append(["to index all lines", f"{indexed_s:.0f} s", f"{megabytes / indexed_s:.0f} MB/s", "", ""])
    rows.append(
        ["database with the index", f"{database:.0f} MB", f"{database / megabytes:.1%} of the output", "", ""]
    )
    store.close()
    return rows


def identifier(run, line):
    return f"{(run * LINES_PER_RUN + line) * 2654435761 % (1 << 40):010x}"


def output(run):
    return "".join(
        f"step {line} loss={1 / (line + 1):.6f} rate={1000 + line % 97}/s lr=0.00{line % 10} id={identifier(run, line)}\n"
        for line in range(LINES_PER_RUN)
    ).encode()


def timed(searcher, pattern, **options):
    """Milliseconds of one search, to its end or to a full page."""
    begun = time.perf_counter()
    page = searcher.page(LogQuery(pattern=pattern, **options))
    while page.next and len(page.lines) < 100:
        page = searcher.page(LogQuery(pattern=pattern, after=page.next, **options))
    return (time.perf_counter() - begun) * 1e3


if __name__ == "__main__":
    main()
