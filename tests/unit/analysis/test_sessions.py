"""A contender against a history of sessions: its error contains the noise between them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.analysis.samples.compare import compare
from anubis.analysis.samples.sessions import against_history, centre, grouped, split_noise
from anubis.analysis.verdict_text import next_step, render
from anubis.model.verdict import Judgement

GATES = 3000


def gates(random, *, sessions, runs, k, session_sd, run_sd, shift=0.0, contender_sessions=1):
    """Comparisons of a contender with a history; values are logs."""
    for _ in range(GATES):
        old = [
            sorted(session_sd * random.standard_normal() + run_sd * random.standard_normal(runs))
            for _ in range(sessions)
        ]
        new = [
            sorted(shift + session_sd * random.standard_normal() + run_sd * random.standard_normal(k))
            for _ in range(contender_sessions)
        ]
        yield against_history(old, new)


def rate(**setup):
    return np.mean([found.shift.p <= 0.05 for found in gates(np.random.default_rng(20260907), **setup)])


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8])
@pytest.mark.parametrize(("sessions", "runs"), [(20, 1), (8, 1), (20, 3)])
def test_the_rate_of_false_changes_does_not_depend_on_the_runs_of_the_session(k, sessions, runs):
    assert 0.03 <= rate(sessions=sessions, runs=runs, k=k, session_sd=0.015, run_sd=0.005) <= 0.07


@pytest.mark.parametrize("k", [1, 3, 8])
def test_the_rate_holds_without_noise_between_sessions(k):
    assert rate(sessions=20, runs=3, k=k, session_sd=0.0, run_sd=0.005) <= 0.07


def test_more_runs_help_only_where_runs_are_the_noise():
    def power(**setup):
        return rate(sessions=20, runs=3, shift=0.012, **setup)

    assert power(k=8, session_sd=0.0, run_sd=0.008) > power(k=1, session_sd=0.0, run_sd=0.008) + 0.3
    assert power(k=8, session_sd=0.008, run_sd=0.002) < power(k=1, session_sd=0.008, run_sd=0.002) + 0.1


def test_more_sessions_help_where_sessions_are_the_noise():
    one, four = (
        rate(sessions=20, runs=1, k=3, session_sd=0.008, run_sd=0.002, shift=0.02, contender_sessions=count)
        for count in (1, 4)
    )
    assert four > one + 0.2


def test_the_noise_is_split():
    random = np.random.default_rng(3)
    sessions = [
        sorted(0.03 * random.standard_normal() + 0.01 * random.standard_normal(4)) for _ in range(400)
    ]
    between, within = split_noise(sessions)
    assert between == pytest.approx(0.03, rel=0.15)
    assert within == pytest.approx(0.01, rel=0.15)
    assert split_noise([[value] for value in random.standard_normal(20)]) is None
    assert split_noise(sessions[:2]) is None


def a_verdict(old, new, **changes):
    """``old`` and ``new`` are lists of sessions."""
    return compare(
        "latency",
        [value for session in old for value in session],
        [value for session in new for value in session],
        units="ms",
        better="lower",
        baseline_sessions=tuple(map(len, old)),
        contender_sessions=tuple(map(len, new)),
        **changes,
    )


def levels(random, count, sd=0.02, runs=1, level=100.0, run_sd=0.002):
    return [
        list(level * np.exp(sd * random.standard_normal() + run_sd * random.standard_normal(runs)))
        for _ in range(count)
    ]


def test_three_runs_of_one_session_are_one_value_and_sessions_are_what_is_missing():
    random = np.random.default_rng(5)
    verdict = a_verdict(levels(random, 20), levels(random, 1, runs=3, level=104.0, sd=0.0))
    assert verdict.judgement is Judgement.UNDECIDED
    assert verdict.sessions == (20, 1)
    assert verdict.more_runs is None
    assert f"unclear, about {verdict.more_sessions} more session" in render(verdict)
    assert f"{verdict.more_sessions} more sessions of the contender decide this" in next_step(verdict)
    assert "% between sessions, 0." in next_step(verdict)


def test_more_runs_are_proposed_where_they_suffice():
    random = np.random.default_rng(6)
    old = levels(random, 20, sd=0.0, runs=4, run_sd=0.02)
    verdict = a_verdict(old, [[104.9]], min_effect=0.02)
    assert verdict.judgement is Judgement.UNDECIDED
    assert verdict.more_sessions is None
    assert verdict.more_runs
    assert "of the contender in each session" in next_step(verdict)


def test_a_large_shift_is_found_and_named_by_the_values_shown():
    random = np.random.default_rng(7)
    verdict = a_verdict(levels(random, 20), levels(random, 2, runs=3, level=130.0))
    assert verdict.judgement is Judgement.REGRESSED
    assert verdict.effect == pytest.approx(verdict.contender / verdict.baseline - 1, abs=1e-3)


@pytest.mark.parametrize("spike", [2.0, 10.0, 0.1])
def test_a_spike_in_the_history_moves_no_verdict(spike):
    random = np.random.default_rng(8)
    for level, judgement in ((100.0, Judgement.UNCHANGED), (105.0, Judgement.REGRESSED)):
        old = levels(random, 20, sd=0.003)
        old[11] = [old[11][0] * spike]
        verdict = a_verdict(old, levels(random, 1, level=level, sd=0.0))
        assert verdict.judgement is judgement


@pytest.mark.parametrize("spike", [2.0, 10.0, 0.1])
@pytest.mark.parametrize("count", [1, 2])
def test_a_spike_in_the_baseline_moves_no_verdict_about_one_or_two_runs(spike, count):
    random = np.random.default_rng(9)
    old = [value for session in levels(random, 20, sd=0.003) for value in session]
    old[4] *= spike
    for level, judgement in ((100.0, Judgement.UNCHANGED), (105.0, Judgement.REGRESSED)):
        verdict = compare("latency", old, [level] * count, better="lower", history=old)
        assert verdict.judgement is judgement


def test_with_too_few_sessions_the_verdict_says_what_it_does_not_contain():
    random = np.random.default_rng(10)
    verdict = a_verdict(levels(random, 1, sd=0.0, runs=8), levels(random, 1, sd=0.0, runs=8))
    assert verdict.sessions == (1, 1)
    assert "The noise between sessions is not part of this" in next_step(verdict)


def test_values_without_spread_have_a_single_point():
    same = a_verdict([[5.0]] * 6, [[5.0, 5.0]])
    other = a_verdict([[5.0]] * 6, [[6.0]])
    assert (same.judgement, same.interval) == (Judgement.UNCHANGED, (0.0, 0.0))
    assert other.judgement is Judgement.REGRESSED


VALUES = st.floats(1.0, 1000.0)


@settings(deadline=None)
@given(
    st.lists(st.lists(VALUES, min_size=1, max_size=4), min_size=3, max_size=9),
    st.lists(st.lists(VALUES, min_size=1, max_size=4), min_size=1, max_size=3),
    st.sampled_from([0.25, 2.0, 8.0]),
)
def test_the_unit_does_not_change_the_verdict(old, new, factor):
    plain = a_verdict(old, new)
    scaled = a_verdict(
        [[factor * value for value in s] for s in old], [[factor * value for value in s] for s in new]
    )
    assert scaled.effect == pytest.approx(plain.effect, rel=1e-6, abs=1e-9)
    assert scaled.p == pytest.approx(plain.p, rel=1e-4, abs=1e-9)


def test_groups_keep_their_values():
    assert grouped([3.0, 1.0, 2.0, 5.0], (2, 1, 1)) == [[1.0, 3.0], [2.0], [5.0]]
    assert centre([[1.0, 3.0], [7.0], [5.0, 5.0, 90.0]]) == 5.0
