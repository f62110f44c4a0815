"""Values, levels and effects as text: what is printed agrees with itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.analysis.quantities import apart, common_scale, effect_between, levels_text, percent

POSITIVE = st.floats(1e-9, 1e9)


@pytest.mark.parametrize(
    ("before", "after", "units", "text"),
    [
        (912.4, 871.9, "img/s", "912.4 -> 871.9 img/s"),
        (0.003534, 0.0041, "s", "3.534 -> 4.100 ms"),
        (0.0009, 0.0012, "s", "0.9000 -> 1.200 ms"),
        (0.9, 1.2, "s", "0.9000 -> 1.200 s"),
        (1 << 20, 3 << 19, "bytes", "1.000 -> 1.500 MiB"),
        (1.0, None, "none", "1.000 -> none"),
        (0.0, 2.0, "1/s", "0 -> 2.000 1/s"),
        (float("inf"), 1.0, "s", "inf -> 1.000 s"),
    ],
)
def test_two_levels_have_one_unit(before, after, units, text):
    assert levels_text(before, after, units) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(1234.5, "+1.2e+05"), (0.0214, "+2.1"), (-0.00001, "0.0"), (999.9, "+99990.0")]
)
def test_effects_in_per_cent_have_one_decimal_place_unless_they_are_very_large(ratio, text):
    assert percent(ratio, sign=True) == text


def test_the_scale_is_that_of_the_largest_value():
    assert common_scale([0.5, 20.0, None], "s") == (1.0, "s")
    assert common_scale([], "s") == (1.0, "s")


@pytest.mark.parametrize(
    ("values", "texts"),
    [((45, 50), ("45 ms", "50 ms")), ((49.99999, 50), ("49.99999 ms", "50 ms")), ((2, 2), ("2 ms", "2 ms"))],
)
def test_different_values_have_different_texts(values, texts):
    assert apart(*values, "ms") == texts


@given(st.floats(-1e9, 1e9), st.floats(-1e9, 1e9))
def test_texts_are_equal_only_if_the_values_are(one, two):
    texts = apart(one, two, "none")
    assert (texts[0] == texts[1]) == (one == two)


def test_an_effect_that_is_not_the_ratio_of_the_medians_names_its_estimator():
    text = effect_between(65730, 107992, 0.935, (0.601, 1.203), "Hodges-Lehmann")
    assert text == "+93.5 % [+60.1, +120.3] (Hodges-Lehmann; medians +64.3 %)"


def test_an_effect_that_agrees_with_the_medians_stands_alone():
    assert effect_between(912.4, 871.9, -0.0444, (-0.058, -0.031), "means") == "-4.4 % [-5.8, -3.1]"
    assert effect_between(None, 1.0, 0.5, None, "means") == "+50.0 %"
    assert effect_between(0.0, 0.0, 0.0, None, "means") == "0.0 %"


def test_an_effect_without_a_baseline_to_refer_to_says_what_it_refers_to():
    assert effect_between(0.0, 5.0, 1.0, None, "medians") == "+100.0 % (relative to the contender)"


@given(POSITIVE, POSITIVE, st.floats(-0.9, 10))
def test_an_effect_alone_is_that_of_the_values_beside_it(before, after, effect):
    text = effect_between(before, after, effect, None, "means")
    if "(" not in text:
        assert abs(effect - (after - before) / before) <= 0.001
