import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.agent.extract.patterns import Pattern, required_literal, stays_in_line


@pytest.mark.parametrize(
    ("pattern", "literal"),
    [
        (r"loss=([0-9.]+)", b"loss="),
        (r"^\s*Epoch (\d+).*val_loss: (?P<value>\S+)", b"val_loss: "),
        (r"(?:ab)+cd", b"ab"),
        (r"(?:ab)*cdef?", b"cde"),
        (r"a|b", None),
        (r"(?i)loss", None),
        (r"x(?i:loss)y", b"x"),
        (r"\d+", None),
        (r"speed(?!ing): (\d+)", b"speed"),
        (r"größe: (\d+)", b"e: "),
        (r"", None),
    ],
)
def test_the_literal_every_match_holds(pattern, literal):
    assert required_literal(re.compile(pattern)) == literal


def test_a_literal_that_is_not_ascii_is_not_relied_upon():
    assert required_literal(re.compile("größe")) in {None, b"gr"}


@pytest.mark.parametrize(
    ("pattern", "stays"),
    [
        (r"loss=([0-9.]+)", True),
        (r"^loss (\S+)$", True),
        (r"\bacc: (\d+|\w+)", True),
        ("[\x0e-z]", True),
        ("[\r-z]", False),
        ("[\x00-\t]", True),
        ("[\x00-\n]", False),
        (r"(?:a.b)", True),
        (r"(?s:a.b)", False),
        (r"loss:\s*(\d+)", False),
        (r"loss[^0-9]+(\d+)", False),
        (r"loss\D(\d+)", False),
        (r"(?s)loss.(\d+)", False),
        (r"(?m)^loss (\d+)", False),
        (r"loss (\d+)\Z", False),
        (r"(?<!x)loss (\d+)", False),
        (r"(.)loss\1", False),
        ("loss\\n", False),
    ],
)
def test_which_patterns_may_see_many_lines(pattern, stays):
    assert stays_in_line(re.compile(pattern)) is stays


PIECES = st.sampled_from(
    [
        "a",
        "b",
        "loss",
        "=",
        r"\d",
        r"\d+",
        ".",
        "[ab]",
        "[^a]",
        r"\s",
        r"\S+",
        "(?:ab)?",
        "(a|b)",
        "^",
        "$",
        "x*",
        r"\b",
    ]
)
LINES = st.text(alphabet="ab=loss 1\n", max_size=60)


@given(st.lists(PIECES, min_size=1, max_size=6).map("".join), LINES)
def test_literals_and_bulk_search_find_what_line_by_line_search_finds(pattern, text):
    try:
        regex = re.compile(pattern)
    except re.error:
        return
    lines = text.split("\n")
    literal = required_literal(regex)
    for line in lines:
        if literal is not None and literal not in line.encode():
            assert regex.search(line) is None
    if stays_in_line(regex):
        spans = [m.group() for m in re.compile(pattern, re.MULTILINE).finditer(text)]
        assert spans == [m.group() for line in lines for m in regex.finditer(line)]


@pytest.mark.parametrize(
    ("pattern", "value", "step"),
    [
        (r"loss", 0, 0),
        (r"loss (\d+)", 1, 0),
        (r"(\d+) (?P<value>\d+)", 2, 0),
        (r"(?P<step>\d+) (\d+)", 2, 1),
        (r"(?P<step>\d+) x (?P<value>\d+) (\d+)", 2, 1),
        (r"(?P<step>\d+)", 0, 1),
    ],
)
def test_which_group_is_the_value(pattern, value, step):
    compiled = Pattern("m", pattern)
    assert (compiled.value_group, compiled.step_group) == (value, step)
