"""Alternated pairs: the rank test against its definition, and the error rates of a confirmation."""

from itertools import product

import numpy as np
import pytest
from scipy.stats import wilcoxon

from anubis.analysis.samples.pairs import RANKS_FROM, compare_pairs, signed_rank
from support.noises import NOISES, gauss

#: A session has twice the noise of a run.
SESSION_SD, RUN_SD = 2.0, 1.0
TOTAL_SD = float(np.hypot(SESSION_SD, RUN_SD))


@pytest.mark.parametrize("count", [7, 8, 12, 20])
def test_p_is_that_of_the_exact_signed_rank_test(count):
    random = np.random.default_rng(count)
    for shift in (0.0, 0.5):
        values = random.standard_normal(count) + shift
        assert signed_rank(values).p == pytest.approx(wilcoxon(values, method="exact").pvalue)


def test_the_interval_excludes_zero_exactly_if_p_is_at_most_alpha():
    random = np.random.default_rng(5)
    for _ in range(300):
        found = signed_rank(random.standard_normal(9) + random.uniform(0, 1.5), alpha=0.05)
        assert (found.low > 0 or found.high < 0) == (found.p <= 0.05)
        assert found.low <= found.estimate <= found.high


def test_many_pairs_agree_with_the_exact_distribution():
    values = np.random.default_rng(1).standard_normal(61) + 0.2
    assert signed_rank(values).p == pytest.approx(wilcoxon(values, method="exact").pvalue, rel=0.05)


def test_zeros_count_for_neither_side():
    assert signed_rank([0.0] * 9).p == 1.0
    assert signed_rank([0.0] * 5 + [1.0] * 4).p > 0.02


def test_one_pair_needs_known_noise():
    assert compare_pairs([5.0]) is None
    assert compare_pairs([], noise=1.0, freedom=9) is None
    assert compare_pairs([5.0], noise=1.0, freedom=9).p < 0.01
    assert compare_pairs([2.0], noise=1.0, freedom=9).p > 0.02


def test_one_spike_does_not_decide():
    clean = compare_pairs([-0.1, -0.11, -0.09, -0.1, -0.12, -0.1, -0.09])
    spiked = compare_pairs([-0.1, -0.11, -0.09, -0.1, -0.12] * 3 + [2.3])
    assert spiked.estimate == pytest.approx(clean.estimate, abs=0.01)
    assert spiked.high < 0


def test_the_estimate_moves_and_scales_with_the_differences():
    random = np.random.default_rng(3)
    for count, factor, offset in product((3, 9), (0.5, 4.0), (-1.0, 2.0)):
        values = random.standard_normal(count)
        moved = compare_pairs(factor * values + offset, noise=factor, freedom=9)
        assert moved.estimate == pytest.approx(factor * compare_pairs(values).estimate + offset)


def rate_confirmed(pairs, shift, *, count=4000, seed=20260901, noise=gauss, metrics=1):
    """The share of suspicions that pairs confirm. Each suspicion has the history's noise of one run."""
    random = np.random.default_rng(seed)
    sessions = SESSION_SD * noise(random, (count, 1))
    old, new = (sessions + RUN_SD * noise(random, (count, pairs)) for _ in range(2))
    found = [
        compare_pairs(row, noise=2**0.5 * TOTAL_SD, freedom=19, alpha=0.02 / metrics)
        for row in new + shift - old
    ]
    return float(np.mean([one.p <= 0.02 / metrics and one.estimate > 0 for one in found]))


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("pairs", "metrics"), [(3, 2), (RANKS_FROM, 1), (RANKS_FROM, 2), (10, 30)])
def test_both_rates_hold_for_several_metrics_and_every_kind_of_noise(pairs, metrics, noise):
    assert rate_confirmed(pairs, 0.0, count=1500, noise=noise, metrics=metrics) <= 0.0152
    assert rate_confirmed(pairs, 4 * TOTAL_SD, count=500, noise=noise, metrics=metrics) >= 0.9


def test_pairs_of_both_signs_are_not_confirmed_even_if_one_is_known_to_be_large():
    values = [-0.5, -0.4, -0.3, 4.0, 5.0, 6.0, 7.0]
    found = compare_pairs(values, noise=0.1, freedom=20, alpha=0.01)
    assert found.p > 0.02
    assert found.low < 0 < found.high


@pytest.mark.parametrize("pairs", [2, 3, 5, RANKS_FROM, 10])
def test_at_most_one_false_suspicion_in_a_hundred_is_confirmed(pairs):
    assert rate_confirmed(pairs, 0.0) <= 0.01 + 2 * (0.01 / 4000) ** 0.5


@pytest.mark.parametrize("pairs", [2, 3, 5, RANKS_FROM, 10])
def test_nine_of_ten_true_shifts_of_four_sigma_are_confirmed(pairs):
    assert rate_confirmed(pairs, 4 * TOTAL_SD, count=1000) >= 0.9


@pytest.mark.parametrize("pairs", [3, 5, RANKS_FROM])
def test_both_rates_hold_when_the_noise_is_that_within_sessions(pairs):
    random = np.random.default_rng(9)
    for shift, least, most in ((0.0, 0.0, 0.0125), (4 * RUN_SD, 0.9, 1.0)):
        differences = 2**0.5 * RUN_SD * random.standard_normal((3000, pairs)) + shift
        found = [compare_pairs(row, noise=2**0.5 * RUN_SD, freedom=19) for row in differences]
        assert least <= np.mean([one.p <= 0.02 and one.estimate > 0 for one in found]) <= most
