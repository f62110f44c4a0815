"""What a run costs beyond what it measures: sweeps of null runs, and the same with ReFrame, asv and Hydra.

python benchmarks/bench_null_run.py [--runs 100] [--rounds 5] [--peers-venv DIR] [--quick] [--json FILE]

Ours: one descriptor whose [matrix] has --runs cells, each executing `true` once, by `anubis run` as a whole process: start of
the program, descriptor, store, an agent for each run, record, points, table. ReFrame: as many `echo` tests with sanity
and performance check. asv: as many track benchmarks, `run --quick` in its existing environment. Hydra: a multirun of as many
functions that return at once, in one process, which isolates nothing. Each round runs all of them once, in turn.
"Anubis, with history": in a home where every series has points enough for a search for changes (and numpy is loaded for it).
"an interpreter": as many starts of `python -I -S -c pass`, which says how fast the machine is just now.
--peers-venv names a folder for the virtual environment of the peers; it is made, with pip, when absent. Without it they are named as absent.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from peerenv import python_with, version_in
from report import Report, add_option, bar_state
from spending import median_of, spend

PEERS = {"ReFrame": "reframe-hpc", "asv": "asv", "Hydra": "hydra-core"}
#: What is measured of each.
MEASURED = {
    "ReFrame": "`echo` tests with sanity and performance check",
    "asv": "track benchmarks, `run --quick`, existing environment",
    "Hydra": "multirun in one process, no isolation",
}
#: The least factor between the CPU time of the cheapest other tool and ours.
BAR_CPU = 3
#: The most milliseconds of wall time.
BAR_WALL_MS = 60
#: Sweeps that make a history: two more than the fewest points a search for changes looks at.
EARLIER = 8
DESCRIPTOR = """\
spec_version = "1.0"
[info]
name = "null"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
[matrix]
"env.vars.CELL" = {{ from = 1, to = {runs}, step = 1 }}
"""
REFRAME = """\
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Null(rfm.RunOnlyRegressionTest):
    cell = parameter(range({runs}))
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["value=1"]

    @sanity_function
    def validate(self):
        return sn.assert_found("value", self.stdout)

    @performance_function("1")
    def value(self):
        return sn.extractsingle(r"value=(\\d+)", self.stdout, 1, int)
"""
ASV_CONFIGURATION = (
    '{"version": 1, "project": "null", "repo": ".", "branches": ["HEAD"], "environment_type": "existing"}\n'
)
HYDRA = """\
import hydra
from omegaconf import DictConfig

@hydra.main(version_base=None, config_name=None)
def null(cell: DictConfig) -> None:
    pass

