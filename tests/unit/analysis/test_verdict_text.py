"""The one output form, and the sentence after it."""

import pytest

from anubis.analysis.samples.compare import compare
from anubis.analysis.verdict_text import next_step, render
from anubis.model.verdict import Judgement, Verdict


def verdict(**changes):
    fields = {
        "metric": "throughput",
        "units": "img/s",
        "judgement": Judgement.REGRESSED,
        "effect": -0.0441,
        "interval": (-0.0583, -0.0312),
        "p": 0.0004,
        "n_baseline": 10,
        "n_contender": 10,
        "baseline": 912.4,
        "contender": 871.9,
        "min_effect": 0.02,
        "noise_floor": 0.012,
        "detectable": 0.016,
        "better": "higher",
    }
    return Verdict(**(fields | changes))


def test_the_form_is_the_one_of_the_design():
    expected = "throughput  912.4 -> 871.9 img/s  -4.4 % [-5.8, -3.1]  p=.0004  n=10+10 runs  REGRESSION (min effect 2 %)"
    assert render(verdict()) == expected


@pytest.mark.parametrize(
    ("changes", "ending"),
    [
        ({"judgement": Judgement.IMPROVED}, "IMPROVEMENT (min effect 2 %)"),
        ({"judgement": Judgement.CHANGED, "min_effect": 0.005}, "CHANGE (min effect 0.5 %)"),
        ({"judgement": Judgement.UNCHANGED}, "no change >= 2 %"),
        ({"judgement": Judgement.UNDECIDED, "more_runs": 1}, "unclear, about 1 more run"),
        ({"judgement": Judgement.UNDECIDED, "more_runs": 7}, "unclear, about 7 more runs"),
        ({"judgement": Judgement.UNDECIDED}, "unclear"),
        ({"judgement": Judgement.UNDECIDED, "interval": None, "more_runs": 4}, "not enough runs"),
        ({"judgement": Judgement.UNDECIDED, "interval": None, "effect": None}, "no value on one side"),
    ],
)
def test_every_judgement_has_its_words(changes, ending):
    assert render(verdict(**changes)).endswith(f"runs  {ending}")


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.00003, "p<.0001"),
        (0.0004, "p=.0004"),
        (0.0421, "p=.042"),
        (0.35, "p=.35"),
        (1.0, "p=1"),
        (0.999, "p=1"),
    ],
)
def test_probabilities_are_short(p, text):
    assert f"  {text}  " in render(verdict(p=p))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (123456.0, "123456"),
        (0.001234, "0.001234"),
        (0.0, "0"),
        (-5.5, "-5.500"),
        (1e-9, "1e-09"),
        (3e15, "3e+15"),
        (999999.9, "1000000"),
        (None, "none"),
    ],
)
def test_values_are_written_as_people_read_them(value, text):
    assert f"{text} -> " in render(verdict(baseline=value, units="none"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {},
            "Runs differ by 1.2 % (one standard deviation); with 10+10 runs, a change of 1.6 % is detected with 80 % power",
        ),
        ({}, "accept the contender as the new baseline"),
        ({"judgement": Judgement.IMPROVED}, "hold the gain"),
        ({"judgement": Judgement.UNCHANGED}, "No action is needed."),
        ({"judgement": Judgement.UNDECIDED, "more_runs": 7}, "Add 7 runs on each side"),
        ({"judgement": Judgement.UNDECIDED}, "make the benchmark quieter"),
        ({"judgement": Judgement.UNDECIDED, "effect": None, "noise_floor": None}, "A side has no value"),
        ({"noise_floor": None}, "The noise between runs is not known yet"),
    ],
)
def test_the_next_step_says_noise_and_action(changes, words):
    assert words in next_step(verdict(**changes))


def test_extreme_effects_stay_readable():
    assert len(render(compare("m", [1e-300] * 6, [1e300] * 6))) < 120
    assert "+0.04 % [+0.03, +0.05]" in render(verdict(effect=0.0004, interval=(0.0003, 0.0005)))
