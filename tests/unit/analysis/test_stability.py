"""Series without a stable level are recognised; series with one are not."""

import numpy as np
import pytest

from anubis.analysis.changes.detection import find_changes, judge_many, judge_series
from anubis.analysis.changes.online import Detector
from anubis.model.series import InstabilityKind, Series


def series(noise, **fields):
    return Series(values=tuple((100 * np.exp(0.02 * noise)).tolist()), **fields)


def modes(random, n=300, distance=5.0, stay=20):
    switches = random.random(n) < 1 / stay
    return distance * (np.cumsum(switches) % 2) + random.standard_normal(n)


def wave(random, n=300, period=40):
    return 2 * np.sin(2 * np.pi * np.arange(n) / period) + random.standard_normal(n)


def walk(random, n=300):
    return np.cumsum(0.7 * random.standard_normal(n))


def kinds(build, count=20, **options):
    many = [series(build(np.random.default_rng([seed, 5]))) for seed in range(count)]
    return [verdict.instability and verdict.instability.kind for verdict in judge_many(many, **options)]


def test_modes_are_described_with_their_levels_and_shares():
    levels = 5.0 * (np.arange(200) // 20 % 4 == 1) + np.random.default_rng(1).standard_normal(200)
    verdict = judge_series(series(levels))
    assert verdict.instability.kind is InstabilityKind.MODES
    low, high = verdict.instability.modes
    assert (low.level, high.level) == (pytest.approx(100, rel=0.02), pytest.approx(110.5, rel=0.02))
    assert (low.share, high.share) == (pytest.approx(0.7, abs=0.05), pytest.approx(0.3, abs=0.05))
    assert verdict.instability.period is None
    assert verdict.changes == ()
    assert verdict.suspected is None


def test_three_modes_are_described_too():
    levels = np.repeat([0.0, 6, 12, 0, 6, 12, 0, 6, 12, 0], 20) + np.random.default_rng(2).standard_normal(
        200
    )
    found = judge_series(series(levels)).instability
    assert [round(mode.level) for mode in found.modes] == [100, 113, 127]


def test_the_period_of_a_cycle_is_given_in_points():
    found = judge_series(series(wave(np.random.default_rng(3)))).instability
    assert found.kind is InstabilityKind.CYCLE
    assert found.period == pytest.approx(40, rel=0.03)


@pytest.mark.parametrize(
    ("build", "kind"),
    [(modes, InstabilityKind.MODES), (wave, InstabilityKind.CYCLE), (walk, InstabilityKind.WANDERING)],
)
def test_unstable_series_are_recognised(build, kind):
    found = kinds(build)
    assert found.count(None) <= 4
    assert found.count(kind) >= 14


def test_stable_series_with_steps_are_not_unstable():
    def stairs(random):
        noise = random.standard_normal(200)
        for at in sorted(random.integers(20, 180, size=3)):
            noise[at:] += random.choice([-1, 1]) * random.uniform(2, 5)
        return noise

    def hump(random):
        noise = random.standard_normal(200)
        noise[90:110] += 5
        return noise

    def slope(random):
        return np.linspace(0, 6, 200) + random.standard_normal(200)

    for build in (stairs, hump, slope, lambda random: random.standard_t(3, 200)):
        assert kinds(build, 40, min_effect=0.0).count(None) >= 39


def test_a_single_step_of_a_series_with_two_modes_is_found():
    random = np.random.default_rng(4)
    noise = 2.0 * (random.random(200) < 0.3) + 0.35 * random.standard_normal(200)
    noise[120:] += 6
    verdict = judge_series(series(noise))
    assert verdict.instability is None
    [change] = verdict.changes
    assert abs(change.index - 120) <= 2


def test_a_series_that_keeps_one_level_again_is_stable():
    random = np.random.default_rng(5)
    noise = np.concatenate([6.0 * (np.arange(120) // 15 % 2), np.zeros(100)]) + random.standard_normal(220)
    assert judge_series(series(noise[:120])).instability
    settled = judge_series(series(noise))
    assert settled.instability is None
    assert settled.changes


def test_changes_before_the_classified_points_are_kept():
    random = np.random.default_rng(6)
    noise = np.concatenate([np.full(100, -30.0), np.zeros(100), 6.0 * (np.arange(400) // 20 % 2)])
    verdict = judge_series(series(noise + random.standard_normal(600)))
    assert verdict.instability.kind is InstabilityKind.MODES
    assert [change.index for change in verdict.changes] == [pytest.approx(100, abs=1)]


def test_modes_below_the_minimum_effect_do_not_matter():
    values = series(modes(np.random.default_rng(7)) / 10)
    assert judge_series(values, min_effect=0.0).instability
    assert judge_series(values, min_effect=0.02).instability is None


def test_values_around_zero_have_modes_in_their_unit():
    levels = 5.0 * (np.arange(200) // 20 % 2) + 0.1 * np.random.default_rng(8).standard_normal(200)
    found = judge_series(Series(values=tuple((levels - 1).tolist()))).instability
    assert [mode.level for mode in found.modes] == [pytest.approx(-1, abs=0.2), pytest.approx(4, abs=0.2)]


@pytest.mark.parametrize("build", [modes, wave, walk])
def test_point_by_point_gives_the_same_classification(build):
    whole = series(build(np.random.default_rng(9), 180))
    detector = Detector()
    for count, value in enumerate(whole.values, 1):
        detector.append(value)
        if count % 20 == 0:
            assert detector.verdict() == judge_series(Series(values=whole.values[:count]))
    assert detector.changes == tuple(find_changes([whole])[0])
