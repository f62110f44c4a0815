import re

import pytest

from anubis.agent.extract.regex_timeout import OverrunError, RegexTimeout

EVIL = re.compile(r"(a+)+$")


@pytest.fixture
def guard():
    guard = RegexTimeout()
    guard.start()
    yield guard
    guard.stop()


def test_an_endless_match_is_stopped(guard):
    guard.attempt += 1
    with pytest.raises(OverrunError):
        EVIL.search("a" * 5000 + "!")


def test_what_stands_outside_an_attempt_is_not_stopped(guard):
    guard.attempt += 2
    assert EVIL.search("a" * 24 + "!") is None


def test_many_short_attempts_are_not_stopped(guard):
    for _ in range(3000):
        guard.attempt += 1
        assert EVIL.search("a" * 10 + "!") is None
        guard.attempt += 1
