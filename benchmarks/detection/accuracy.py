"""How often the detectors are right: injected shifts, labelled histories, known errors."""

import itertools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

from corpus import UNIT, Case, histories_of, injected, labelled, repeated
from peers import NAMES, Peers
from score import TOLERANCE, Tally, tally, total

from anubis.analysis.changes.detection import find_changes, judge_many
from anubis.model.series import ChangeKind, Series

MIN_EFFECT = 0.02


def series_of(case: Case, *, errors: bool = False) -> Series:
    known = tuple((case.values * case.errors).tolist()) if errors and case.errors is not None else ()
    return Series(values=tuple(case.values.tolist()), errors=known)


def by_cell(cases: Sequence[Case], found: Sequence[Sequence[int]]) -> dict[tuple[str, str], Tally]:
    cells: dict[tuple[str, str], Tally] = {}
    for case, places in zip(cases, found, strict=True):
        cells[case.cell] = cells.get(case.cell, Tally()) + tally(places, case.sure, case.maybe)
    return cells


def injected_f1(cells: dict[tuple[str, str], Tally]) -> tuple[float, dict[str, float], float]:
    """F1 over all series with drift neutral (a drift has no right place), per noise kind, and with drift counted."""
    kinds: dict[str, Tally] = {}
    for (kind, scenario), one in cells.items():
        if scenario != "drift":
            kinds[kind] = kinds.get(kind, Tally()) + one
    return (
        total(kinds.values()).f1,
        {kind: one.f1 for kind, one in kinds.items()},
        total(cells.values()).f1,
    )


def ours_injected(seed: int, folder: Path | None, per_cell: int) -> dict:
    cases = list(injected(seed, folder, per_cell))
    verdicts = judge_many([series_of(case) for case in cases], min_effect=0.0)
    cells = by_cell(cases, [[change.index for change in one.changes] for one in verdicts])
    whole, kinds, strict = injected_f1(cells)
    rows: dict[str, Tally] = {}
    for (_, scenario), one in cells.items():
        rows[scenario] = rows.get(scenario, Tally()) + one
    unstable = sum(verdict.instability is not None for verdict in verdicts) / len(verdicts)
    return {
        "f1": whole,
        "kinds": kinds,
        "strict": strict,
        "scenarios": rows,
        "unstable": unstable,
        **_labels(cases, verdicts),
    }


def _labels(cases: Sequence[Case], verdicts: Sequence) -> dict:
    """Whether slopes are called drift and steps are not, and how often intervals hold what is true."""
    counts = {"drift": [0, 0], "2-4 steps": [0, 0]}
    inside = [0, 0, 0]
    steps = {"step 2": 2, "step 3": 3, "step 5": 5}
    for case, verdict in zip(cases, verdicts, strict=True):
        for change in verdict.changes:
            if case.cell[1] in counts:
                counts[case.cell[1]][change.kind is ChangeKind.DRIFT] += 1
            if case.cell[1] in steps and abs(change.index - case.sure[0]) <= TOLERANCE:
                true = math.expm1(math.copysign(steps[case.cell[1]] * UNIT, change.effect))
                inside[0] += 1
                inside[1] += change.earliest <= case.sure[0] <= change.latest
                inside[2] += change.interval[0] <= true <= change.interval[1]
    shares = {
        name: right / (wrong + right) if wrong + right else 0.0 for name, (wrong, right) in counts.items()
    }
    return {
        "drift labelled": shares["drift"],
        "steps mislabelled": shares["2-4 steps"],
        "place covered": inside[1] / max(inside[0], 1),
        "effect covered": inside[2] / max(inside[0], 1),
    }


def peers_injected(peers: Peers, seed: int, folder: Path | None, per_cell: int) -> dict[str, tuple]:
    cases = list(injected(seed, folder, per_cell))
    values = [case.values.tolist() for case in cases]
    results = {}
    for name in NAMES:
        answer = peers.ask(name, "whole", values)
        if answer is not None:
            results[name] = injected_f1(by_cell(cases, answer["found"]))
    return results


def ci_count(folder: Path) -> int:
    """Number of labelled histories."""
    return sum(1 for _ in labelled(folder))


def ci_f1(folder: Path, find: Callable[[list[Case]], Sequence[Sequence[int]]]) -> Tally:
    cases = list(labelled(folder))
    return total(by_cell(cases, find(cases)).values())


def unstable_histories(folder: Path) -> tuple[int, int]:
    """How many of all real CI histories, labelled or not, are called unstable, and their number."""
    histories = [Series(values=tuple(map(float, values))) for values in histories_of(folder)]
    verdicts = judge_many(histories, min_effect=MIN_EFFECT)
    return sum(verdict.instability is not None for verdict in verdicts), len(histories)


def ours_ci(cases: list[Case]) -> list[list[int]]:
    verdicts = judge_many([series_of(case) for case in cases], min_effect=MIN_EFFECT)
    return [[change.index for change in verdict.changes] for verdict in verdicts]


def large_enough(values: Sequence[float], places: Sequence[int]) -> list[int]:
    """What is left of a peer's changes when the smallest are dropped until all reach the minimum effect."""
    kept = list(places)
    while kept:
        levels = [median(values[a:b]) for a, b in itertools.pairwise([0, *kept, len(values)])]
        effects = [abs(new / old - 1) for old, new in itertools.pairwise(levels)]
        smallest = min(range(len(kept)), key=effects.__getitem__)
        if effects[smallest] >= MIN_EFFECT:
            break
        del kept[smallest]
    return kept


def peers_ci(peers: Peers, folder: Path) -> dict[str, float]:
    values = [case.values.tolist() for case in labelled(folder)]
    results = {}
    for name in NAMES:
        answer = peers.ask(name, "whole", values)
        if answer is not None:
            kept = [large_enough(one, found) for one, found in zip(values, answer["found"], strict=True)]
            results[name] = ci_f1(folder, lambda _cases, kept=kept: kept).f1
    return results


def gain_of_known_errors(seed: int, count: int) -> tuple[float, float]:
    """F1 without and with the standard errors of the points' own repeats."""
    cases = list(repeated(seed, count))
    scores = []
    for known in (False, True):
        found = find_changes([series_of(case, errors=known) for case in cases], min_effect=0.0)
        scores.append(total(by_cell(cases, found).values()).f1)
    return scores[0], scores[1]
