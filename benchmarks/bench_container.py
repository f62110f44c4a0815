"""What the engine ``container`` adds to ``podman run``: null runs in containers, and the same without Anubis.

python benchmarks/bench_container.py [--runs 20] [--image IMAGE] [--quick] [--json FILE]

Each round executes `true` in a container once by the engine, from placing the run to the observation of its end, and once
by `podman run --rm` with the same image and network. The order alternates, so that both see the same machine. The engine
removes the container after the run has ended, the tool before it returns: both times are shown.
The container tool is the one that the engine finds (ANUBIS_CONTAINER_TOOL); the image must be on this machine.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from report import Report, add_option, bar_state

from anubis.engines.container import ContainerEngine, ContainerSettings
from anubis.model.run import Seen
from anubis.pipeline.host import container_tool
from anubis.testing import a_run
from anubis.testing.contracts.engine import start

#: The most that the engine adds to the tool's own time, percent.
BAR_PERCENT = 10
NETWORK = "none"


def by_engine(engine, image):
    """Seconds from placing a run to the observation of its end, and to the end of the removal of its container."""
    run = a_run(engine=engine.name)
    started_s = time.perf_counter()
    placement = start(engine, run, ("true",), image=image)
    while engine.observe([placement])[placement.name].seen is not Seen.ENDED:
        time.sleep(0.005)  # as stage watch does
    ended_s = time.perf_counter()
    engine._tool.wait()  # noqa: SLF001  the engine does not wait for it
    return ended_s - started_s, time.perf_counter() - started_s


def by_tool(program, image):
    """Seconds of `run --rm`."""
    words = [program, "run", "--rm", "--network", NETWORK, "--pids-limit", "-1", image, "true"]
    started_s = time.perf_counter()
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    return time.perf_counter() - started_s


def in_turn(number, engine, program, image):
    """Seconds of the engine, with the removal, and of the tool; every second round begins with the tool."""
    if number % 2:
        theirs = by_tool(program, image)
        return *by_engine(engine, image), theirs
    return *by_engine(engine, image), by_tool(program, image)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=20, help="rounds")
    parser.add_argument("--image", default="docker.io/library/busybox:1.36")
    parser.add_argument("--quick", action="store_true", help="6 rounds")
    add_option(parser)
    options = parser.parse_args()
    program = container_tool.found(os.environ.get("ANUBIS_CONTAINER_TOOL", ""), os.environ["PATH"])
    known = program and subprocess.run(
        [program, "image", "inspect", options.image], check=False, capture_output=True
    )
    if not known or known.returncode:
        print(f"not measured: needs Podman or Docker, and the image {options.image}")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        engine = an_engine(Path(folder), program)
        by_engine(engine, options.image)  # builds the agent
        rows = [
            in_turn(number, engine, program, options.image)
            for number in range(6 if options.quick else options.runs)
        ]
    tell(options, Path(program).name, rows)
    return 0


def an_engine(home, program):
    folders = {"folder": home / "container", "locks": home / "process", "records": home / "records"}
    return ContainerEngine(ContainerSettings(**folders, min_free_bytes=0, tool=program, network=NETWORK))


def tell(options, tool, rows):
    ended, removed, theirs = (statistics.median(column) for column in zip(*rows, strict=True))
    added = [statistics.median((row[which] / row[2] - 1) * 100 for row in rows) for which in range(2)]
    report = Report(options.quick)
    table = [
        ["", "Median time", f"Added to {tool}", "Bar"],
        ["engine, until the end is observed", f"{ended * 1000:.0f} ms", f"{added[0]:+.0f} %", ""],
        ["engine, until the container is removed", f"{removed * 1000:.0f} ms", f"{added[1]:+.0f} %", ""],
        [f"`{tool} run --rm`", f"{theirs * 1000:.0f} ms", "", ""],
    ]
    table[1][-1] = f"{BAR_PERCENT} %: {bar_state(added[0], BAR_PERCENT)}"
    report.add("null_runs", table, title=f"Null runs in containers, {len(rows)} rounds")
    report.save(options.json)


if __name__ == "__main__":
    sys.exit(main())
