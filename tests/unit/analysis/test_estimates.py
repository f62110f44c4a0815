"""Ties, pairs and the floor of the noise from a history: what each changes about a verdict."""

import numpy as np
import pytest
from scipy.stats import fisher_exact

from anubis.analysis.samples.compare import compare
from anubis.analysis.samples.estimates import _p_given_ties
from anubis.analysis.verdict_text import next_step
from anubis.model.verdict import Estimator, Judgement


def rate_changed(old, new, runs, count=1000):
    random = np.random.default_rng([runs, int(100 * old), int(100 * new)])
    first, second = ((random.random((count, runs)) < share) + 1.0 for share in (old, new))
    found = [compare("m", a, b).judgement for a, b in zip(first.tolist(), second.tolist(), strict=True)]
    return found.count(Judgement.CHANGED) / count


def test_a_metric_with_two_values_shows_that_their_shares_changed():
    assert rate_changed(0.2, 0.8, 20) >= 0.9
    for share in (0.05, 0.2, 0.5, 0.8):
        assert rate_changed(share, share, 20) <= 0.06


def test_two_values_have_the_mid_p_of_fishers_exact_test():
    old, new = [1.0] * 16 + [2.0] * 4, [1.0] * 6 + [2.0] * 14
    exact = fisher_exact([[16, 4], [6, 14]], alternative="greater").pvalue
    assert exact < _p_given_ties(old, new) < 2 * exact
    assert _p_given_ties(old, old) == pytest.approx(1, abs=0.01)
    assert _p_given_ties([1.0] * 6, [1.0] * 6) == 1


def test_pairs_cancel_what_their_runs_share():
    random = np.random.default_rng(11)
    found = {(): 0, "pairs": 0}
    for _ in range(200):
        machine = 0.03 * random.standard_normal(10)
        old, new = (100 * np.exp(machine + 0.005 / 2**0.5 * random.standard_normal(10)) for _ in range(2))
        for pairs in ((), "pairs"):
            together = [(at, at) for at in range(10)] if pairs else ()
            verdict = compare("m", old.tolist(), (1.03 * new).tolist(), min_effect=0, pairs=together)
            found[pairs] += verdict.judgement is Judgement.CHANGED
    assert verdict.estimator is Estimator.PAIRS
    assert found["pairs"] >= 190
    assert found[()] <= 150


def test_two_pairs_are_judged_as_runs():
    values = [100.0, 101.0, 99.0]
    assert compare("m", values, values, pairs=[(0, 0), (1, 1)]).estimator is Estimator.GEOMETRIC_MEANS


def test_three_runs_of_one_mode_are_not_a_change_if_the_history_has_two_modes():
    modes = [100.0, 100.5, 110.0, 99.5, 110.5, 100.2, 109.5, 100.1, 99.8, 110.2]
    old, new = [100.0, 100.1, 99.9], [110.0, 110.1, 109.9]
    without = compare("m", old, new)
    assert without.judgement is Judgement.CHANGED
    assert without.two_modes_possible
    assert "3 runs without earlier values cannot exclude that the metric has two modes" in next_step(without)
    with_history = compare("m", old, new, history=modes)
    assert with_history.judgement is Judgement.UNDECIDED
    assert not with_history.two_modes_possible
    assert "two modes" not in next_step(with_history)


def test_six_runs_a_side_can_show_two_modes():
    values = [100.0, 101.0, 99.0, 100.5, 99.5, 100.2]
    assert not compare("m", values, values).two_modes_possible
    assert compare("m", values[:5], values).two_modes_possible
    assert not compare("m", values[:2], values[:2]).two_modes_possible
