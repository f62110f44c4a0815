import tomllib
from dataclasses import replace

import pytest

from anubis import describe
from anubis.describe.paths import shown
from support.tree import ROOT

RECORDED = sorted((ROOT / "tests" / "recorded" / "descriptors").glob("*.toml"))
VALID = [path for path in RECORDED if describe.read(path.read_text()).descriptor]
FIRST = '[info]\nname = "hello"\n[ml]\nbenchmark_code = "echo hello"\n'


def origins(text, **more):
    return {
        shown(each.path): (each.value, each.origin.value, each.line)
        for each in describe.resolved(text, **more)
    }


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_the_resolved_text_describes_the_same(path):
    reading = describe.read(path.read_text())
    text = describe.resolved_text(describe.resolved(path.read_text()), file=path.name)
    assert describe.read(text).descriptor == reading.descriptor


@pytest.mark.parametrize(
    "path", [path for path in VALID if path.stem.startswith("new")], ids=lambda path: path.stem
)
def test_every_line_that_is_named_has_the_value_of_its_key(path):
    """A line of the file is named only for what the file says; the rest is a default or derived."""
    lines = path.read_text().splitlines()
    for each in describe.resolved(path.read_text()):
        if each.line is not None and isinstance(each.value, str):
            text = lines[each.line - 1]
            assert each.value.removeprefix("md5:") in text or "://" in text


def test_the_first_descriptor_gets_its_defaults():
    found = origins(FIRST)
    assert found["info.name"] == ("hello", "file", 2)
    assert found["ml.benchmark_code"] == ("echo hello", "file", 4)
    assert found["spec_version"] == ("1.0", "default", None)
    assert found["hardware.instance_type"] == ("local", "default", None)
    assert found["env.extended_shm"] == (True, "default", None)
    assert found["measure.repeats"] == (1, "default", None)
    assert "env.docker_image" not in found


def test_an_override_is_named_and_replaces_the_line():
    found = origins(FIRST, overrides={"measure.repeats": "5", "info.name": "other", "env.vars.A": "1"})
    assert found["measure.repeats"] == (5, "override", None)
    assert found["info.name"] == ("other", "override", None)
    assert found["env.vars.A"] == ("1", "override", None)


def test_shorthand_belongs_to_its_line():
    text = FIRST + '[[output.metrics]]\nname = "a"\nunits = "s"\nthreshold.change = "5%"\n'
    found = origins(text)
    assert found["output.metrics[0].threshold.change"] == (0.05, "file", 8)
    assert found["output.metrics[0].summary"][1:] == ("default", None)


def test_what_the_submission_and_the_matrix_decided_is_marked():
    text = FIRST + '[subject]\ncommit = "auto"\n[matrix]\n"env.vars.N" = ["1", "2"]\n'
    (_, cell) = describe.cells(describe.read(text).descriptor)
    found = origins(text, descriptor=cell.descriptor, axes=cell.values)
    assert found["env.vars.N"] == ("2", "matrix", None)
    assert found["info.name"] == ("hello", "file", 2)
    engine = describe.read(FIRST.replace("[ml]", 'execution_engine = "process"\n[ml]')).descriptor
    assert origins(FIRST, descriptor=engine)["info.execution_engine"] == ("process", "submission", None)


def test_derived_from_an_old_spelling():
    text = (ROOT / "tests/recorded/descriptors/old_first_version.toml").read_text()
    assert origins(text)["info.name"] == ("mnist-on-one-machine", "old spelling", None)


def test_the_text_names_the_file_for_its_lines():
    text = describe.resolved_text(describe.resolved(FIRST, overrides={"measure.repeats": "5"}), file="a.toml")
    assert tomllib.loads(text)["measure"]["repeats"] == 5
    remarks = {
        line.partition(" = ")[0]: line.partition("  # ")[2] for line in text.splitlines() if " = " in line
    }
    assert (remarks["name"], remarks["repeats"], remarks["warmups"]) == ("a.toml:2", "--set", "default")


def test_an_invalid_text_has_no_values():
    assert describe.resolved("[info]") == ()


@pytest.mark.parametrize("path", VALID, ids=lambda path: path.stem)
def test_a_descriptor_is_changed_only_where_it_is_overridden(path):
    (cell, *_) = describe.cells(describe.read(path.read_text()).descriptor)
    reading = describe.changed(cell.descriptor, {"info.priority": "7"})
    assert reading.descriptor == replace(cell.descriptor, info=replace(cell.descriptor.info, priority=7))


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ({"measure.repeats": "0"}, "between 1"),
        ({"matrix.x": "[1]"}, "no matrix"),
        ({"ml.nothing": "1"}, "not a key"),
        ({"measure.repeats": "0", "a.b": "1"}, "between 1"),
    ],
)
def test_an_override_that_is_not_valid_changes_nothing(sets, expected):
    reading = describe.changed(describe.read(FIRST).descriptor, sets)
    assert reading.descriptor is None
    assert len(reading.problems) == len(sets)
    assert any(expected in problem.message for problem in reading.problems)
