"""Two samples: the three ways to judge, and what must hold for all inputs."""

import math
import statistics

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from anubis.analysis.samples.compare import compare, compare_many
from anubis.model.errors import BadInputError
from anubis.model.verdict import Estimator, Judgement, Sides

QUIET = [100.0, 100.4, 99.7, 100.2, 99.9, 100.1, 99.6, 100.3]

runs = st.lists(st.floats(0.5, 2.0), min_size=0, max_size=12)
values = st.floats(allow_nan=False, allow_infinity=False)


def scaled(values, factor):
    return [value * factor for value in values]


@pytest.mark.parametrize(
    ("n", "tested"), [(0, False), (1, False), (2, False), (3, True), (5, True), (6, True)]
)
def test_the_number_of_runs_decides_whether_there_is_a_test(n, tested):
    verdict = compare("latency", QUIET[:n], scaled(QUIET, 1.1)[:n], better="lower")
    assert (verdict.interval is not None) is tested
    assert verdict.judgement is (Judgement.REGRESSED if tested else Judgement.UNDECIDED)
    assert (verdict.effect is None) is (n == 0)


@pytest.mark.parametrize(
    ("better", "factor", "judgement"),
    [
        ("higher", 0.9, Judgement.REGRESSED),
        ("higher", 1.1, Judgement.IMPROVED),
        ("lower", 0.9, Judgement.IMPROVED),
        ("lower", 1.1, Judgement.REGRESSED),
        ("none", 1.1, Judgement.CHANGED),
        ("higher", 1.001, Judgement.UNCHANGED),
    ],
)
def test_the_direction_decides_only_the_name(better, factor, judgement):
    verdict = compare("m", QUIET, scaled(QUIET, factor), better=better)
    assert verdict.judgement is judgement
    assert verdict.effect == pytest.approx(factor - 1, abs=1e-3)


def test_an_effect_at_the_minimum_is_undecided_and_says_how_many_runs_to_add():
    verdict = compare("m", QUIET, scaled(QUIET, 1.022))
    assert verdict.judgement is Judgement.UNDECIDED
    assert verdict.more_runs is not None
    assert verdict.more_runs > 0


def test_the_number_of_runs_it_asks_for_mostly_settles_it():
    noise = np.random.default_rng(5)
    asked = settled = 0
    for _ in range(60):
        baseline, contender = np.exp(0.03 * noise.standard_normal((2, 400)))
        first = compare("m", baseline[:8].tolist(), (1.06 * contender[:8]).tolist())
        if first.judgement is Judgement.UNDECIDED and first.more_runs and first.more_runs < 390:
            n = 8 + first.more_runs
            again = compare("m", baseline[:n].tolist(), (1.06 * contender[:n]).tolist())
            asked += 1
            settled += again.judgement is Judgement.CHANGED
    assert asked >= 15
    assert settled > 0.7 * asked


@pytest.mark.parametrize("n", [3, 5, 6, 20])
def test_constants_never_alarm(n):
    verdict = compare("m", [7.0] * n, [7.0] * n, better="higher", min_effect=0.0 if n > 5 else 0.02)
    assert verdict.judgement in (Judgement.UNCHANGED, Judgement.UNDECIDED)
    assert verdict.effect == 0
    assert verdict.p == 1


@pytest.mark.parametrize("n", [3, 6])
def test_constant_sides_that_differ_have_changed(n):
    verdict = compare("instructions", [1000.0] * n, [1100.0] * n, better="lower")
    assert verdict.judgement is Judgement.REGRESSED
    assert verdict.interval == pytest.approx((0.1, 0.1))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("side", ["baseline", "contender", "history"])
def test_values_that_are_no_numbers_are_refused(bad, side):
    sides = {"baseline": QUIET, "contender": QUIET, "history": QUIET}
    sides[side] = [1.0, bad]
    with pytest.raises(BadInputError, match=f"'loss'.*{side}.*finite"):
        compare("loss", sides["baseline"], sides["contender"], history=sides["history"])


@pytest.mark.parametrize("bad", [-0.01, math.nan, math.inf])
def test_a_minimum_effect_that_is_no_share_is_refused(bad):
    with pytest.raises(BadInputError, match="minimum effect"):
        compare("m", QUIET, QUIET, min_effect=bad)


@pytest.mark.parametrize("size", [1e-300, 5e-324, 1.0, 1e300])
def test_huge_and_tiny_values_have_effects(size):
    verdict = compare("m", [size * k for k in (1, 2, 1, 2, 1, 2)], [size * k for k in (1, 2, 1, 2, 1, 2)])
    assert verdict.effect == pytest.approx(0)
    far = compare("m", [1e-300] * 6, [1e300] * 6)
    assert math.isfinite(far.effect)


@pytest.mark.parametrize(
    ("baseline", "contender", "effect"),
    [
        ([-10.0] * 6, [-9.0] * 6, 0.1),
        ([0.0] * 6, [5.0] * 6, 1.0),
        ([0.0] * 6, [0.0] * 6, 0.0),
        ([10.0] * 6, [0.0] * 6, -1.0),
        ([-1.0, 1.0] * 3, [-1.0, 1.0] * 3, 0.0),
    ],
)
def test_without_logarithms_differences_are_relative_to_the_baseline(baseline, contender, effect):
    assert compare("delta", baseline, contender).effect == pytest.approx(effect)


def test_history_supplies_the_noise_that_single_runs_lack():
    verdict = compare("m", [100.0], [110.0], better="lower", history=QUIET)
    assert verdict.judgement is Judgement.REGRESSED
    assert verdict.noise_floor == pytest.approx(0.0037, abs=0.002)
    loud = compare("m", [100.0], [110.0], better="lower", history=[80.0, 120.0, 95.0, 105.0, 90.0, 130.0])
    assert loud.judgement is Judgement.UNDECIDED


