"""How often an A/A control is false because the two copies of a program have paths of different length.

python benchmarks/bench_bias.py [--controls 20] [--rounds 10] [--quick] [--json FILE]

The program (layout/stack.c) writes across cache lines at one of four alignments of its stack, which depends on the size of
its path, arguments and environment. It runs without the randomisation of addresses (setarch -R), which hides this
effect of the stack; a heap keeps it. Each control compares two copies of the program in alternating order: with the
environment as it is, and with the padding of the agent, whose size is random.
"""

import argparse
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from report import Report, add_option

from anubis.agent.execute.padding import PAGE_BYTES, padded
from anubis.analysis.samples.compare import compare
from anubis.analysis.samples.false_rate import false_rate
from anubis.model.verdict import Judgement

SOURCE = Path(__file__).parent / "layout" / "stack.c"
FALSE = {Judgement.REGRESSED, Judgement.IMPROVED, Judgement.CHANGED}
#: Lengths of the names of the folders. The path is copied twice, so the difference moves the stack by half a cache line.
LENGTHS = (8, 24)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--controls", type=int, default=20)
    options.add_argument("--rounds", type=int, default=10)
    options.add_argument("--writes", type=int, default=2_000_000, help="per execution, times 64")
    options.add_argument("--quick", action="store_true")
    add_option(options)
    given = options.parse_args()
    if not shutil.which("setarch") or not shutil.which("cc"):
        sys.exit("setarch (util-linux) and cc are needed")
    report = Report(quick=given.quick)
    controls, writes = (3, 200_000) if given.quick else (given.controls, given.writes)
    with tempfile.TemporaryDirectory() as folder:
        programs = [built(Path(folder, "x" * length)) for length in LENGTHS]
        rows = [["environment", "controls", "false", "95 % interval", "largest effect"]]
        for name, is_padded in (("as it is", False), ("padded to a random size", True)):
            effects = [control(programs, given.rounds, writes, is_padded=is_padded) for _ in range(controls)]
            found = false_rate(sum(is_false for _, is_false in effects), controls)
            low, high = found.interval
            largest = max(abs(effect) for effect, _ in effects)
            interval = f"{low:.0%} to {high:.0%}"
            rows.append([name, str(controls), str(found.false), interval, f"{largest:.1%}"])
    report.add("controls", rows, title="Controls of two copies of a program")
    report.save(given.json)


def built(folder: Path) -> Path:
    """The program, in this folder."""
    folder.mkdir()
    program = folder / "stack"
    subprocess.run(["cc", "-O1", "-o", program, SOURCE], check=True)
    return program


def control(programs: list[Path], rounds: int, writes: int, *, is_padded: bool) -> tuple[float, bool]:
    """The effect that a control finds between the copies, and whether it counts as a change."""
    sides: tuple[list[float], list[float]] = [], []
    filling = "y" * random.randrange(
        64
    )  # as large as the environment of this user, host and day happens to be
    for number in range(rounds):
        for side in (0, 1) if number % 2 == 0 else (1, 0):
            sides[side].append(nanoseconds(programs[side], writes, filling, is_padded=is_padded))
    pairs = [(at, at) for at in range(rounds)]
    order = [at % 2 == 0 for at in range(rounds)]
    verdict = compare("write", *sides, better="lower", pairs=pairs, contender_second=order)
    return verdict.effect or math.nan, verdict.judgement in FALSE


def nanoseconds(program: Path, writes: int, filling: str, *, is_padded: bool) -> float:
    """The time of one write in one execution."""
    command = ["setarch", "-R", str(program), str(writes)]
    environment = {"PATH": os.environ["PATH"], "FILLING": filling}
    if is_padded:
        offset = random.randrange(0, PAGE_BYTES, 16)
        environment = padded(shutil.which(command[0]) or "", command, environment, offset)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout.split("write=")[1])


if __name__ == "__main__":
    main()
