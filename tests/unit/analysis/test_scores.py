"""Scores and places of candidates against the plain arithmetic, one candidate at a time."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from anubis.analysis.changes import scores
from anubis.analysis.changes.localization import localize, localize_range
from anubis.analysis.changes.scores import score
from anubis.analysis.changes.windows import MAX_RHO, PSEUDO_POINTS, SIDE, Noise, Rows

ONE, NONE = np.ones(1), np.zeros(1)


def plain(left, right, sigma, rho):
    """z of a candidate whose sides are long enough for no special rule."""
    sides = [left - np.median(left), right - np.median(right)]
    sizes, count = np.abs(np.concatenate(sides)), len(left) + len(right)
    local = max(1.4826 * np.median(sizes), np.quantile(sizes, 0.9) / 1.6449)
    typical = np.sqrt((count * local**2 + PSEUDO_POINTS * sigma**2) / (count + PSEUDO_POINTS))
    clipped = []
    for side in sides:
        own = 1.2533 * np.abs(side).mean()
        weight = scores.PSEUDO_LIMIT
        own = np.sqrt((len(side) * own**2 + weight * typical**2) / (len(side) + weight))
        limit = scores.CLIP * max(own, typical)
        clipped.append(np.clip(side, -limit, limit))
    squares = [(side**2).sum() for side in clipped]
    common = (sum(squares) + PSEUDO_POINTS * sigma**2) / (count + PSEUDO_POINTS - 2)
    weight = scores.PSEUDO_SIDE
    variances = [
        max((square + weight * common) / (len(side) + weight - 1), common)
        for square, side in zip(squares, sides, strict=True)
    ]
    whole = np.concatenate(clipped)
    found = (whole[1:] * whole[:-1]).sum() / (whole**2).sum()
    found += (1 + 3 * max(found, 0)) / count
    found = np.clip((count * found + scores.PSEUDO_RHO * rho) / (count + scores.PSEUDO_RHO), 0, MAX_RHO)
    inflation = np.sqrt((1 + found) / (1 - found))
    means = np.median(left) + clipped[0].mean(), np.median(right) + clipped[1].mean()
    error = np.sqrt(variances[0] / len(left) + variances[1] / len(right))
    wins = mannwhitneyu(left, right).statistic
    spread = np.sqrt(len(left) * len(right) * (count + 1) / 12)
    ranks = abs(wins - len(left) * len(right) / 2) / spread
    ranks *= np.sqrt(common * (1 / len(left) + 1 / len(right))) / error
    return max(abs(means[1] - means[0]) / error, ranks) / inflation, means[1] - means[0]


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.integers(6, SIDE), st.integers(6, SIDE), st.booleans())
def test_scores_are_the_plain_arithmetic(seed, n_left, n_right, ties):
    random = np.random.default_rng(seed)
    work = random.standard_t(3, (2, n_left + n_right))
    work[:, n_left:] += 3.0
    work = np.round(work) if ties else work
    rows = Rows.of([(1, 0, n_left, n_left + n_right), (0, 0, n_left, n_left + n_right)])
    noise = Noise(np.array([1.0, 1.3]), np.array([0.0, 0.4]))
    found = score(work, rows, noise)
    if scores._support(scores.gather(work, rows, noise), found.difference).min() < 3:
        return
    for row, (series, sigma, rho) in enumerate([(1, 1.3, 0.4), (0, 1.0, 0.0)]):
        z, difference = plain(work[series, :n_left], work[series, n_left:], sigma, rho)
        assert found.z[row] == pytest.approx(z)
        assert found.difference[row] == pytest.approx(difference)


def test_equal_known_errors_weigh_as_none_does():
    work = np.random.default_rng(2).standard_normal((1, 60))
    work[0, 30:] += 1.0
    rows = Rows.of([(0, 0, 30, 60)])
    weighted = score(work, rows, Noise(ONE, NONE, np.ones((1, 60))))
    alone = score(work, rows, Noise(ONE, NONE))
    assert weighted.error == pytest.approx(alone.error, rel=0.05)
    assert weighted.difference == pytest.approx(alone.difference, abs=0.1)


def test_imprecise_points_hardly_count():
    work = np.zeros((1, 40))
    work[0, 20:] = 1.0
    work[0, ::2] = 50.0
    relative = np.where(np.arange(40) % 2, 0.1, 100.0)[None]
    found = score(work, Rows.of([(0, 0, 20, 40)]), Noise(ONE, NONE, relative))
    assert found.difference[0] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("spikes", [[8.0, 8.0, 0.2], [9.0, 1.0, 1.1], [0.1, 0.2, 9.0, 0.1]])
def test_spikes_are_no_level(spikes):
    left = 0.7 * np.random.default_rng(3).standard_normal(40)
    work = np.concatenate([left, spikes])[None]
    assert score(work, Rows.of([(0, 0, 40, work.shape[1])]), Noise(ONE, NONE)).z[0] < 4.5


def test_a_side_with_more_noise_is_judged_by_its_own_noise():
    random = np.random.default_rng(6)
    found = []
    for _ in range(200):
        work = np.concatenate([random.standard_normal(80), 10 * random.standard_normal(5)])[None]
        found.append(score(work, Rows.of([(0, 0, 80, 85)]), Noise(ONE, NONE)).z[0])
    assert np.mean(np.array(found) >= 4.5) <= 0.05


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_autocorrelated_noise_is_rarely_significant(rho):
    random = np.random.default_rng(7)
    work = random.standard_normal((300, 120))
    for at in range(1, 120):
        work[:, at] = rho * work[:, at - 1] + np.sqrt(1 - rho**2) * work[:, at]
    rows = Rows.of([(series, 0, 60, 120) for series in range(300)])
    found = score(work, rows, Noise(np.ones(300), np.full(300, rho)))
    assert np.mean(found.z >= 3.0) <= 0.02


def test_a_candidate_moves_to_where_the_points_change():
    work = 0.3 * np.random.default_rng(4).standard_normal((1, 100))
    work[0, 47:] += 2.0
    rows = Rows.of([(0, 0, 60, 100), (0, 0, 40, 100), (0, 0, 47, 100)])
    assert localize(work, rows, Noise(ONE, NONE)).tolist() == [47, 47, 47]
    earliest, latest = localize_range(work, rows, Noise(0.3 * ONE, NONE))
    assert 46 <= earliest[2] <= 47 <= latest[2] <= 48


def test_a_side_too_short_to_split_stays():
    work = np.arange(5.0)[None]
    rows = Rows.of([(0, 0, 2, 5)])
    assert localize(work, rows, Noise(ONE, NONE)).tolist() == [2]
    assert [end.tolist() for end in localize_range(work, rows, Noise(ONE, NONE))] == [[2], [2]]


def test_the_range_of_places_holds_the_true_one():
    random = np.random.default_rng(5)
    inside = 0
    for _ in range(200):
        work = random.standard_normal((1, 100))
        work[0, 50:] += 1.5
        noise = Noise(ONE, NONE)
        best = int(localize(work, Rows.of([(0, 0, 50, 100)]), noise)[0])
        earliest, latest = localize_range(work, Rows.of([(0, 0, best, 100)]), noise)
        inside += int(earliest[0]) <= 50 <= int(latest[0])
    assert inside >= 0.93 * 200