null()
"""


def main() -> None:
    asked = arguments()
    report = Report(quick=asked.quick)
    with tempfile.TemporaryDirectory() as place:
        contenders = {"Anubis": anubis(Path(place, "anubis"), asked.runs)}
        if not asked.quick:
            contenders["Anubis, with history"] = anubis(Path(place, "history"), asked.runs)
            for _ in range(EARLIER):
                contenders["Anubis, with history"]()
        contenders["an interpreter"] = interpreters(asked.runs)
        python = python_with(asked.peers_venv, "null-run", *PEERS.values())
        if python:
            for name, prepare in {"ReFrame": reframe, "asv": asv, "Hydra": hydra}.items():
                shown = f"{name} {version_in(python, PEERS[name])}, {MEASURED[name]}"
                contenders[shown] = prepare(Path(place, name), asked.runs, python)
        spent = {name: [] for name in contenders}
        for number in range(asked.rounds + 1):
            for name, once in contenders.items():
                one = once()
                if number:  # the first makes homes, machine files and compiled modules
                    spent[name].append(one)
    title = "Null runs, median (minimum to maximum)"
    report.add("null_run", rows_of(spent, asked.runs), title=title)
    if python is None:
        print(f"not measured (--peers-venv): {', '.join(PEERS)}")
    report.save(asked.json)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100, help="null runs in each sweep")
    parser.add_argument("--rounds", type=int, default=5, help="sweeps of each, after one to warm up")
    parser.add_argument("--peers-venv", type=Path, metavar="DIR")
    parser.add_argument(
        "--quick", action="store_true", help="a fifth of the runs, one round, for every commit"
    )
    add_option(parser)
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds, asked.runs = 1, asked.runs // 5
    return asked


def anubis(folder, runs):
    folder.mkdir()
    (folder / "null.toml").write_text(DESCRIPTOR.format(runs=runs))
    command = [Path(sys.executable).with_name("anubis"), "run", "null.toml"]
    home = {"ANUBIS_HOME": str(folder / "home")}
    return lambda: counted(spend(command, folder=folder, environment=home), "succeeded", runs)


def interpreters(runs):
    line = f"for i in $(seq {runs}); do {sys.executable} -I -S -c pass; done"
    return lambda: spend(["sh", "-c", line])


def counted(one, word, runs):
    """The same, after a look that each of them really took place."""
    found = one.output.count(word)
    if found < runs:
        raise SystemExit(f"{found} of {runs} took place:\n{one.output[-2000:]}")
    return one


def reframe(folder, runs, python):
    folder.mkdir()
    (folder / "null.py").write_text(REFRAME.format(runs=runs))
    command = [python.with_name("reframe"), "--prefix", folder, "-c", folder / "null.py", "-r", "--nocolor"]
    return lambda: counted(
        spend(command, folder=folder, environment={"HOME": str(folder)}), "[       OK ]", runs
    )


def asv(folder, runs, python):
    (folder / "benchmarks").mkdir(parents=True)
    (folder / "asv.conf.json").write_text(ASV_CONFIGURATION)
    (folder / "benchmarks" / "__init__.py").touch()
    tracks = "\n\n".join(f"def track_{cell}():\n    return 1" for cell in range(runs))
    (folder / "benchmarks" / "null.py").write_text(tracks + "\n")
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    for words in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "null"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    home = {"HOME": str(folder)}
    subprocess.run(
        [python, "-m", "asv", "machine", "--yes"],
        cwd=folder,
        check=True,
        env={**os.environ, **home},
        stdout=subprocess.DEVNULL,
    )
    hash_ = subprocess.check_output(["git", "rev-parse", "HEAD"], cwd=folder, text=True).strip()
    command = [python, "-m", "asv", "run", "--quick", "-E", "existing", "--set-commit-hash", hash_]
    return lambda: counted(spend(command, folder=folder, environment=home), "null.track_", runs)


def hydra(folder, runs, python):
    folder.mkdir()
    (folder / "null.py").write_text(HYDRA)
    command = [python, "null.py", "--multirun", f"+cell=range({runs})"]
    return lambda: counted(spend(command, folder=folder), "+cell=", runs)


def rows_of(spent, runs) -> list[list[str]]:
    """The rows of the table; the bars are those of Anubis against the cheapest peer, and its wall time."""
    ours = {what: per_run(spent["Anubis"], runs, what) for what in ("cpu_s", "wall_s")}
    rows = [
        [
            f"ms for each run, {len(spent['Anubis'])} sweeps of {runs}",
            "CPU",
            "wall",
            "CPU / ours",
            "wall / ours",
        ]
    ]
    cheapest = math.inf
    for name, sweeps in spent.items():
        cells, ratios = [], []
        for what in ("cpu_s", "wall_s"):
            values = per_run(sweeps, runs, what)
            cells.append(median_of(values))
            ratios.append(statistics.median(t / o for t, o in zip(values, ours[what], strict=True)))
        rows.append([name, *cells, *("" if name == "Anubis" else f"{ratio:.2f}" for ratio in ratios)])
        if name.startswith(tuple(PEERS)):
            cheapest = min(cheapest, ratios[0])
    wall_ms = statistics.median(ours["wall_s"])
    rows.append(
        ["*bar: wall time of Anubis*", "", f"{BAR_WALL_MS}: {bar_state(wall_ms, BAR_WALL_MS)}", "", ""]
    )
    if cheapest < math.inf:
        state = bar_state(BAR_CPU, cheapest)
        rows.append(
            [
                f"*bar: the cheapest other tool takes {BAR_CPU} times the CPU*",
                "",
                "",
                f"{cheapest:.2f}: {state}",
                "",
            ]
        )
    last = spent["Anubis"][-1]
    if last.group_cpu_s is not None:
        shares = f"{1e3 * last.cpu_s / runs:.1f} and {1e3 * last.group_cpu_s / runs:.1f}"
        rows.append(
            ["*check: last sweep of Anubis, CPU by processes and by the control group*", shares, "", "", ""]
        )
    return rows


def per_run(sweeps, runs, what) -> list[float]:
    return [getattr(one, what) / runs * 1e3 for one in sweeps]


if __name__ == "__main__":
    main()
