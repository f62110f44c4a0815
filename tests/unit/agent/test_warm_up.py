"""The end of a warm-up of automatic length, on series of durations whose steady state is known."""

import random
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.agent.execute.warm_up import WINDOW, WarmUp, is_steady, median
from anubis.model.descriptor import MOST_WARMUPS

levels = st.floats(1e-3, 1e4)
seeds = st.integers(0, 2**32)


def ended(durations):
    """The result of a warm-up of a benchmark with these durations, in seconds."""
    warm_up = WarmUp(MOST_WARMUPS)
    for duration in durations:
        if warm_up.has_ended:
            break
        warm_up.note(float(duration))
    facts = warm_up.facts()
    assert facts is not None
    return facts


def noise(seed, sigma, count=MOST_WARMUPS):
    draw = random.Random(seed)
    return [draw.gauss(1.0, sigma) for _ in range(count)]


@given(levels)
def test_a_steady_series_ends_with_the_first_window(level):
    assert ended([level] * MOST_WARMUPS) == {"executions": WINDOW, "is_steady": True, "why": "steady"}


@given(levels, st.floats(0.01, 0.1))
def test_a_linear_decline_is_never_steady(level, share):
    durations = [level * (1 + share * (MOST_WARMUPS - number)) for number in range(MOST_WARMUPS)]
    assert ended(durations) == {"executions": MOST_WARMUPS, "is_steady": False, "why": "limit"}


@given(levels, st.floats(1.1, 100.0), st.integers(1, WINDOW - 2))
def test_a_step_is_waited_for(level, factor, after):
    durations = [level * factor] * after + [level] * (MOST_WARMUPS - after)
    found = ended(durations)
    assert found["is_steady"]
    assert found["executions"] > after
    window = durations[: found["executions"]][-WINDOW:]
    assert median(window[: WINDOW // 2]) == median(window[WINDOW // 2 :]) == level


@given(levels, st.floats(0.3, 0.8))
def test_a_geometric_decline_ends_close_to_its_final_level(level, ratio):
    durations = [level * (1 + 3 * ratio**number) for number in range(MOST_WARMUPS)]
    found = ended(durations)
    if found["is_steady"]:
        assert durations[found["executions"] - 1] < 1.05 * level


@given(levels, st.floats(1.0, 1000.0), st.integers(0, WINDOW - 1))
def test_a_spike_does_not_prolong_the_warm_up(level, factor, at):
    durations = [level] * MOST_WARMUPS
    durations[at] *= factor
    assert ended(durations)["executions"] == WINDOW


@given(levels, st.floats(1.05, 3.0), st.integers(0, WINDOW - 1))
def test_a_spike_does_not_end_a_warm_up(level, factor, at):
    durations = [level * (1 + 0.2 * (WINDOW - number)) for number in range(WINDOW)]
    durations[at] *= factor
    assert not is_steady(durations)


@given(levels, st.floats(1.05, 3.0))
def test_a_cycle_as_long_as_the_window_is_not_steady(level, factor):
    half = WINDOW // 2
    cycle = [level] * half + [level * factor] * half
    assert not is_steady(cycle)
    assert not is_steady(cycle[half:] + cycle[:half])


@given(levels, st.floats(0.05, 3.0))
def test_a_cycle_of_three_levels_that_is_longer_than_the_window_is_never_steady(level, step):
    durations = [level * (1 + number // 4 % 3 * step) for number in range(MOST_WARMUPS)]
    assert ended(durations)["executions"] == MOST_WARMUPS


@given(levels, st.floats(1.05, 3.0))
def test_an_alternation_is_scatter(level, factor):
    assert ended([level, level * factor] * MOST_WARMUPS)["executions"] == WINDOW


@pytest.mark.parametrize("sigma", [0.002, 0.02, 0.2])
def test_noise_alone_is_steady_soon(sigma):
    found = [ended(noise(seed, sigma)) for seed in range(500)]
    assert all(one["is_steady"] for one in found)
    assert sum(one["executions"] == WINDOW for one in found) >= 0.85 * len(found)


def test_a_decline_in_noise_is_mostly_waited_for():
    early = 0
    for seed in range(500):
        durations = [value + max(0.0, 0.5 - 0.05 * number) for number, value in enumerate(noise(seed, 0.02))]
        early += ended(durations)["executions"] < 10
    assert early <= 0.1 * 500


@given(st.lists(st.floats(0, 1e6), min_size=WINDOW, max_size=WINDOW))
def test_the_unit_of_time_does_not_matter(durations):
    doubled = [2 * value for value in durations]
    assert is_steady(durations) == is_steady(doubled)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1))
def test_the_median_is_that_of_the_standard_library(values):
    assert median(values) == statistics.median(values)


def test_no_end_without_enough_executions():
    warm_up = WarmUp(MOST_WARMUPS)
    for _ in range(WINDOW - 1):
        warm_up.note(1.0)
    assert not warm_up.has_ended
    assert warm_up.facts() is None
