import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.transfer import history_values


@pytest.mark.parametrize(
    "raw", [None, "", math.nan, math.inf, -math.inf, "nan", "inf", 10**400, 1.7976931348623157e308]
)
def test_what_is_missing_is_no_number(raw):
    assert history_values.number(raw) is None


@pytest.mark.parametrize("raw", [True, [], {}, "fast", "1_000", "1,5", b"1"])
def test_what_is_no_number_is_told(raw):
    with pytest.raises(history_values.NotANumberError):
        history_values.number(raw)


@given(st.floats(allow_nan=False, allow_infinity=False, max_value=1e308, min_value=-1e308))
def test_numbers_and_their_texts_come_through(value):
    assert history_values.number(value) == value
    assert history_values.number(repr(value)) == value


@given(st.text(st.characters()))
def test_texts_can_be_stored_anywhere(words):
    found = history_values.text(words)
    assert found.encode().decode() == found
    assert "\0" not in found


@pytest.mark.parametrize(
    ("raw", "per_second", "expected"),
    [
        ("2024-03-01T10:00:00+02:00", 1, 1709280000.0),
        ("2024-03-01T08:00:00", 1, 1709280000.0),
        ("2024-03-01T08:00:00Z", 1, 1709280000.0),
        (1709280000123, 1000, 1709280000.123),
        ("1709280000", 1, 1709280000.0),
        ("yesterday", 1, None),
        (-1, 1, None),
        (1709280000123, 1, None),
        (None, 1, None),
        ([], 1, None),
    ],
)
def test_times_are_read_as_utc_seconds(raw, per_second, expected):
    assert history_values.seconds(raw, per_second) == expected
