"""Whatever is read, the answer is a descriptor or problems, never an exception, and the work stays bounded."""

import tomllib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis import describe
from anubis.describe.examples import EXAMPLES, value_text
from anubis.model.problem import Severity
from support.tree import ROOT

HEAD = 'spec_version = "1.0"\n'
FOLDER = ROOT / "tests" / "recorded" / "descriptors"
COMPLETE = (FOLDER / "new_complete.toml").read_text()
OLD = (FOLDER / "old_first_version.toml").read_text()


def problems(text):
    reading = describe.read(text, filename="x.toml")
    assert reading.descriptor is None
    return reading.problems


ONE_PROBLEM = [
    ("", "x.toml is empty"),
    (" \n\t\n", "is empty"),
    ("# nothing\n", "contains only comments"),
    (b"\x89PNG\r\n\x1a\n\x00", "byte 0x89 is not valid"),
    (b"\xff\xfes\x00", "UTF-16"),
    (b'a = "\xe9"', "byte 0xe9"),
    ("a = '\ud800'", "not valid text"),
    ("\x00", "not TOML"),
    ('[project]\nname = "x"\n', "pyproject.toml"),
    ('[package]\nname = "x"\n[dependencies]\n', "Cargo.toml"),
    ('title = "x"\n', "not a descriptor"),
    (HEAD + "#" * 5_000_000, "5,000,021 bytes"),
    (HEAD + "a = " + "[" * 50_000, "24 deep"),
    (HEAD + "a = " + "[" * 50 + "]" * 50, "24 deep"),
    (HEAD + "a = " + "{a=" * 50_000, "24 deep"),
    (HEAD + ".".join(["a"] * 100_000) + " = 1", "24 deep"),
    (HEAD + "[" + ".".join(["'a'"] * 100_000) + "]", "24 deep"),
    (HEAD + "a." * 30 + "a = 1", "24 deep"),
    (HEAD + "a = [" + "1," * 100_000 + "]", "at most 20,000"),
    (HEAD + "[[a]]\n" * 30_000, "at most 20,000"),
    (HEAD + "a = " + "9" * 5_000, "not TOML"),
]


@pytest.mark.parametrize(("text", "expected"), ONE_PROBLEM, ids=[row[1] for row in ONE_PROBLEM])
def test_what_is_no_descriptor_gets_one_sentence(text, expected):
    (problem,) = problems(text)
    assert expected in problem.message
    assert problem.remedy


def test_the_place_of_a_byte_that_is_no_text_is_told():
    (problem,) = problems(b'a = 1\nb = "\xe9"')
    assert (problem.line, problem.column) == (2, 6)


def test_a_byte_order_mark_is_no_mistake():
    assert describe.read(b"\xef\xbb\xbf" + COMPLETE.encode()).descriptor is not None


def test_a_flood_of_mistakes_is_cut():
    found = problems(HEAD + "".join(f"nam{index} = 1\n" for index in range(5_000)))
    assert len(found) == 501
    assert "further problems" in found[-1].message


SYNTAX = [
    ("[info]\nname = resnet50\n", 2, 8, 'write text in quotes: "resnet50"'),
    ("[info]\nname = two words # really\n", 2, 8, 'write text in quotes: "two words"'),
    ('[info]\nname = "resnet50\n', 2, 8, "close it on the same line"),
    ("[info]\nname = 'resnet50", 2, 8, "close it on the same line"),
    ('[info]\nname = """resnet50\n\n', 2, 8, 'close it with """'),
    ('[info]\nname = "a"\nname = "b"\n', 3, 1, "keep one of the two"),
    ('[info]\nname = "a"\n[info]\n', 3, 2, "keep one of the two"),
    ("[info]\nlabels = { a = 1, a = 2 }\n", 2, 19, "keep one of the two"),
    ("info.name = 'a'\n[info]\n", 2, 6, "in one place"),
    ("[env]\nprivileged = True\n", 2, 14, "write true"),
    ("[env]\nprivileged =\n", 2, 13, "write one after the ="),
    ("[env]\nprivileged", 2, 10, "key = value"),
    ("[env]\nprivileged: true\n", 2, 11, "key = value"),
    ('[x]\npattern = "\\d+"\n', 2, 12, "single quotes"),
    ('[x]\na = "b" c\n', 2, 9, "each key on its own line"),
    ("[x]\nports = [80, 81\n\n[y]\nz = 1\n", 2, 9, "brackets and commas"),
    ("[x]\nports = [80 81]\n", 2, 9, "brackets and commas"),
    ("[x]\na = { b = 1,\n c = 2 }\n", 2, 5, "on the same line"),
    ("[x\na = 1\n", 1, 3, "[table]"),
    ("[[x]\na = 1\n", 1, 4, "[[table]]"),
    ("[x]\nrepeats = 05\n", 2, 11, "leading zeros"),
    ("[x]\n= 5\n", 2, 1, "toml.io"),
    ("[]\na = 5\n", 1, 2, "toml.io"),
]


