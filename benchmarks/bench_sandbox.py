"""What the sandbox of the engine ``process`` costs: null runs in it, and the same without it.

python benchmarks/bench_sandbox.py [--runs 40] [--quick] [--json FILE]

Each round places a run of `true` with and without the sandbox, in alternating order, and waits until the end is observed.
``wall_time`` is what the agent measured of `true` itself.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from report import Report, add_option

from anubis.engines.process import ProcessEngine, ProcessSettings
from anubis.model.run import Seen
from anubis.pipeline.host import sandbox
from anubis.testing import a_run
from anubis.testing.contracts.engine import start


def null_run(engine):
    """Seconds from placing a run to the observation of its end, and the seconds that the agent measured."""
    run = a_run(engine=engine.name)
    started_s = time.perf_counter()
    placement = start(engine, run, ("true",))
    while engine.observe([placement])[placement.name].seen is not Seen.ENDED:
        time.sleep(0.001)
    ended_s = time.perf_counter()
    result = json.loads(Path(placement.details["record"], "exit.json").read_bytes())
    if result["code"] != 0:
        raise SystemExit(result["reason"])
    return ended_s - started_s, result["executions"][0]["wall_s"]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=40, help="rounds")
    parser.add_argument("--quick", action="store_true", help="10 rounds")
    add_option(parser)
    options = parser.parse_args()
    if reason := sandbox.why_not():
        print(f"not measured: {reason}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        engines = [an_engine(Path(folder), sandboxed=sandboxed) for sandboxed in (False, True)]
        for engine in engines:
            null_run(engine)
        rows = []
        for number in range(10 if options.quick else options.runs):
            order = (0, 1) if number % 2 == 0 else (1, 0)
            got = {which: null_run(engines[which]) for which in order}
            rows.append((*got[0], *got[1]))
    tell(options, rows)
    return 0


def an_engine(home, *, sandboxed):
    folders = {"folder": home / "process", "records": home / "records"}
    return ProcessEngine(ProcessSettings(**folders, min_free_bytes=0, sandboxed=sandboxed, slots=2))


def tell(options, rows):
    plain, plain_wall, boxed, boxed_wall = (statistics.median(column) for column in zip(*rows, strict=True))
    report = Report(options.quick)
    table = [
        ["", "Without", "In the sandbox", "Ratio"],
        ["null run, until its end is observed", ms(plain), ms(boxed), f"{boxed / plain:.2f}"],
        ["`wall_time` of `true`", ms(plain_wall), ms(boxed_wall), f"{boxed_wall / plain_wall:.2f}"],
    ]
    report.add("null_runs", table, title=f"Null runs of the engine process, {len(rows)} rounds")
    report.save(options.json)


def ms(seconds):
    return f"{seconds * 1000:.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
