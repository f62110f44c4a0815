"""Shrunk variances: what the other metrics may and may not change."""

import numpy as np
import pytest

from anubis.analysis.samples.compare import compare_many
from anubis.analysis.samples.moderation import FEWEST_METRICS, Prior
from anubis.model.verdict import Judgement, Sides

CHANGES = (Judgement.REGRESSED, Judgement.IMPROVED)


def test_the_prior_finds_the_distribution_that_variances_come_from():
    random = np.random.default_rng(1)
    variances = 4.0 * 12 / random.chisquare(12, 5000) * random.chisquare(6, 5000) / 6
    prior = Prior.of(variances.tolist(), [6.0] * 5000)
    assert prior.variance == pytest.approx(4.0, rel=0.1)
    assert prior.freedom == pytest.approx(12, rel=0.25)


def test_few_metrics_and_constants_say_nothing():
    assert Prior.of([1.0] * (FEWEST_METRICS - 1), [4.0] * (FEWEST_METRICS - 1)) == Prior()
    assert Prior.of([0.0] * 50, [4.0] * 50) == Prior()


def test_a_metric_that_is_noisier_than_the_others_keeps_its_variance():
    prior = Prior(variance=1.0, freedom=100.0)
    variances, freedoms = prior.shrink(np.array([0.0, 0.5, 1.0, 1000.0]), 4)
    assert variances == pytest.approx([0.0, 102 / 104, 1.0, 1000.0])
    assert freedoms == pytest.approx([4, 104, 104, 4])


def many(random, runs, metrics=400):
    """Sides of metrics with noise of 2 %, half of them with heavy tails."""
    noise = random.standard_normal((metrics, 2 * runs))
    noise[::2] = random.standard_t(3, (metrics // 2, 2 * runs)) / 3**0.5
    values = 100 * np.exp(0.02 * noise)
    return [
        Sides(metric="m", baseline=tuple(row[:runs]), contender=tuple(row[runs:]), better="lower")
        for row in values.tolist()
    ]


@pytest.mark.parametrize("runs", [3, 5, 6, 9, 20])
def test_a_lone_large_regression_is_found_among_many_metrics_and_nothing_else(runs):
    random = np.random.default_rng([20261122, runs])
    flags = found = 0
    for _ in range(3):
        sides = many(random, runs)
        flags += sum(one.judgement in CHANGES for one in compare_many(sides).verdicts)
        worse = tuple(1.5 * value for value in sides[1].contender)
        sides[1] = Sides(metric="m", baseline=sides[1].baseline, contender=worse, better="lower")
        found += compare_many(sides).verdicts[1].judgement is Judgement.REGRESSED
    assert found == 3
    assert flags <= 1
