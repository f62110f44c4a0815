"""Power and false alarms of the defaults, for docs/concepts/verdicts.md."""

from pathlib import Path

import live
import numpy as np
from corpus import LEVEL, UNIT
from report import Report

from anubis.analysis.samples.compare import compare
from anubis.model.series import Sensitivity
from anubis.model.verdict import Judgement

SEED = 424242
SIZES = (0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
WITHIN = (3, 5, 10, 20, 40)
RUNS = (3, 4, 5, 6, 8, 10, 20, 30)
EFFECTS = (0.0, 0.02, 0.03, 0.04, 0.06, 0.10)
POINTS = 400


def add(report: Report, folder: Path | None) -> None:
    report.add(
        "alarms",
        alarms_by_sensitivity(folder, 3 if report.quick else 25),
        title="False alarms per 1000 points of pure noise, any size (and at min effect 2 %)",
    )
    report.add(
        "series",
        power_of_series(10 if report.quick else 100),
        title="Share of shifts reported within so many points of the new level (100 points before, gaussian noise)",
    )
    report.add(
        "comparison",
        power_of_comparison(50 if report.quick else 1000),
        title="Share of comparisons with the conclusion changed (and: no change), run-to-run noise 2 %, min effect 2 %",
    )


def alarms_by_sensitivity(folder: Path | None, series: int) -> list[list[str]]:
    columns = [
        (
            live.false_alarms(SEED, folder, series, POINTS, one),
            live.false_alarms(SEED, folder, series, POINTS, one, 0.02),
        )
        for one in Sensitivity
    ]
    kinds = [
        [kind, *(f"{free[kind]:.1f} ({held[kind]:.1f})" for free, held in columns)] for kind in columns[0][0]
    ]
    return [[f"noise ({series * POINTS:,} points each)", *Sensitivity], *kinds]


def power_of_series(series: int) -> list[list[str]]:
    rows = [[f"shift ({series} series each)", *map(str, WITHIN)]]
    for size in SIZES:
        random = np.random.default_rng([SEED, int(10 * size)])
        logs = random.standard_normal((series, 100 + max(WITHIN)))
        logs[:, 100:] += size
        waits = [live.first_report(live.alarms(row), 100) for row in LEVEL * np.exp(UNIT * logs)]
        shares = [f"{np.mean([wait <= within for wait in waits]):.2f}" for within in WITHIN]
        rows.append([f"{size:g} sigma", *shares])
    return rows


def power_of_comparison(repeats: int, noise: float = 0.02) -> list[list[str]]:
    rows = [[f"true effect ({repeats:,} comparisons each)", *(f"{runs}+{runs}" for runs in RUNS)]]
    for effect in EFFECTS:
        cells = [f"{effect:.0%}"]
        for runs in RUNS:
            random = np.random.default_rng([SEED, runs, int(1000 * effect)])
            sides = LEVEL * np.exp(noise * random.standard_normal((repeats, 2, runs)))
            sides[:, 1] *= 1 + effect
            found = [compare("m", old.tolist(), new.tolist()).judgement for old, new in sides]
            changed, same = found.count(Judgement.CHANGED), found.count(Judgement.UNCHANGED)
            cells.append(f"{changed / repeats:.2f} ({same / repeats:.2f})")
        rows.append(cells)
    return rows
