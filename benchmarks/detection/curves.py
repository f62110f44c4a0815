"""Power and false alarms of the defaults, for docs/concepts/verdicts.md."""

from pathlib import Path

import live
import numpy as np
from corpus import LEVEL, UNIT

from anubis.analysis.samples.compare import compare
from anubis.model.series import Sensitivity
from anubis.model.verdict import Judgement

SEED = 424242
SIZES = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
WITHIN = (3, 5, 10, 20, 40)
RUNS = (3, 4, 5, 6, 8, 10, 20, 30)
EFFECTS = (0.0, 0.02, 0.03, 0.04, 0.06, 0.10)


def show(folder: Path | None, *, quick: bool) -> None:
    alarms_by_sensitivity(folder, 3 if quick else 25)
    power_of_series(10 if quick else 100)
    power_of_comparison(50 if quick else 1000)


def alarms_by_sensitivity(folder: Path | None, series: int) -> None:
    print("False alarms per 1000 points of pure noise, any size (and at min effect 2 %):\n")
    print("| noise | " + " | ".join(Sensitivity) + " |\n|---|---|---|---|")
    columns = [
        (
            live.false_alarms(SEED, folder, series, 400, one),
            live.false_alarms(SEED, folder, series, 400, one, 0.02),
        )
        for one in Sensitivity
    ]
    for kind in columns[0][0]:
        cells = [f"{free[kind]:.2f} ({held[kind]:.2f})" for free, held in columns]
        print(f"| {kind} | " + " | ".join(cells) + " |")


def power_of_series(series: int) -> None:
    print(
        "\nShare of shifts told within so many points of the new level (100 points before, gaussian noise):\n"
    )
    print("| shift | " + " | ".join(map(str, WITHIN)) + " |\n|---|" + "---|" * len(WITHIN))
    for size in SIZES:
        random = np.random.default_rng([SEED, int(10 * size)])
        logs = random.standard_normal((series, 100 + max(WITHIN)))
        logs[:, 100:] += size
        waits = [live.first_report(live.alarms(row), 100) for row in LEVEL * np.exp(UNIT * logs)]
        cells = [f"{np.mean([wait <= within for wait in waits]):.2f}" for within in WITHIN]
        print(f"| {size:g} sigma | " + " | ".join(cells) + " |")


def power_of_comparison(repeats: int, noise: float = 0.02) -> None:
    print(
        f"\nShare of comparisons that say changed (or: no change), run-to-run noise {noise:.0%}, min effect 2 %:\n"
    )
    print(
        "| true effect | " + " | ".join(f"{runs}+{runs}" for runs in RUNS) + " |\n|---|" + "---|" * len(RUNS)
    )
    for effect in EFFECTS:
        cells = []
        for runs in RUNS:
            random = np.random.default_rng([SEED, runs, int(1000 * effect)])
            sides = LEVEL * np.exp(noise * random.standard_normal((repeats, 2, runs)))
            sides[:, 1] *= 1 + effect
            said = [compare("m", old.tolist(), new.tolist()).judgement for old, new in sides]
            changed, same = said.count(Judgement.CHANGED), said.count(Judgement.UNCHANGED)
            cells.append(f"{changed / repeats:.2f} ({same / repeats:.2f})")
        print(f"| {effect:.0%} | " + " | ".join(cells) + " |")
