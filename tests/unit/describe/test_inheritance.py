"""``extends`` and overlays: what is merged, where values come from, and what is refused."""

import datetime as dt
import math
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis import describe
from anubis.describe.inheritance import MAX_FILES
from anubis.describe.merged_text import merged_text
from anubis.model.errors import BadInputError
from anubis.model.identity import digest

BASE = """
[info]
name = "base"
[env.vars]
A = "1"
B = "2"
[ml]
benchmark_code = "true"
[[output.metrics]]
name = "x"
units = "s"
"""


@pytest.fixture
def files(tmp_path):
    """Writes files; returns their folder."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / f"{name.replace('__', '/')}.toml"
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        return tmp_path

    return write


def composed(folder, name, *overlays):
    path = folder / f"{name}.toml"
    return describe.compose(
        path.read_bytes(), str(path), path.parent, [folder / f"{overlay}.toml" for overlay in overlays]
    )


def read(folder, name, *overlays, **overrides):
    found = composed(folder, name, *overlays)
    reading = describe.read(found.text, overrides=overrides)
    return reading.descriptor, found.located(reading.problems)


def test_tables_are_merged_by_key_and_lists_are_replaced(files):
    child = 'extends = "base.toml"\n[env.vars]\nB = "3"\n[[output.metrics]]\nname = "y"\nunits = "B"\n'
    descriptor, problems = read(files(base=BASE, child=child), "child")
    assert problems == ()
    assert descriptor.env.vars == {"A": "1", "B": "3"}
    assert [metric.name for metric in descriptor.output.metrics] == ["y"]


def test_later_layers_win(files):
    folder = files(
        base=BASE,
        two='extends = "base.toml"\n[env.vars]\nA = "2"\nC = "2"\n',
        three='[env.vars]\nA = "3"\n',
        child='extends = ["two.toml", "three.toml"]\n[env.vars]\nD = "4"\n',
        over='[env.vars]\nC = "5"\nD = "5"\n',
        last='[env.vars]\nD = "6"\n',
    )
    descriptor, _ = read(folder, "child", "over", "last")
    assert descriptor.env.vars == {"A": "3", "B": "2", "C": "5", "D": "6"}
    found, _ = read(folder, "child", "over", "last", **{"env.vars.D": "7"})
    assert found.env.vars["D"] == "7"


def test_bases_are_relative_to_their_file(files):
    folder = files(base=BASE, sub__mid='extends = "../base.toml"\n', child='extends = "sub/mid.toml"\n')
    assert read(folder, "child")[0].info.name == "base"


def test_the_digest_is_that_of_the_merged_descriptor(files):
    folder = files(base=BASE, child='extends = "base.toml"\n', whole=BASE)
    assert digest(read(folder, "child")[0]) == digest(read(folder, "whole")[0])


def test_the_stored_text_needs_no_other_file(files):
    folder = files(base=BASE, child='extends = "base.toml"\n[measure]\nrepeats = 3\n')
    text = composed(folder, "child").text
    assert describe.read(text).descriptor == read(folder, "child")[0]
    assert "repeats = 3" in text


def test_a_file_without_bases_is_not_changed(files):
    folder = files(base=BASE)
    assert composed(folder, "base").text == BASE.encode()


def test_every_value_has_its_origin(files):
    folder = files(
        base=BASE, child='extends = "base.toml"\n[measure]\nrepeats = 3\n', over="[measure]\nwarmups = 2\n"
    )
    found = composed(folder, "child", "over")
    values = describe.located(describe.resolved(found.text, overrides={"info.priority": "5"}), found)
    origins = {value.path: (value.origin.value, Path(value.file).name, value.line) for value in values}
    assert origins["info", "name"] == ("file", "base.toml", 3)
    assert origins["output", "metrics", 0, "units"] == ("file", "base.toml", 11)
    assert origins["measure", "repeats"] == ("file", "child.toml", 3)
    assert origins["measure", "warmups"] == ("overlay", "over.toml", 2)
    assert origins["info", "priority"] == ("override", "", None)
    assert origins["measure", "timeout_s"] == ("default", "", None)
    text = describe.resolved_text(values, file="child.toml")
    assert f"# overlay {folder}/over.toml:2" in text
    assert tomllib.loads(text)["measure"]["warmups"] == 2


def test_problems_name_the_file_of_the_value(files):
    folder = files(
        base=BASE + "[measure]\nrepeats = 0\n",
        child='extends = "base.toml"\n[measure]\nwarmup = 1\n',
        over='[info]\nname = "not a name"\n',
    )
    descriptor, problems = read(folder, "child", "over")
    assert descriptor is None
    assert {(problem.path, Path(problem.file).name, problem.line) for problem in problems} == {
        ("measure.repeats", "base.toml", 13),
        ("measure.warmup", "child.toml", 3),
        ("info.name", "over.toml", 2),
    }


def test_a_problem_of_a_replaced_list_is_not_in_the_file_below(files):
    child = 'extends = "base.toml"\n[[output.metrics]]\nname = "y"\n'
    _, problems = read(files(base=BASE, child=child), "child")
    assert {Path(problem.file).name for problem in problems} == {"child.toml"}


REFUSED = [
    ('extends = "child.toml"\n', "extend each other: child.toml -> child.toml"),
    ('extends = "loop.toml"\n', "extend each other: child.toml -> loop.toml -> child.toml"),
    ('extends = "absent.toml"\n', "cannot be read"),
    ('extends = ""\n', "a path or a list of paths"),
    ("extends = [1]\n", "a path or a list of paths"),
    ('extends = "a\\u0000b"\n', "a path or a list of paths"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[row[1] for row in REFUSED])
def test_a_base_that_cannot_be_used_is_refused_at_its_place(files, text, message):
    folder = files(child=text, loop='extends = "child.toml"\n')
    with pytest.raises(BadInputError) as refused:
        composed(folder, "child")
    (problem,) = refused.value.problems
    assert message in problem.message
    assert problem.remedy
    assert problem.line == 1


def test_two_bases_may_have_a_base_in_common(files):
    folder = files(
        base=BASE,
        a='extends = "base.toml"\n',
        b='extends = "base.toml"\n',
        child='extends = ["a.toml", "b.toml"]\n',
    )
    assert read(folder, "child")[0].info.name == "base"


def test_too_many_files_are_refused(files):
    names = ", ".join(['"base.toml"'] * (MAX_FILES + 1))
    with pytest.raises(BadInputError, match="not a valid descriptor"):
        composed(files(base=BASE, child=f"extends = [{names}]\n"), "child")


def test_a_base_that_is_not_toml_is_refused_with_its_name(files):
    folder = files(base="[info\n", child='extends = "base.toml"\n')
    with pytest.raises(BadInputError, match=r"base\.toml is not a valid part") as refused:
        composed(folder, "child")
    assert refused.value.problems[0].file.endswith("base.toml")


def test_an_overlay_extends_no_other_file(files):
    folder = files(base=BASE, over='extends = "base.toml"\n')
    with pytest.raises(BadInputError) as refused:
        composed(folder, "base", "over")
    assert "overlay cannot extend" in refused.value.problems[0].message
    with pytest.raises(BadInputError, match="cannot be read"):
        composed(folder, "base", "absent")


SCALARS = (
    st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
    | st.dates(dt.date(1, 1, 1))
)
KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_any_tree_is_written_so_that_it_is_read_again(tree):
    text = "\n".join(line for line, _ in merged_text(tree, lambda _: "x"))
    assert tomllib.loads(text) == tree


def test_numbers_that_json_does_not_have_are_written():
    text = "\n".join(line for line, _ in merged_text({"a": [math.inf, -math.inf]}, lambda _: ""))
    assert tomllib.loads(text) == {"a": [math.inf, -math.inf]}
