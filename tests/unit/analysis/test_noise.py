"""The noise of a series, whatever its levels do."""

import numpy as np
import pytest

from anubis.analysis.changes.noise import FLOOR, estimate_noise


def white(seed=0, series=40, points=200):
    return 0.02 * np.random.default_rng(seed).standard_normal((series, points))


def test_sigma_is_the_standard_deviation_of_white_noise():
    model = estimate_noise(white(points=400))
    assert np.median(model.sigma) == pytest.approx(0.02, rel=0.03)
    assert np.mean(model.rho) == pytest.approx(0, abs=0.03)
    assert np.median(model.outliers) == 0.005
    assert (model.between == model.sigma).all()


def test_level_changes_disturb_nothing():
    work = white()
    stepped = work + 0.5 * (np.arange(200) // 50)
    still, moved = estimate_noise(work), estimate_noise(stepped)
    assert moved.sigma == pytest.approx(still.sigma, rel=0.25)
    assert moved.rho == pytest.approx(still.rho, abs=0.2)


def test_outliers_are_counted_and_do_not_widen_sigma():
    work = white()
    work[:, ::10] += 1.0
    model = estimate_noise(work)
    assert np.median(model.outliers) == pytest.approx(0.1, abs=0.02)
    assert np.median(model.sigma) == pytest.approx(0.02, rel=0.2)


@pytest.mark.parametrize("rho", [0.3, 0.6])
def test_autocorrelation_is_recovered(rho):
    shocks = white(points=400) * np.sqrt(1 - rho**2)
    work = shocks.copy()
    for at in range(1, work.shape[1]):
        work[:, at] = rho * work[:, at - 1] + shocks[:, at]
    assert np.mean(estimate_noise(work).rho) == pytest.approx(rho, abs=0.05)


def test_the_errors_of_repeats_explain_their_part():
    errors = np.where(np.arange(400) % 2, 0.05, 0.001) * np.ones((40, 1))
    random = np.random.default_rng(1)
    work = 0.01 * random.standard_normal(errors.shape) + errors * random.standard_normal(errors.shape)
    model = estimate_noise(work, errors)
    assert np.median(model.between) == pytest.approx(0.01, rel=0.25)
    loud = estimate_noise(0.001 * work, 100 * errors)
    assert loud.between == pytest.approx(FLOOR, rel=0.3)


@pytest.mark.parametrize("points", [3, 6, 7, 14, 15, 16])
def test_short_series_have_a_noise_model_too(points):
    model = estimate_noise(np.zeros((2, points)))
    assert model.sigma.tolist() == [FLOOR, FLOOR]
