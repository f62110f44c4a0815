"""How long a static site of a whole history takes, beside ``asv publish`` of the same results. Wall and CPU time of the commands.

python benchmarks/bench_site.py [--commits 200] [--benchmarks 100] [--rounds 3] [--quick] [--peers-venv DIR] [--json FILE]

Both read the same asv results: Anubis after an import, asv from its folder, with a git repository of as many commits. Every
round removes the sites and writes them again. Both search for changes of level. "again" is a second call without new results.
"""

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from peerenv import python_with, version_in
from report import Report, add_option, bar_state
from spending import median_of, spend

#: Longest time of a site of 200 commits and 100 benchmarks, seconds.
BAR_S = 2.0
ENVIRONMENT = "existing-py_usr_bin_python"
ANUBIS = Path(sys.executable).with_name("anubis")


def main():
    asked = arguments()
    python = python_with(asked.peers_venv, "site", "asv", "virtualenv")
    report = Report(quick=asked.quick)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        results(folder, asked.commits, asked.benchmarks)
        home = {"ANUBIS_HOME": str(folder / "home")}
        spend([ANUBIS, "import", "asv", folder / "results"], environment=home)
        commands = {
            "anubis export site": ([ANUBIS, "export", "site", folder / "site"], home, folder / "site"),
            "the same again": ([ANUBIS, "export", "site", folder / "site"], home, None),
        }
        if python:
            name = f"asv {version_in(python, 'asv')} publish"
            commands[name] = ([python, "-m", "asv", "publish"], {"HOME": place}, folder / "html")
        spent = {name: [] for name in commands}
        for _ in range(asked.rounds):
            for name, (command, environment, site) in commands.items():
                if site is not None:
                    shutil.rmtree(site, ignore_errors=True)
                spent[name].append(spend(command, folder=folder, environment=environment))
        check(folder, asked, has_peer=bool(python))
    title = f"A site of {asked.commits} commits and {asked.benchmarks} benchmarks, {asked.rounds} rounds"
    report.add("site", rows_of(spent), title=title)
    if python is None:
        print("not measured (--peers-venv): asv")
    report.save(asked.json)


def arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--commits", type=int, default=200)
    parser.add_argument("--benchmarks", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--peers-venv", type=Path, metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="a tenth of the benchmarks, one round")
    add_option(parser)
    asked = parser.parse_args()
    if asked.quick:
        asked.rounds, asked.benchmarks = 1, max(1, asked.benchmarks // 10)
    return asked


def results(folder, commits, benchmarks):
    """A repository with commits, and the results of asv for each of them; every tenth benchmark has one step."""
    random.seed(1)
    hashes = repository(folder, commits)
    machine = {"arch": "x86_64", "cpu": "cpu", "machine": "box", "num_cpu": "2", "os": "Linux", "ram": "1"}
    place = folder / "results" / "box"
    place.mkdir(parents=True)
    (place / "machine.json").write_text(json.dumps({**machine, "version": 1}))
    names = [f"suite.time_{number}" for number in range(benchmarks)]
    about = {name: {"name": name, "code": "", "param_names": [], "params": [], "type": "time",
                    "unit": "seconds", "version": "1", "timeout": 60} for name in names}  # fmt: skip
    (folder / "results" / "benchmarks.json").write_text(json.dumps({**about, "version": 2}))
    for at, commit in enumerate(hashes):
        values = {
            name: [
                [0.01 * (1.1 if number % 10 == 0 and at > commits / 2 else 1) * random.gauss(1, 0.01)],
                [],
                "1",
            ]
            for number, name in enumerate(names)
        }
        content = {
            "commit_hash": commit, "env_name": ENVIRONMENT, "date": (1_700_000_000 + at * 3600) * 1000,
            "params": {**machine, "python": "/usr/bin/python"}, "python": "/usr/bin/python", "requirements": {},
            "env_vars": {}, "result_columns": ["result", "params", "version"], "results": values,
            "durations": {}, "version": 2,
        }  # fmt: skip
        (place / f"{commit[:8]}-{ENVIRONMENT}.json").write_text(json.dumps(content))
    settings = {"version": 1, "project": "bench", "repo": ".", "branches": ["main"], "results_dir": "results",
                "html_dir": "html", "environment_type": "existing"}  # fmt: skip
    (folder / "asv.conf.json").write_text(json.dumps(settings))
    asv_machine = {"box": machine, "version": 1}
    (folder / ".asv-machine.json").write_text(json.dumps(asv_machine))


def repository(folder, commits):
    """The hashes of the commits of a new repository, oldest first."""
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@localhost"]
    subprocess.run([*git, "init", "--quiet", "-b", "main"], cwd=folder, check=True)
    for at in range(commits):
        stamp = f"{1_700_000_000 + at * 3600} +0000"
        environment = {**os.environ, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
        words = ["commit", "--quiet", "--allow-empty", "-m", str(at)]
        subprocess.run([*git, *words], cwd=folder, check=True, env=environment)
    shown = subprocess.check_output([*git, "log", "--reverse", "--format=%H"], cwd=folder, text=True)
    return shown.split()


def check(folder, asked, *, has_peer):
    """Stop unless both sites have every benchmark."""
    ours = len(list((folder / "site" / "benchmarks").glob("*.html")))
    graphs = (
        len(list((folder / "html" / "graphs").rglob("suite.time_*.json"))) if has_peer else asked.benchmarks
    )
    if ours != asked.benchmarks or graphs < asked.benchmarks:
        raise SystemExit(f"{ours} of our pages and {graphs} graphs of asv for {asked.benchmarks} benchmarks")


def rows_of(spent):
    """The rows of the table; a bar is that of the first command."""
    rows = [["command", "wall", "CPU", "wall / ours", "bar"]]
    ours = None
    for name, each in spent.items():
        wall = [one.wall_s for one in each]
        cpu = [one.cpu_s for one in each]
        ratio = "" if ours is None else f"{statistics.median(wall) / ours:.1f}"
        bar = f"{BAR_S:g} s: {bar_state(statistics.median(wall), BAR_S)}" if ours is None else ""
        ours = ours or statistics.median(wall)
        rows.append([name, f"{median_of(wall)} s", f"{median_of(cpu)} s", ratio, bar])
    return rows


if __name__ == "__main__":
    main()
