import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.analysis import quantities
from anubis.cli.views import units

SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "min": 60, "h": 3600, "d": 86_400}
BYTES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "PiB": 2**50}


def refusal(read):
    """The sentence with which a text was refused; empty when it was read."""
    try:
        read()
    except ValueError as error:
        return str(error)
    return ""


def read_back(text, sizes):
    words = text.split()
    return sum(float(amount) * sizes[unit] for amount, unit in zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (1.5e-9, "1.50 ns"),
        (0.0000021, "2.10 us"),
        (0.0123, "12.3 ms"),
        (0.9996, "1.00 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (75, "1 min 15 s"),
        (3599.6, "1 h"),
        (3725, "1 h 2 min"),
        (86_399, "1 d"),
        (100_000, "1 d 4 h"),
        (-0.5, "-500 ms"),
    ],
)
def test_a_duration(seconds, text):
    assert units.duration(seconds) == text


@given(st.floats(1e-9, 1e9))
def test_a_duration_says_what_it_stands_for(seconds):
    assert read_back(units.duration(seconds), SECONDS) == pytest.approx(seconds, rel=0.025)


@given(st.floats(1e-9, 1e9), st.floats(1e-9, 1e9))
def test_a_longer_duration_never_reads_as_shorter(first, second):
    shorter, longer = sorted((first, second))
    assert read_back(units.duration(shorter), SECONDS) <= read_back(units.duration(longer), SECONDS) * (
        1 + 1e-12
    )


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (1536, "1.50 KiB"),
        (1024**2 - 1, "1.00 MiB"),
        (5e15, "4.44 PiB"),
    ],
)
def test_a_size(count, text):
    assert units.size(count) == text


@given(st.integers(0, 2**59))
def test_a_size_says_what_it_stands_for(count):
    assert read_back(units.size(count), BYTES) == pytest.approx(count, rel=0.006)


@pytest.mark.parametrize(
    ("value", "text"),
    [(42.0, "42"), (0.0, "0"), (-3.0, "-3"), (912.44, "912.4"), (0.12345, "0.1235"), (1.5e-9, "1.5e-09"), (math.nan, "nan"), (math.inf, "inf"), (1e300, "1e+300")],
)  # fmt: skip
def test_a_number(value, text):
    assert quantities.number(value) == text


@given(st.floats(-1e300, 1e300))
def test_a_number_keeps_four_digits(value):
    assert float(quantities.number(value)) == pytest.approx(value, rel=1e-3)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0123, "s", "12.30 ms"),
        (75.25, "s", "75.25 s"),
        (0.0, "s", "0 s"),
        (3 * 2**20, "bytes", "3 MiB"),
        (0.0, "bytes", "0 B"),
        (912.44, "img/s", "912.4 img/s"),
        (42.0, "none", "42"),
        (math.inf, "bytes", "inf B"),
    ],
)
def test_a_value_with_its_unit(value, unit, text):
    assert units.with_unit(value, unit) == text


@pytest.mark.parametrize(
    ("ratio", "text"), [(0.0213, "2.1 %"), (0.0004, "0.04 %"), (0.0, "0.0 %"), (-0.5, "-50.0 %")]
)
def test_a_share(ratio, text):
    assert units.share(ratio) == text


@given(
    st.lists(
        st.tuples(st.integers(0, 999), st.sampled_from(sorted(units.SPAN_UNITS))), min_size=1, max_size=4
    )
)
def test_a_span_adds_its_parts_up(parts):
    text = "".join(f"{amount}{unit}" for amount, unit in parts)
    assert units.parse_span(text) == sum(amount * units.SPAN_UNITS[unit] for amount, unit in parts)


@given(st.text(max_size=12))
def test_any_text_is_a_span_or_is_refused_with_a_sentence(text):
    refused = refusal(lambda: units.parse_span(text))
    assert "for example 90s" in refused if refused else units.parse_span(text) >= 0


@given(st.text(max_size=24))
def test_any_text_is_a_moment_or_is_refused_with_a_sentence(text):
    refused = refusal(lambda: units.parse_moment(text, now_s=1e9))
    assert "expected 2026-01-31" in refused if refused else math.isfinite(units.parse_moment(text, now_s=1e9))


@given(st.integers(0, 2_000_000_000))
def test_a_moment_reads_back(at_s):
    assert units.parse_moment(units.exact_moment(at_s), now_s=0) == at_s
    assert units.parse_moment(units.moment(at_s), now_s=0) == at_s - at_s % 60


@pytest.mark.parametrize(
    ("text", "at_s"),
    [
        ("2h", 1e9 - 7200),
        ("3d", 1e9 - 3 * 86_400),
        ("2001-09-09T01:46:40+00:00", 1e9),
        ("2001-09-09T01:46:40Z", 1e9),
    ],
)
def test_a_moment_is_a_date_or_a_span_before_now(text, at_s):
    assert units.parse_moment(text, now_s=1e9) == at_s


def test_a_date_is_midnight_on_this_machines_clock():
    at_s = units.parse_moment("2026-01-31", now_s=0)
    assert time.localtime(at_s)[:5] == (2026, 1, 31, 0, 0)


@pytest.mark.parametrize(("text", "ratio"), [("2%", 0.02), ("2 %", 0.02), ("0.02", 0.02), ("0", 0.0)])
def test_a_share_is_read(text, ratio):
    assert units.parse_share(text) == pytest.approx(ratio)


@given(st.text(max_size=8))
def test_any_text_is_a_share_or_is_refused_with_a_sentence(text):
    refused = refusal(lambda: units.parse_share(text))
    assert "for example 2% or 0.02" in refused if refused else units.parse_share(text) >= 0


def test_things_are_counted():
    assert [units.counted(count, "run") for count in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]


def test_a_short_moment_has_the_hour_in_its_own_year_only():
    at_s = units.parse_moment("2026-01-31T10:04", now_s=0)
    assert units.short_moment(at_s, now_s=at_s + 86_400) == "01-31 10:04"
    assert units.short_moment(at_s, now_s=at_s + 366 * 86_400) == "2026-01-31"
