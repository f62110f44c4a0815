"""What the engine ``container`` adds to ``podman run``: null runs in containers, and the same without Anubis.

python benchmarks/bench_container.py [--runs 20] [--image IMAGE] [--quick] [--json FILE]

Each round executes `true` in a container by the engine and by the tool, with the same image and network. The order
alternates, so that both see the same machine. From placing a run to the observation of its end the engine is compared with
`podman run`, and to the removal of the container with `podman run --rm`.
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


def by_tool(program, image, *, removes):
    """Seconds of `run`, with the removal of the container if it ``removes`` it."""
    name = f"anubis-bench-{os.getpid()}"
    options = ["--rm"] if removes else ["--name", name]
    words = [program, "run", *options, "--network", NETWORK, "--pids-limit", "-1", image, "true"]
    started_s = time.perf_counter()
    subprocess.run(words, check=True, stdin=subprocess.DEVNULL)
    ended_s = time.perf_counter()
    if not removes:
        subprocess.run([program, "rm", name], check=True, stdout=subprocess.DEVNULL)
    return ended_s - started_s


def in_turn(number, engine, program, image):
    """Seconds of the engine and of the tool, each without and with the removal; every second round begins with the tool."""
    ways = [
        lambda: by_engine(engine, image),
        lambda: (by_tool(program, image, removes=False), by_tool(program, image, removes=True)),
    ]
    if number % 2 == 0:
        return *ways[0](), *ways[1]()
    theirs = ways[1]()
    return *ways[0](), *theirs


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
    ended, removed, run, run_rm = (statistics.median(column) for column in zip(*rows, strict=True))
    added = [statistics.median((row[which] / row[which + 2] - 1) * 100 for row in rows) for which in range(2)]
    report = Report(options.quick)
    table = [
        ["", "Median time", "Added by the engine", "Bar"],
        [f"`{tool} run`", f"{run * 1000:.0f} ms", "", ""],
        ["engine, until the end is observed", f"{ended * 1000:.0f} ms", f"{added[0]:+.0f} %", ""],
        [f"`{tool} run --rm`", f"{run_rm * 1000:.0f} ms", "", ""],
        ["engine, until the container is removed", f"{removed * 1000:.0f} ms", f"{added[1]:+.0f} %", ""],
    ]
    table[2][-1] = f"{BAR_PERCENT} %: {bar_state(added[0], BAR_PERCENT)}"
    report.add("null_runs", table, title=f"Null runs in containers, {len(rows)} rounds")
    report.save(options.json)


if __name__ == "__main__":
    sys.exit(main())
