"""What a Slurm array of null runs costs: calls of Slurm's programs, and the time beyond that of Slurm.

python benchmarks/bench_slurm.py [--runs 200] [--quick] [--json FILE]

The runs execute `true`. They are placed and observed by the engine `slurm` as a driver does, and submitted as one array. Then
`anubis sweep run` measures as many cells, at most eight at the same time. Then
`sbatch` executes an array of as many elements with `true` alone, whose end is read from files that the elements write. Each call of
sbatch, squeue, sacct and scancel is counted by a wrapper in front of the program. Needs a cluster (SLURM_CONF, or the default), and a home folder
that its nodes share (`--folder`). Without a cluster, nothing is measured.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from report import Report, add_option, bar_state

from anubis.engines.slurm import SlurmEngine, SlurmSettings
from anubis.model.run import Seen
from anubis.testing import a_run
from anubis.testing.contracts.engine import start

#: The most calls in any second.
BAR_CALLS = 2
PROGRAMS = ("sbatch", "squeue", "sacct", "scancel")


SWEEP = """
spec_version = "1.0"
[info]
name = "null"
execution_engine = "slurm"
[hardware]
instance_type = "local"
cpus = 1
[ml]
benchmark_code = "true"
[matrix]
"env.vars.N" = {{ from = 1, to = {count}, step = 1 }}
[sweep]
max_parallel = 8
"""


def counting(folder):
    """Put wrappers in front of Slurm's programs; returns the file that gets a line for each call."""
    calls = folder / "calls"
    calls.touch()
    (folder / "bin").mkdir()
    for program in PROGRAMS:
        wrapper = folder / "bin" / program
        wrapper.write_text(
            f'#!/bin/sh\necho "{program} $(date +%s.%N)" >> {calls}\nexec {shutil.which(program)} "$@"\n'
        )
        wrapper.chmod(0o755)
    os.environ["PATH"] = f"{folder}/bin:{os.environ['PATH']}"
    return calls


def by_engine(folder, count):
    """Seconds from the first placement to the observation of the last end, and CPU seconds of this process."""
    settings = SlurmSettings(
        folder=folder / "slurm", records=folder / "records", min_free_bytes=0, gather_s=1.0
    )
    engine = SlurmEngine(settings)
    started_s, cpu_s = time.perf_counter(), time.process_time()
    open_ = {}
    for _ in range(count):
        placement = start(engine, a_run(engine="slurm"), ("true",), cpus=1)
        open_[placement.name] = placement
    while open_:
        for name, seen in engine.observe(list(open_.values())).items():
            if seen.seen in {Seen.ENDED, Seen.LOST}:
                assert seen.exit_code == 0, seen
                del open_[name]
        time.sleep(0.25)  # as the driver does
    return time.perf_counter() - started_s, time.process_time() - cpu_s


def by_sweep(folder, count):
    """Seconds of `anubis sweep run`, with everything that it stores and prints."""
    (folder / "sweep.toml").write_text(SWEEP.format(count=count))
    command = [shutil.which("anubis", path=str(Path(sys.executable).parent)), "sweep", "run", "sweep.toml"]
    environment = os.environ | {"ANUBIS_HOME": str(folder / "home"), "ANUBIS_SLURM_GATHER_S": "2"}
    started_s = time.perf_counter()
    subprocess.run(command, cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started_s


def by_slurm(folder, count):
    """Seconds of an array of `true`, from its submission to the last end."""
    ends = folder / "ends"
    ends.mkdir()
    script = f"#!/bin/sh\ntrue\ntouch {ends}/$SLURM_ARRAY_TASK_ID\n"
    words = ["sbatch", "--parsable", "--cpus-per-task=1", f"--array=0-{count - 1}", "--output=/dev/null"]
    started_s = time.perf_counter()
    subprocess.run(words, input=script, text=True, check=True, capture_output=True)
    while len(list(ends.iterdir())) < count:
        time.sleep(0.05)
    return time.perf_counter() - started_s


def most_in_a_second(lines):
    """The largest number of calls that started within one second."""
    times = sorted(float(line.split()[1]) for line in lines)
    return max(sum(at <= each < at + 1 for each in times) for at in times)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--folder", default=None, help="where to create a folder that the nodes share")
    parser.add_argument("--quick", action="store_true", help="20 runs")
    add_option(parser)
    options = parser.parse_args()
    if not shutil.which("sbatch") or subprocess.run(["sinfo"], check=False, capture_output=True).returncode:
        print("not measured: needs a Slurm cluster")
        return 0
    count = 20 if options.quick else options.runs
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        calls = counting(folder)
        ours_s, cpu_s = by_engine(folder, count)
        lines = calls.read_text().splitlines()
        calls.write_text("")
        sweep_s = by_sweep(folder, count)
        of_sweep = calls.read_text().splitlines()
        theirs_s = by_slurm(folder, count)
    report = Report(options.quick)
    tell(report, count, lines, ours_s, cpu_s, theirs_s)
    tell_sweep(report, count, of_sweep, sweep_s)
    report.save(options.json)
    return 0


def counted(lines):
    """How often each program was called."""
    each = Counter(line.split()[0] for line in lines)
    return ", ".join(f"{number} {program}" for program, number in sorted(each.items()))


def tell_sweep(report, count, lines, seconds):
    most = most_in_a_second(lines)
    table = [
        ["", "Measured", "Bar"],
        ["calls of Slurm's programs", counted(lines), "1 sbatch"],
        ["most calls in a second", str(most), f"{BAR_CALLS}: {bar_state(most, BAR_CALLS)}"],
        ["time of the command", f"{seconds:.1f} s", ""],
    ]
    report.add("sweep", table, title=f"anubis sweep run, {count} null cells, 8 at the same time")


def tell(report, count, lines, ours_s, cpu_s, theirs_s):
    most = most_in_a_second(lines)
    table = [
        ["", "Measured", "Bar"],
        ["calls of Slurm's programs", counted(lines), "1 sbatch"],
        ["most calls in a second", str(most), f"{BAR_CALLS}: {bar_state(most, BAR_CALLS)}"],
        ["time until all ends are known", f"{ours_s:.1f} s", ""],
        ["CPU time of the driver", f"{cpu_s * 1000 / count:.1f} ms a run", ""],
        [f"`sbatch --array=0-{count - 1}` of `true`", f"{theirs_s:.1f} s", ""],
    ]
    report.add("null_runs", table, title=f"{count} null runs as one array")


if __name__ == "__main__":
    sys.exit(main())