@pytest.mark.parametrize(("text", "line", "column", "remedy"), SYNTAX, ids=[row[0] for row in SYNTAX])
def test_a_syntax_error_is_placed_and_has_a_remedy(text, line, column, remedy):
    (problem,) = problems(text)
    assert (problem.line, problem.column) == (line, column)
    assert remedy in problem.remedy


def test_a_syntax_error_names_the_key_it_stands_at():
    (problem,) = problems('[info]\nname = "a"\n[hardware]\ninstance_type = c5.large\n')
    assert problem.path == "hardware.instance_type"


def holds(reading, text):
    """What is true of every answer."""
    errors = [problem for problem in reading.problems if problem.severity is Severity.ERROR]
    assert (reading.descriptor is None) == bool(errors)
    places = [(problem.line or 0, problem.column or 0) for problem in reading.problems]
    assert places == sorted(places)
    lines = text.split("\n")
    for problem in reading.problems:
        assert problem.message
        assert problem.line is None or 1 <= problem.column <= len(lines[problem.line - 1]) + 1


@given(st.text(max_size=200))
@settings(max_examples=100)
def test_any_text_is_answered(text):
    holds(describe.read(text), text)


@given(st.binary(max_size=200))
@settings(max_examples=100)
def test_any_bytes_are_answered(content):
    assert describe.read(content).descriptor is None


@st.composite
def damaged(draw):
    """A descriptor with a piece taken out and another put in."""
    text = draw(st.sampled_from([COMPLETE, OLD]))
    start = draw(st.integers(0, len(text)))
    end = start + draw(st.integers(0, 30))
    pieces = [
        "",
        "\n",
        '"',
        "'",
        "[",
        "]",
        "{",
        "}",
        "=",
        ".",
        "#",
        "0",
        "true",
        "\\",
        '"""',
        "a = 1\n",
        "[[a]]\n",
    ]
    return text[:start] + draw(st.sampled_from(pieces)) + text[end:]


@given(damaged())
@settings(max_examples=200)
def test_a_damaged_descriptor_is_answered(text):
    holds(describe.read(text), text)


VALUES = [
    "1",
    "-1",
    "1.5",
    "true",
    "''",
    "'x'",
    "[]",
    "[1]",
    "['x']",
    "{}",
    "{ a = 1 }",
    "[{}]",
    "1979-05-27",
    "nan",
]
VALUES += [
    "9223372036854775808",
    "'5%'",
    "'gpus'",
    "'http://x/'",
    "'horovod'",
    "[[[]]]",
    "''''\n'''",
    "'\\u0000'",
]
KEYS = sorted({pattern.replace("[]", "").replace("*", "free") for pattern in EXAMPLES})
KEYS += sorted({key.rpartition(".")[0] for key in KEYS} - {""})
KEYS += ["matrix", "matrix.exclude", "matrix.'info.name'"]
KEYS += ["info.task_name", "server.env.ready_probe", "data.id", "aws.ec2.image", "info.labels.task_name"]


@st.composite
def tables_of_wrong_kinds(draw):
    version = draw(st.sampled_from(["1.0", "'1.0'", "'0.1.0'", "'2'"]))
    keys = draw(st.lists(st.sampled_from(KEYS), max_size=6, unique=True))
    lines = [f"{key} = {draw(st.sampled_from(VALUES))}" for key in keys]
    return "\n".join([f"spec_version = {version}", *lines])


@given(tables_of_wrong_kinds())
@settings(max_examples=250)
def test_values_of_every_kind_at_every_key_are_answered(text):
    holds(describe.read(text), text)


@given(
    st.dictionaries(
        st.sampled_from(KEYS) | st.text(max_size=10),
        st.sampled_from(VALUES) | st.text(max_size=10),
        max_size=4,
    )
)
@settings(max_examples=100)
def test_any_override_is_answered(overrides):
    assert isinstance(describe.read(COMPLETE, overrides=overrides).problems, tuple)


@pytest.mark.parametrize("pattern", EXAMPLES)
def test_every_example_is_valid_where_it_is_shown(pattern):
    path = pattern.replace("[]", "[0]").replace("*", "free")
    renamed = COMPLETE.replace('name = "throughput"', 'name = "images"')
    base = COMPLETE if pattern == "sweep.halving.metric" else renamed
    if pattern == "server.env.liveness_probe.command":  # it replaces the request
        base = base.replace('path = "/alive"\n', "")
    reading = describe.read(base, overrides={path: value_text(EXAMPLES[pattern])})
    assert [problem for problem in reading.problems if problem.path == path] == []


def test_value_text_is_toml():
    for value in EXAMPLES.values():
        assert tomllib.loads(f"x = {value_text(value)}")["x"] == value
