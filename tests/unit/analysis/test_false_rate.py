"""The rate of false controls: its exact interval, and when it is too high."""

import pytest
from scipy.stats import binomtest

from anubis.analysis.samples.false_rate import PUBLISHED_RATE, false_rate


@pytest.mark.parametrize(("false", "count"), [(0, 1), (1, 1), (0, 20), (1, 20), (4, 20), (20, 20), (7, 300)])
def test_the_interval_is_that_of_clopper_and_pearson(false, count):
    exact = binomtest(false, count).proportion_ci(method="exact")
    assert false_rate(false, count).interval == pytest.approx((exact.low, exact.high))


@pytest.mark.parametrize(("false", "is_above"), [(0, False), (1, False), (3, False), (4, True), (20, True)])
def test_four_false_controls_of_twenty_are_more_than_published(false, is_above):
    found = false_rate(false, 20)
    assert found.is_above is is_above
    assert is_above == (binomtest(false, 20, PUBLISHED_RATE, alternative="greater").pvalue <= 0.05)
    assert (found.count, found.false, found.published) == (20, false, 0.05)