@given(runs, runs, st.sampled_from([2.0**-30, 0.125, 4.0, 2.0**40]))
@example([1.0, 1.0, 1.0, 1.0, 2.0, 2.0], [1.0, 2.0, 1.5, 1.5, 1.5, 1.9999999999999998], 2.0**-30)
@example([1.0] * 6, [1.0, 1.0, 1.0, 1.0, 2.0, 1.9999999999999998], 2.0**-30)
def test_the_unit_does_not_matter(baseline, contender, factor):
    here = compare("m", baseline, contender)
    there = compare("m", scaled(baseline, factor), scaled(contender, factor))
    assert there.effect == pytest.approx(here.effect, abs=1e-9)
    if here.interval is not None:
        assert there.interval == pytest.approx(here.interval, abs=1e-9)


@given(runs, runs, st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(baseline, contender, random):
    mixed = random.sample(baseline, len(baseline))
    assert compare("m", mixed, contender[::-1]) == compare("m", baseline, contender)


@given(runs, runs)
def test_swapping_the_sides_inverts_the_ratio(baseline, contender):
    assume(baseline and contender)
    there, back = compare("m", baseline, contender), compare("m", contender, baseline)
    assert (1 + there.effect) * (1 + back.effect) == pytest.approx(1)
    if there.p is not None:
        assert there.p == pytest.approx(back.p, abs=1e-9)


@given(st.lists(values, max_size=9), st.lists(values, max_size=9))
def test_any_finite_values_get_a_verdict_without_warnings(baseline, contender):
    verdict = compare("m", baseline, contender)
    if verdict.interval is not None:
        low, high = verdict.interval
        assert low <= verdict.effect <= high
        assert 0 <= verdict.p <= 1


@given(
    st.lists(st.sampled_from([1.0, 1.1, 1.2]), min_size=6, max_size=12),
    st.lists(st.sampled_from([1.0, 1.1, 1.2]), min_size=6, max_size=12),
)
def test_interval_and_p_agree_even_with_ties(baseline, contender):
    verdict = compare("m", baseline, contender)
    low, high = verdict.interval
    assert (low > 0 or high < 0) == (verdict.p <= 0.05)


def test_one_change_among_many_metrics_must_hold_among_all_of_them():
    weak = Sides(
        metric="weak",
        baseline=(1.0, 1.02, 1.01, 1.03, 0.99, 1.0),
        contender=(1.06, 1.1, 1.04, 1.09, 1.025, 1.15),
    )
    still = [Sides(metric=f"m{k}", baseline=tuple(QUIET[:6]), contender=tuple(QUIET[1:7])) for k in range(60)]
    alone, among = compare_many([weak]), compare_many([weak, *still])
    assert alone.verdicts[0].judgement is Judgement.CHANGED
    assert among.verdicts[0].judgement is Judgement.UNDECIDED
    assert among.verdicts[0].adjusted_p > alone.verdicts[0].adjusted_p
    assert among.verdicts[0].more_runs >= 1


def test_the_mean_turns_ratios_so_that_up_is_better():
    faster = Sides(metric="t", baseline=(10.0,) * 6, contender=(5.0,) * 6, better="lower")
    fuller = Sides(metric="u", baseline=(10.0,) * 6, contender=(20.0,) * 6, better="higher")
    neutral = Sides(metric="n", baseline=(10.0,) * 6, contender=(900.0,) * 6)
    together = compare_many([faster, fuller, neutral])
    assert together.mean_effect == pytest.approx(1.0)
    assert together.mean_count == 2
    assert together.mean_interval is None
    assert compare_many([]).mean_effect is None
    assert compare_many([neutral] * 3).mean_interval == pytest.approx((89.0, 89.0))


@pytest.mark.parametrize("spike", [20.0, 1000.0, 1e-3])
@pytest.mark.parametrize(("level", "judgement"), [(105.0, Judgement.REGRESSED), (100.0, Judgement.UNCHANGED)])
def test_a_spike_in_the_history_does_not_move_the_baseline_of_few_runs(spike, level, judgement):
    past = [100.0 * (1 + 0.002 * math.sin(7.3 * at)) for at in range(20)]
    past[9] = spike
    for runs in ([level], [level, level]):
        verdict = compare("m", past, runs, better="lower", history=past)
        assert verdict.judgement is judgement
        assert verdict.effect == pytest.approx(level / 100 - 1, abs=0.001)


@given(
    st.lists(st.floats(1, 1e6), min_size=1, max_size=2), st.lists(st.floats(1, 1e6), min_size=1, max_size=2)
)
def test_with_few_runs_the_effect_is_the_ratio_of_the_medians(old, new):
    verdict = compare("m", old, new)
    assert verdict.estimator is Estimator.MEDIANS
    assert verdict.effect == pytest.approx(
        statistics.median(new) / statistics.median(old) - 1, rel=1e-9, abs=1e-9
    )


@pytest.mark.parametrize(
    ("n", "low", "estimator"),
    [
        (6, 1.0, Estimator.HODGES_LEHMANN),
        (5, 1.0, Estimator.GEOMETRIC_MEANS),
        (5, 0.0, Estimator.MEANS),
        (2, 0.0, Estimator.MEDIANS),
    ],
)
def test_a_verdict_names_its_estimator(n, low, estimator):
    values = [low + at for at in range(n)]
    assert compare("m", values, [value + 1 for value in values]).estimator is estimator
