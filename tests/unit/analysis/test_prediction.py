"""What a level predicts."""

import numpy as np
import pytest

from anubis.analysis.changes.prediction import predict


def test_too_few_points_predict_nothing():
    assert predict([1.0] * 5, 0.1) is None


def test_the_interval_holds_99_of_100_further_points():
    random = np.random.default_rng(2)
    inside = []
    for _ in range(300):
        ahead = predict(random.standard_normal(40).tolist(), 1.0)
        inside += (abs(random.standard_normal(20) - ahead.level) <= ahead.margin).tolist()
    assert np.mean(inside) == pytest.approx(0.99, abs=0.006)


@pytest.mark.parametrize(
    ("tail", "outside"),
    [([], 0), ([9.0], 1), ([9.0, 8.0], 2), ([-9.0, 9.0], 1), ([9.0, 0.0], 0), ([-7.0, -9.0], 2)],
)
def test_only_the_newest_points_on_one_side_are_outside(tail, outside):
    level = np.random.default_rng(3).standard_normal(30).clip(-2, 2).tolist()
    ahead = predict([*level, *tail], 1.0)
    assert (ahead.outside, ahead.n) == (outside, len(level) + len(tail) - outside)
