"""What a sweep costs: 1,000 null cells by `anubis sweep run`, the whole process, and where its CPU time goes.

python benchmarks/bench_sweep.py [--cells 1000] [--slots N] [--profile] [--quick] [--json FILE]

Every cell executes `true` once. Wall time includes the start of the program, the plan, the store, an agent for each cell, points and
table. CPU time is that of the command with the agents that it started. --slots is the number of cells measured at the same time (by
default one for each CPU). --profile prints the functions of the main process in which most time is spent.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from report import Report, add_option, bar_state
from spending import spend

#: The most milliseconds of wall time for one of 1,000 cells on two cores.
BAR_MS = 60
DESCRIPTOR = """\
[info]
name = "null"
[ml]
benchmark_code = "true"
[matrix]
"env.vars.CELL" = {{ from = 1, to = {cells}, step = 1 }}
"""


def main() -> None:
    asked = arguments()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "null.toml").write_text(DESCRIPTOR.format(cells=asked.cells))
        command = [Path(sys.executable).with_name("anubis"), "sweep", "run", "null.toml"]
        home = {"ANUBIS_HOME": str(folder / "home"), "ANUBIS_PROCESS_SLOTS": str(asked.slots)}
        one = spend(command, folder=folder, environment=home)
        if f"{asked.cells} of {asked.cells} cells ended" not in one.output:
            raise SystemExit(one.output[-2000:])
        if asked.profile:
            profile(folder, asked)
    report = Report(quick=asked.quick)
    cells = asked.cells
    wall_ms, cpu_ms = 1000 * one.wall_s / cells, 1000 * one.cpu_s / cells
    rows = [
        ["Cells", "Slots", "Wall time", "Wall time per cell", "CPU time per cell", "Bar: wall ms per cell"],
        [
            f"{cells:,}",
            str(asked.slots),
            f"{one.wall_s:.1f} s",
            f"{wall_ms:.1f} ms",
            f"{cpu_ms:.1f} ms",
            f"{BAR_MS}: {bar_state(wall_ms, BAR_MS)}",
        ],
    ]
    report.add("sweep", rows, title="A sweep of null cells")
    report.save(asked.json)


def profile(folder, asked):
    """Print the functions of the main process with the most time outside of the functions that they call."""
    environment = {
        **os.environ,
        "ANUBIS_HOME": str(folder / "profiled"),
        "ANUBIS_PROCESS_SLOTS": str(asked.slots),
    }
    words = ["-m", "cProfile", "-s", "tottime", "-m", "anubis", "sweep", "run", "null.toml"]
    ended = subprocess.run(
        [sys.executable, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    start = ended.stdout.index("function calls")
    print("\n".join(ended.stdout[start:].splitlines()[:30]))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=os.cpu_count())
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--quick", action="store_true", help="100 cells, for every commit")
    add_option(parser)
    asked = parser.parse_args()
    asked.cells = 100 if asked.quick else asked.cells
    return asked


if __name__ == "__main__":
    main()
