"""Few points, as every new user has: a clear shift is found wherever it lies, stays found, and noise stays silent."""

import numpy as np
import pytest

from anubis.analysis.changes.detection import judge_many
from anubis.model.series import Series, SeriesVerdict

SERIES = 60
#: A shift that a person sees at once: ten standard deviations.
NOISE, SHIFT = 0.02, 0.8


def judged(rows: np.ndarray, errors: float = 0.0) -> list[SeriesVerdict]:
    count = rows.shape[1]
    return list(
        judge_many(
            [Series(values=tuple(row), errors=tuple(errors * row), subjects=("",) * count) for row in rows]
        )
    )


def levels(random: np.random.Generator, before: int, after: int) -> np.ndarray:
    noise = np.exp(NOISE * random.standard_normal((SERIES, before + after)))
    return 100 * noise * np.where(np.arange(before + after) < before, 1.0, SHIFT)


@pytest.mark.parametrize("before", [6, 8, 10, 12, 16, 20])
@pytest.mark.parametrize("errors", [0.0, 0.01], ids=["values", "values with errors"])
def test_a_clear_shift_is_found_from_the_third_point_on_and_never_lost_again(before, errors):
    rows = levels(np.random.default_rng(before), before, 12)
    for after in range(3, 13):
        verdicts = judged(rows[:, : before + after], errors)
        found = [any(abs(one.index - before) <= 1 for one in verdict.changes) for verdict in verdicts]
        assert sum(found) >= 0.95 * SERIES, f"{before}+{after}"


def test_a_shift_that_stays_is_found_at_every_length_whatever_the_pattern_of_its_noise():
    base = [100 + (number * 7) % 5 + number / 10 for number in range(1, 11)]
    slow = [80.5 + number % 3 for number in range(12)]
    for after in range(3, 13):
        (verdict,) = judged(np.array([base + slow[:after]]))
        assert [one.index for one in verdict.changes] == [10], after


@pytest.mark.parametrize("count", [6, 8, 11, 12, 16, 24, 31])
def test_noise_alone_is_no_change(count):
    rows = 100 * np.exp(NOISE * np.random.default_rng(count).standard_normal((SERIES, count)))
    assert sum(bool(verdict.changes) for verdict in judged(rows)) <= 1


def test_a_point_far_from_both_levels_belongs_to_the_nearer_one():
    before = [17.96, 17.71, 17.97, 17.27, 17.39, 17.64, 17.58, 17.23, 17.5, 17.23, 17.54, 17.55, 17.64, 17.68]
    before += [17.22, 17.36, 17.88, 17.39, 17.36, 17.63, 16.73, 17.28, 17.39, 17.47, 17.62, 17.51, 18.24]

    [verdict] = judge_many([Series(values=(*before, 8.39, 8.43, 8.69))])
    [change] = verdict.changes

    assert change.index == len(before)
