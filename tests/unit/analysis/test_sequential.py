"""Alternated pairs are judged at every look with levels whose rate of false decisions holds over all looks."""

import math
import random

import pytest

from anubis.analysis.samples.looks import FIRST, levels, looks
from anubis.analysis.samples.pairs import signed_rank
from anubis.analysis.samples.sequential import ALPHA, judged
from anubis.model.verdict import Judgement, Sides


def alternated(old, new, *, least=0.02, better="lower"):
    pairs = tuple((at, at) for at in range(len(old)))
    return Sides(
        metric="time",
        baseline=tuple(old),
        contender=tuple(new),
        better=better,
        min_effect=least,
        pairs=pairs,
    )


def noisy(shift, count, seed=1, noise=0.01):
    draw = random.Random(seed)
    old, new = ([100 * math.exp(noise * draw.gauss(0, 1)) for _ in range(count)] for _ in range(2))
    return old, [value * (1 + shift) for value in new]


@pytest.mark.parametrize("most", [6, 8, 20, 60, 200, 1000])
def test_looks_are_even_and_end_with_all_pairs(most):
    found = looks(most)
    assert found[0] == FIRST
    assert found[-1] == most
    assert all(count % 2 == 0 for count in found)
    assert found == sorted(set(found))


@pytest.mark.parametrize("most", [6, 8, 20, 60, 200, 1000])
def test_no_level_exceeds_the_rate_and_the_ranks_of_its_pairs_attain_it(most):
    for pairs, level in levels(most, 0.05).items():
        assert 0 <= level <= 0.05
        if level and pairs <= 30:
            outcomes = level * 2 ** (pairs - 1)
            assert outcomes == pytest.approx(round(outcomes))


def test_a_random_walk_crosses_at_most_as_often_as_asked():
    draw, each, crossed, count = random.Random(5), levels(20, 0.05), 0, 1500
    for _ in range(count):
        differences = [draw.gauss(0, 1) for _ in range(20)]
        crossed += any(signed_rank(differences[:pairs]).p <= level for pairs, level in each.items() if level)
    assert crossed <= 0.05 * count + 3 * math.sqrt(0.05 * 0.95 * count)
    assert crossed >= 0.02 * count


@pytest.mark.parametrize(
    ("shift", "better", "judgement"),
    [
        (0.10, "lower", Judgement.REGRESSED),
        (0.10, "higher", Judgement.IMPROVED),
        (-0.10, "lower", Judgement.IMPROVED),
        (0.10, "none", Judgement.CHANGED),
        (0.0, "lower", Judgement.UNCHANGED),
    ],
)
def test_a_clear_metric_is_decided_early_and_keeps_its_verdict(shift, better, judgement):
    old, new = noisy(shift, 60)
    (verdict,) = judged([alternated(old, new, better=better)], 60)
    assert verdict.judgement is judgement
    assert verdict.n_baseline == verdict.n_contender <= 30
    again = judged([alternated(old[: verdict.n_baseline], new[: verdict.n_baseline], better=better)], 60)
    assert again == [verdict], "later rounds do not change it"


def test_an_undecided_metric_proposes_rounds_and_shows_no_p():
    (verdict,) = judged([alternated(*noisy(0.025, 20, noise=0.02), least=0.02)], 60)
    assert verdict.judgement is Judgement.UNDECIDED
    assert verdict.p is verdict.detectable is None
    assert verdict.more_runs is None or verdict.more_runs >= 2
    low, high = verdict.interval
    assert low < verdict.effect < high


@pytest.mark.parametrize("count", [0, 1, 2, 4])
def test_too_few_pairs_decide_nothing(count):
    (verdict,) = judged([alternated(*noisy(5.0, count))], 60)
    assert verdict.judgement is Judgement.UNDECIDED
    assert verdict.interval is None
    assert verdict.more_runs >= 2


def test_many_metrics_share_the_rate():
    each = alternated(*noisy(0.05, 60, noise=0.04))
    alone, (together, *_) = judged([each], 60), judged([each] * 20, 60)
    assert together.n_baseline >= alone[0].n_baseline
    assert levels(60, ALPHA / 20)[60] < levels(60, ALPHA)[60]


def test_one_spike_does_not_hide_a_change():
    old, new = noisy(0.1, 20)
    old[3] *= 10
    (verdict,) = judged([alternated(old, new)], 20)
    assert verdict.judgement is Judgement.REGRESSED


def test_equal_values_are_unchanged_and_zeros_are_allowed():
    (verdict,) = judged([alternated([5.0] * 20, [5.0] * 20)], 20)
    assert verdict.judgement is Judgement.UNCHANGED
    (verdict,) = judged([alternated([0.0] * 20, [0.0] * 20)], 20)
    assert verdict.judgement is Judgement.UNCHANGED
