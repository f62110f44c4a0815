"""Whether a home with 100,000 runs stays as fast as one with 100: listings, and the CPU of null runs with that history.

python benchmarks/bench_scale.py [--runs 100000] [--rounds 5] [--quick] [--json FILE] [--keep DIR]

Each home is filled directly: every benchmark runs in a sweep by `anubis run`, and its stored runs are copied with new ids,
times and values, with ten metrics of a benchmark in addition to those of the agent. `one` has all its runs in one series,
`several` has twenty benchmarks. Each row is a whole process of the command, with a pipe as output.
"""

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from report import Report, add_option, bar_state
from spending import median_of, spend

from anubis.contracts.runs import RunQuery
from anubis.model.ids import new_run_id
from anubis.settings import Settings
from anubis.wiring import build

ANUBIS = Path(sys.executable).with_name("anubis")
METRICS = 10
#: Runs of the small home, with which the CPU of a null run is compared.
FEW = 100
BATCH = 2_000
#: Null runs in one sweep.
SWEEP = 20
#: Spread of a value, as a share of it.
NOISE = 0.01
#: The most wall time of a command with all runs, seconds.
BARS_S = {"history": 0.25, "series list": 1.0}
#: The most CPU of a null run with all runs, as a share of that with few.
BAR_RATIO = 1.0
DESCRIPTOR = """\
spec_version = "1.0"
[info]
name = "{name}"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
"""
#: Descriptions do not distinguish series, so all cells have the history of the stored runs.
MATRIX = f'[matrix]\n"info.description" = {[f"cell {cell}" for cell in range(SWEEP)]}\n'.replace("'", '"')


def fill(home: Path, runs: int, benchmarks: int) -> None:
    """Make a home with ``runs`` finished runs, spread evenly over the benchmarks."""
    home.mkdir(parents=True)
    for number in range(benchmarks):
        Path(home, "null.toml").write_text(DESCRIPTOR.format(name=f"null-{number}") + MATRIX)
        anubis(home, "run", "null.toml")
    installation = build(Settings.from_env({"ANUBIS_HOME": str(home), "USER": "bench"}))
    world, generator, now_s = installation.world, random.Random(1), time.time()
    models = [world.runs.get(row.id) for row in world.runs.find(RunQuery(limit=benchmarks * SWEEP))]
    points = {run.id: world.points.of([run.id]) for run in models}
    for start in range(0, runs, BATCH):
        copies, copied = [], []
        for at in range(start, min(start + BATCH, runs)):
            model, created_s = generator.choice(models), now_s - 60 * (runs - at)
            run = replace(
                model,
                id=new_run_id(),
                created_s=created_s,
                due_s=created_s,
                placed_s=created_s,
                ended_s=created_s + 1,
            )
            own = points[model.id]
            added = [replace(own[0], metric=f"metric_{number}") for number in range(METRICS)]
            copied += [
                replace(
                    point, run_id=run.id, order_s=created_s, value=point.value * generator.gauss(1, NOISE)
                )
                for point in (*own, *added)
            ]
            copies.append((run, ""))
        world.runs.add_finished(copies, copied)
    installation.close()


def anubis(home: Path, *words: str) -> None:
    subprocess.run(
        [ANUBIS, *words], cwd=home, env={"ANUBIS_HOME": str(home)}, check=True, capture_output=True
    )


def spent(home: Path, rounds: int, *words: str):
    """What a command costs, after one execution to warm up."""
    home_of = {"ANUBIS_HOME": str(home)}
    return [spend([ANUBIS, *words], folder=home, environment=home_of) for _ in range(rounds + 1)][1:]


def main() -> None:
    asked = arguments()
    report = Report(quick=asked.quick)
    rounds = 1 if asked.quick else asked.rounds
    runs, most = (asked.runs // 100, 3) if asked.quick else (asked.runs, 20)
    with tempfile.TemporaryDirectory() as place:
        folder = asked.keep or Path(place)
        homes = {"few": (FEW, 1), "one": (runs, 1), "several": (runs, most)}
        for name, (number, benchmarks) in homes.items():
            if not Path(folder, name).exists():
                fill(Path(folder, name), number, benchmarks)
            Path(folder, name, "sweep.toml").write_text(DESCRIPTOR.format(name="null-0") + MATRIX)
        rows = [
            ["what", "bar", f"{FEW} runs", f"{runs:,} runs, 1 benchmark", f"{runs:,} runs, {most} benchmarks"]
        ]
        for command, bar_s in BARS_S.items():
            sweeps = [spent(folder / name, rounds, *command.split()) for name in homes]
            walls = [[one.wall_s for one in sweep] for sweep in sweeps]
            worst_s = max(map(statistics.median, walls))
            state = f"{bar_s:g}: {bar_state(worst_s, bar_s)}"
            rows.append([f"`{command}`, wall, s", state, *map(median_of, walls)])
            cpu = [median_of([one.cpu_s for one in sweep]) for sweep in sweeps]
            rows.append([f"`{command}`, CPU, s", "", *cpu])
        rows.append(null_runs(folder, list(homes), rounds))
        report.add("scale", rows, title="Commands over many runs, median (minimum to maximum)")
    report.save(asked.json)


def null_runs(folder: Path, homes: list[str], rounds: int) -> list[str]:
    """The row about the CPU of a null run, measured in all homes in turn."""
    cpu_ms = {name: [] for name in homes}
    for _ in range(rounds):
        for name in homes:
            (one,) = spent(folder / name, 1, "run", "sweep.toml")
            cpu_ms[name].append(one.cpu_s / SWEEP * 1e3)
    few = cpu_ms[homes[0]]
    ratio = max(
        statistics.median(many / small for many, small in zip(cpu_ms[name], few, strict=True))
        for name in homes[1:]
    )
    bar = f"{BAR_RATIO:g} times that of {FEW} runs: {ratio:.2f}, {bar_state(round(ratio, 1), BAR_RATIO)}"
    return [f"a null run in a sweep of {SWEEP}, CPU, ms", bar, *(median_of(cpu_ms[name]) for name in homes)]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=100_000, help="runs in a large home")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--keep", type=Path, metavar="DIR", help="keep the homes there, and use those present"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a hundredth of the runs, few benchmarks, one round"
    )
    add_option(parser)
    return parser.parse_args()


if __name__ == "__main__":
    main()
