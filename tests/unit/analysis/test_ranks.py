"""The exact test against an independent implementation, and the interval against brute force."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import mannwhitneyu

from anubis.analysis.samples import ranks

samples = st.lists(st.integers(-1000, 1000), min_size=3, max_size=20, unique=True)


@given(samples, samples)
def test_p_is_the_exact_one_where_nothing_ties(first, second):
    baseline, contender = np.sort(np.array(first, float)), np.sort(np.array(second, float)) + 0.5
    expected = mannwhitneyu(baseline, contender, method="exact").pvalue
    assert ranks.shift(baseline, contender).p == pytest.approx(expected)


@given(st.integers(1, 32), st.integers(1, 32))
def test_the_null_distribution_is_symmetric_and_complete(m, n):
    cdf = ranks.null_cdf(m, n)
    assert cdf[-1] == 1
    assert np.diff(np.concatenate([[0.0], cdf])) == pytest.approx(np.diff(np.concatenate([[0.0], cdf]))[::-1])
    assert ranks.null_probability(-1, m, n) == 0


def test_the_normal_form_continues_the_exact_one():
    count = ranks.critical_count(40, 40)
    assert ranks.null_probability(count - 1, 40, 40) <= 0.025 < ranks.null_probability(count, 40, 40)
    assert ranks.critical_count(33, 32) == pytest.approx(ranks.critical_count(32, 32) * 33 / 32, rel=0.02)


def test_too_few_values_have_no_interval():
    found = ranks.shift(np.array([1.0, 2.0, 3.0]), np.array([11.0, 12.0, 13.0]))
    assert (found.low, found.high) == (-np.inf, np.inf)
    assert found.estimate == 10


def test_searching_differences_finds_what_listing_them_finds(monkeypatch):
    noise = np.random.default_rng(7)
    baseline, contender = np.sort(noise.standard_normal(50)), np.sort(noise.standard_normal(70))
    listed = ranks.shift(baseline, contender)
    monkeypatch.setattr(ranks, "MAX_PAIRS", 10)
    searched = ranks.shift(baseline, contender)
    assert (searched.estimate, searched.low, searched.high) == pytest.approx(
        (listed.estimate, listed.low, listed.high)
    )
    assert searched.p == listed.p


def test_the_interval_covers_as_often_as_it_says():
    noise = np.random.default_rng(11)
    inside = 0
    for _ in range(1000):
        found = ranks.shift(np.sort(noise.standard_t(3, 8)), np.sort(noise.standard_t(3, 9)))
        inside += found.low <= 0 <= found.high
    assert 930 <= inside <= 985
