"""Series as an installation builds them: from runs with different numbers of repeats, and of subjects that are measured again."""

import numpy as np
from corpus import LENGTH, LEVEL, SCENARIOS, UNIT
from score import tally, total

from anubis.analysis.changes.detection import find_changes
from anubis.judging.series import in_order, series_of, subject_points
from anubis.model.points import Point
from anubis.model.series import Series
from anubis.testing import a_point, a_run

#: Standard deviation of a repeat around its run, in those of a run; most repeats of a run.
REPEAT_SD, MOST_REPEATS = 4.0, 100
#: Standard deviation of a session around the level, in those of a run.
SESSION_SD = 1.0
SHIFTS = ("none", "step 1", "step 2", "step 3", "2-4 steps", "hump 4 x 10")
STEPS = ("none", "step 2", "step 3", "step 5", "2-4 steps")


def gain_of_repeats(seed: int, count: int) -> tuple[float, float]:
    """F1 without and with the errors that the series of an installation have.

    Runs have 1 to MOST_REPEATS repeats (uniform in logs). Their points are the median, the deviation and the number of
    the repeats, so errors are estimates, and a run with one repeat has none.
    """
    random = np.random.default_rng([seed, 98])
    run = a_run()
    series, places = [], []
    for number in range(count):
        signal, own = SCENARIOS[SHIFTS[number % len(SHIFTS)]](random, LENGTH)
        levels = signal + random.standard_normal(LENGTH)
        repeats = np.exp(random.uniform(0, np.log(MOST_REPEATS + 1), LENGTH)).astype(int)
        points = [_of_repeats(run, random, *one) for one in zip(levels, repeats, strict=True)]
        series.append(series_of(points))
        places.append(own)
    without = [Series(values=one.values) for one in series]
    return _f1(without, places), _f1(series, places)


def _of_repeats(run, random: np.random.Generator, level: float, repeats: int) -> Point:
    values = LEVEL * np.exp(UNIT * (level + REPEAT_SD * random.standard_normal(repeats)))
    spread = float(values.std(ddof=1)) if repeats > 1 else None
    return a_point(run, value=float(np.median(values)), spread=spread, count=int(repeats))


def measured_again(seed: int, count: int) -> tuple[float, float]:
    """F1 if no subject is measured again, and if a fifth of them is, in up to three later sessions of three runs."""
    random = np.random.default_rng([seed, 97])
    plain, again, places = [], [], []
    for number in range(count):
        signal, own = SCENARIOS[STEPS[number % len(STEPS)]](random, LENGTH)
        points = [_in_session(random, signal, at, f"{at:05}") for at in range(LENGTH)]
        later = []
        for at in random.choice(LENGTH, LENGTH // 5, replace=False):
            for _ in range(int(random.integers(1, 4))):
                state = SESSION_SD * random.standard_normal()
                name = f"{LENGTH + len(later):05}"
                later += [_in_session(random, signal, int(at), f"{name}-{k}", state, name) for k in range(3)]
        plain.append(series_of(subject_points(in_order(points))))
        again.append(series_of(subject_points(in_order([*points, *later]))))
        places.append(own)
    return _f1(plain, places), _f1(again, places)


def _in_session(
    random: np.random.Generator,
    signal: np.ndarray,
    at: int,
    run_id: str,
    state: float | None = None,
    session: str = "",
) -> Point:
    """A run of the subject at this position; without a given state in a separate session."""
    if state is None:
        state = SESSION_SD * random.standard_normal()
    value = LEVEL * np.exp(UNIT * (signal[at] + state + random.standard_normal()))
    subject = f"commit-{at}"
    return a_point(
        a_run(id=run_id),
        value=float(value),
        order_s=float(at),
        subject=subject,
        session=session or run_id,
    )


def _f1(series: list[Series], places: list[list[int]]) -> float:
    found = find_changes(series, min_effect=0.0)
    return total(tally(own, true) for own, true in zip(found, places, strict=True)).f1
