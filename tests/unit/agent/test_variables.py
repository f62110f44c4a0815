"""Variables in a command."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.agent.execute.variables import expand

ENVIRONMENT = {"HOST": "server", "PORT": "80", "WORDS": "two words", "AGAIN": "${HOST}"}


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("${HOST}:$(PORT)", "server:80"),
        ("--name=${WORDS}", "--name=two words"),
        ("${AGAIN}", "${HOST}"),
        ("${UNKNOWN}/$(UNKNOWN)", "${UNKNOWN}/$(UNKNOWN)"),
        ("$HOST", "$HOST"),
        ("$$(PORT)", "$(PORT)"),
        ("$${HOST}", "${HOST}"),
        ("$$$(PORT)", "$$(PORT)"),
        ("kill $$", "kill $$"),
        ("$$1", "$$1"),
        ("100$", "100$"),
        ("${HOST", "${HOST"),
        ("${HOST)", "${HOST)"),
        ("$()", "$()"),
    ],
)
def test_both_spellings_expand_and_everything_else_stays(word, expected):
    assert expand([word], ENVIRONMENT) == [expected]


@given(words=st.lists(st.text().filter(lambda word: "$" not in word)))
def test_words_without_a_dollar_are_untouched(words):
    assert expand(words, ENVIRONMENT) == words


@given(word=st.text(alphabet="${}()ab", max_size=20))
def test_nothing_breaks_it(word):
    assert len(expand([word], {"a": "1", "b": ""})) == 1
