from datetime import datetime
from itertools import takewhile
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.describe import due_after, due_times
from anubis.describe.check.schedules import check_schedule, check_timezone
from support.cron_reference import due_between

ACCEPTED = [
    "single_run",
    "* * * * *",
    "0 0 * * *",
    "0-5/2 * * * *",
    "*/1 * * * *",
    "1,2 * * * *",
    "0 0 * * MON",
    "0 0 * jan-mar 7",
    "@daily",
    "@hourly",
    "@Weekly",
    "0 0 L * *",
    "0 0 29 2 *",
]
REFUSED = {
    "60 * * * *": "minute field",
    "* 24 * * *": "hour field",
    "* * 0 * *": "day-of-month field",
    "* * * 13 *": "month field",
    "* * * * 8": "day-of-week field",
    "* * ? * *": "`?`",
    "? * * * *": "`?`",
    "*****": "found 1",
    "12345": "found 1",
    "0 0 0 0": "found 4",
    "0 0 0 * * *": "found 6",
    "single": "found 1",
    "": "found 0",
    "@reboot": "many machines",
    "@dayly": "not a known schedule",
    "0 0 30 2 *": "never due",
    "5-1 * * * *": "minute",
    "*/0 * * * *": "minute",
    "99999999999999999999 * * * *": "minute",
}


@pytest.mark.parametrize("text", ACCEPTED)
def test_schedules_that_are_accepted(text):
    assert check_schedule(text) is None


@pytest.mark.parametrize(("text", "expected"), REFUSED.items())
def test_schedules_that_are_refused_with_what_is_wrong(text, expected):
    remark = check_schedule(text)
    assert expected in remark.message
    assert remark.remedy


def test_a_near_miss_of_the_word_for_once_is_recognised():
    assert "did you mean `single_run`" in check_schedule("single").remedy
    assert "did you mean `@daily`" in check_schedule("@dayly").remedy


@given(st.text("0123456789*/,-?L#@ MONJAN", max_size=30))
@settings(max_examples=200)
def test_what_is_accepted_is_due_some_day_and_nothing_raises(text):
    if check_schedule(text) is None:
        assert due_after(text, "UTC", 1_700_000_000.0) > 1_700_000_000


def seconds(zone, *moment):
    return datetime(*moment, tzinfo=ZoneInfo(zone)).timestamp()


def test_single_runs_are_never_due_again():
    assert due_after("single_run", "UTC", 0.0) is None


def test_the_next_time_is_later_than_now_even_on_the_dot():
    noon = seconds("UTC", 2024, 5, 1, 12, 0)
    assert due_after("0 12 * * *", "UTC", noon) == noon + 86_400
    assert due_after("0 12 * * *", "UTC", noon - 0.5) == noon


def test_times_are_read_in_the_zone():
    start = seconds("UTC", 2024, 7, 1, 0, 30)
    assert due_after("0 3 * * *", "Europe/Berlin", start) == seconds("UTC", 2024, 7, 1, 1, 0)


def test_a_time_that_the_clock_skips_is_due_right_after():
    before = seconds("Europe/Berlin", 2024, 3, 31, 1, 0)
    assert due_after("30 2 * * *", "Europe/Berlin", before) == seconds("Europe/Berlin", 2024, 3, 31, 3, 0)


def test_a_time_that_comes_twice_is_due_once():
    first = due_after("30 2 * * *", "Europe/Berlin", seconds("Europe/Berlin", 2024, 10, 27, 1, 0))
    assert due_after("30 2 * * *", "Europe/Berlin", first) > first + 86_000


@pytest.mark.parametrize("name", ["UTC", "Europe/Berlin", "America/Argentina/Ushuaia"])
def test_zones_that_exist(name):
    assert check_timezone(name) is None


@pytest.mark.parametrize("name", ["", "Europe", "Europe/Berln", "../UTC", "/etc/passwd", "a\0b", "CET+1"])
def test_zones_that_do_not_exist(name):
    assert check_timezone(name).remedy


#: Zones with gaps and repetitions of an hour, of half an hour (at night and at midnight), and without any.
ZONES = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "America/Santiago",
    "Asia/Kolkata",
    "UTC",
]
#: Days on which at least one of these zones changes its offset, and a day on which none does.
CHANGES = [(2024, 3, 31), (2024, 10, 27), (2024, 3, 10), (2024, 11, 3), (2024, 4, 7), (2024, 10, 6), (2024, 9, 8),
           (2024, 7, 1)]  # fmt: skip


def field(least, most):
    number = st.integers(least, most).map(str)
    step = st.integers(1, most).map(lambda by: f"*/{by}")
    several = st.lists(st.integers(least, most), min_size=1, max_size=3).map(
        lambda found: ",".join(map(str, found))
    )
    return st.one_of(number, step, several, st.just("*"))


EXPRESSIONS = st.tuples(
    field(0, 59), field(0, 5), st.just("*") | field(1, 31), st.just("*"), st.just("*") | field(0, 6)
).map(" ".join)


@given(
    text=EXPRESSIONS,
    zone=st.sampled_from(ZONES),
    change=st.sampled_from(CHANGES),
    offset_s=st.integers(-86_400, 86_400),
)
@settings(max_examples=300, deadline=None)
def test_due_times_agree_with_trying_every_minute(text, zone, change, offset_s):
    """From any start, in the middle of a gap or a repeated hour too."""
    start_s = seconds("UTC", *change) + offset_s
    end_s = start_s + 2 * 86_400
    expected = due_between(text, zone, start_s, end_s)
    found = list(takewhile(lambda due_s: due_s <= end_s, due_times(text, zone, start_s))) if expected else []
    assert found == expected
    after_s = start_s
    for due_s in expected[:50]:
        assert due_after(text, zone, after_s) == due_s
        after_s = due_s
