"""The effect of the slot: what is measured first in a round against what is measured second."""

import numpy as np
import pytest

from anubis.analysis.samples.compare import compare, render
from anubis.analysis.samples.slots import FEWEST_PAIRS, without_slot
from anubis.analysis.verdict_text import next_step
from anubis.model.verdict import Estimator, Judgement

#: The contender is measured second in every other round.
ORDER = [True, False] * 15


def differences(random, pairs, *, change=0.0, slot=0.0, noise=1.0):
    sign = np.where(ORDER[:pairs], 1.0, -1.0)
    return (change + sign * slot + noise * random.standard_normal(pairs)).tolist()


def test_a_slot_effect_is_found_and_removed():
    found = without_slot(differences(np.random.default_rng(1), 10, change=3, slot=5), ORDER[:10])
    assert found.effect == pytest.approx(5, abs=1)
    assert np.mean(found.differences) == pytest.approx(3, abs=1)
    assert np.std(found.differences) < 2


def test_noise_is_no_slot_effect():
    random = np.random.default_rng(2)
    found = [without_slot(differences(random, 10), ORDER[:10]).effect for _ in range(1000)]
    assert sum(effect is not None for effect in found) <= 20


def test_without_an_effect_the_differences_are_unchanged():
    values = differences(np.random.default_rng(3), 12)
    assert without_slot(values, ORDER[:12]).differences == tuple(values)


@pytest.mark.parametrize("order", [(), [True] * 10, [True] * 9 + [False]])
def test_an_order_that_is_unknown_or_not_balanced_shows_no_effect(order):
    values = differences(np.random.default_rng(4), 10, slot=50)
    assert without_slot(values, order).effect is None


def test_few_pairs_show_no_effect():
    values = differences(np.random.default_rng(5), FEWEST_PAIRS - 1, slot=50)
    assert without_slot(values, ORDER[: FEWEST_PAIRS - 1]).effect is None


def test_one_spike_is_no_slot_effect():
    values = differences(np.random.default_rng(6), 10)
    assert without_slot([values[0] + 100, *values[1:]], ORDER[:10]).effect is None


def test_equal_differences_have_a_slot_effect_without_noise():
    found = without_slot([1.0, -1.0] * 4, ORDER[:8])
    assert (found.effect, found.differences) == (1.0, (0.0,) * 8)
    assert without_slot([2.0] * 8, ORDER[:8]).effect is None


def rate_changed(pairs, *, change, slot, count=800, seed=7):
    """The share of comparisons that find a change in values with 1 % of noise."""
    random = np.random.default_rng(seed + pairs)
    together = [(at, at) for at in range(pairs)]
    changed = 0
    for _ in range(count):
        noise = np.exp(0.01 * random.standard_normal((2, pairs)))
        second = np.array(ORDER[:pairs])
        old = 100 * noise[0] * np.where(second, 1.0, 1 + slot)
        new = 100 * noise[1] * np.where(second, 1 + slot, 1.0) * (1 + change)
        verdict = compare(
            "m", old.tolist(), new.tolist(), min_effect=0, pairs=together, contender_second=ORDER[:pairs]
        )
        changed += verdict.judgement is Judgement.CHANGED
    return changed / count


@pytest.mark.parametrize("pairs", [6, 7, 10])
@pytest.mark.parametrize("slot", [0.0, 0.02, 0.2])
def test_the_rate_of_false_changes_holds_whatever_the_slot_effect(pairs, slot):
    assert rate_changed(pairs, change=0.0, slot=slot) <= 0.075


def test_a_slot_effect_hides_no_change():
    """Ten times the change: the differences within the rounds have both signs."""
    assert rate_changed(10, change=0.03, slot=0.3, count=200) >= 0.95


def test_the_noise_floor_does_not_contain_the_slot_effect_and_the_verdict_shows_it():
    random = np.random.default_rng(9)
    noise = np.exp(0.01 * random.standard_normal((2, 10)))
    second = np.array(ORDER[:10])
    old = (100 * noise[0] * np.where(second, 1.0, 1.2)).tolist()
    new = (100 * noise[1] * np.where(second, 1.2, 1.0)).tolist()
    verdict = compare(
        "m",
        old,
        new,
        better="lower",
        pairs=[(at, at) for at in range(10)],
        contender_second=ORDER[:10],
    )
    assert verdict.estimator is Estimator.PAIRS
    assert verdict.judgement is Judgement.UNCHANGED, render(verdict)
    assert verdict.noise_floor < 0.03
    assert verdict.slot_effect == pytest.approx(0.2, abs=0.02)
    assert "The second run of a round is" in next_step(verdict)
    assert "higher than the first" in next_step(verdict)
