"""P from the tails that were seen: error rates of gates with many metrics, and what one spike may change."""

import numpy as np
import pytest
from scipy.stats import kstest

from anubis.analysis.samples.calibration import FEWEST_RESIDUALS, Calibration, leave_one_out
from anubis.analysis.samples.compare import compare_many
from anubis.analysis.samples.moderation import Prior
from anubis.analysis.samples.spread import noise_floor, noise_floors
from anubis.model.verdict import Judgement, Sides
from support.noises import NOISES, spikes

PAST = 20


def against_its_past(row):
    return Sides(
        metric="m",
        baseline=tuple(row[:PAST]),
        contender=(row[PAST],),
        better="lower",
        baseline_sessions=(1,) * PAST,
        contender_sessions=(1,),
    )


def calibrated(noise, metrics, seed):
    levels = noise(np.random.default_rng(seed), (metrics, PAST))
    return Calibration.of(leave_one_out(levels.tolist()).tested(Prior()))


@pytest.mark.parametrize("noise", NOISES)
def test_calibrated_p_values_of_another_sample_are_uniform(noise):
    calibration = calibrated(noise, 500, 3)
    others = leave_one_out(noise(np.random.default_rng(4), (500, PAST)).tolist()).tested(Prior())
    assert kstest(calibration.p(others.probabilities), "uniform").statistic < 0.04


@pytest.mark.parametrize("metrics", [0, 3, 100])
def test_p_rises_with_the_p_of_student_and_level_is_its_inverse(metrics):
    calibration = calibrated(spikes, metrics, 5)
    ascending = calibration.p(np.array([0.0, 1e-200, 1e-30, 1e-9, 1e-4, 0.01, 0.05, 0.3, 0.9, 1.0])).tolist()
    assert ascending == sorted(ascending)
    assert ascending[0] >= 0
    assert ascending[-1] <= 1
    assert calibration.p(np.array([calibration.level])) == pytest.approx(0.05, abs=0.002)


def test_few_values_only_inflate():
    assert calibrated(spikes, FEWEST_RESIDUALS // PAST - 1, 6).inflation >= 1
    assert Calibration.of(leave_one_out([]).tested(Prior())).p(np.array([0.01])) == pytest.approx(0.01)


@pytest.mark.parametrize("noise", NOISES)
def test_one_run_against_the_histories_of_many_unchanged_metrics_has_no_false_regression(noise):
    random = np.random.default_rng(20261123)
    false = 0
    for _ in range(3):
        values = 100 * np.exp(0.02 * noise(random, (300, PAST + 1)))
        verdicts = compare_many(map(against_its_past, values.tolist())).verdicts
        false += sum(one.judgement is Judgement.REGRESSED for one in verdicts)
    assert false <= 1


@pytest.mark.parametrize("share", [0.001, 0.01, 0.02])
def test_a_shift_beyond_all_spikes_is_found_although_many_values_are_spikes(share):
    random = np.random.default_rng(20261124)
    noise = random.standard_normal((600, PAST + 1))
    noise[:, :PAST] += 10 * random.choice([-1, 1], (600, PAST)) * (random.random((600, PAST)) < share)
    noise[0, PAST] = 25.0
    judged = compare_many(map(against_its_past, (100 * np.exp(0.02 * noise)).tolist())).verdicts
    assert judged[0].judgement is Judgement.REGRESSED
    assert sum(one.judgement is Judgement.REGRESSED for one in judged) == 1


def test_the_noise_of_many_rows_is_the_noise_of_each():
    random = np.random.default_rng(8)
    for count in (3, 5, 6, 19):
        rows = random.standard_normal((40, count))
        rows[::2] = np.round(rows[::2])
        rows[0] = 7.0
        assert noise_floors(rows) == pytest.approx([noise_floor(row) for row in rows.tolist()])


def test_values_that_recur_have_the_noise_of_their_resolution():
    assert noise_floor([9.0] * 19 + [10.0]) == pytest.approx(1 / 12**0.5)
    assert noise_floor([9.0] * 20) == 0
