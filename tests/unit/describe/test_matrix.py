import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis import describe
from anubis.model.descriptor import Matrix
from anubis.model.errors import BadInputError
from anubis.model.identity import digest

BASE = """
spec_version = "1.0"
[info]
name = "sweep"
[hardware]
instance_type = "c5.large"
[env.vars]
BATCH = "8"
[ml]
benchmark_code = "true"
[[output.metrics]]
name = "speed"
units = "1/s"
[matrix]
"""


def values(text):
    reading = describe.read(BASE + text)
    assert reading.problems == ()
    return [cell.values for cell in describe.cells(reading.descriptor)]


def test_without_a_matrix_the_descriptor_is_its_only_cell():
    descriptor = describe.read(BASE.replace("[matrix]", "")).descriptor
    (cell,) = describe.cells(descriptor)
    assert (cell.descriptor, cell.values) == (descriptor, {})


def test_the_cross_product_changes_its_last_axis_first():
    found = values('"hardware.instance_type" = ["a", "b"]\n"measure.repeats" = [1, 2]')
    assert [tuple(cell.values()) for cell in found] == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_a_cells_values_are_part_of_it_and_it_has_no_matrix():
    text = '"env.vars.BATCH" = [16]\n"output.metrics[0].threshold.change" = ["5%"]\n"hardware.gpus" = [2]'
    (cell,) = describe.cells(describe.read(BASE + text).descriptor)
    assert cell.descriptor.env.vars == {"BATCH": "16"}
    assert cell.descriptor.output.metrics[0].threshold.change == 0.05
    assert cell.descriptor.hardware.gpus == 2
    assert cell.descriptor.matrix is None


def test_cells_are_different_descriptors():
    found = describe.cells(
        describe.read(f'{BASE}"env.vars.BATCH" = {{ from = 1, to = 20, step = 1 }}').descriptor
    )
    assert len({digest(cell.descriptor) for cell in found}) == 20


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{ from = 16, to = 256, times = 2 }", [16, 32, 64, 128, 256]),
        ("{ from = 1, to = 10, step = 4 }", [1, 5, 9]),
        ("{ from = 3, to = 1, step = -1 }", [3, 2, 1]),
        ("{ from = 5, to = 5, step = 1 }", [5]),
    ],
)
def test_ranges_of_whole_numbers(written, expected):
    assert [cell["info.priority"] for cell in values(f'"info.priority" = {written}')] == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("{ from = 0.1, to = 0.3, step = 0.1 }", [0.1, 0.2, 0.3]),
        ("{ from = 0.5, to = 4, times = 2 }", [0.5, 1.0, 2.0, 4.0]),
        ("{ from = 1, to = 2, step = 0.5 }", [1.0, 1.5, 2.0]),
    ],
)
def test_ranges_of_numbers_have_no_rounding_errors(written, expected):
    assert [cell["hardware.cpus"] for cell in values(f'"hardware.cpus" = {written}')] == expected


def test_numbers_become_text_where_the_field_holds_text():
    found = values('"env.vars.BATCH" = [1, 2.5, true, "x"]')
    assert [cell["env.vars.BATCH"] for cell in found] == ["1", "2.5", "true", "x"]


def test_excluded_cells_are_left_out_however_their_values_are_written():
    axes = '"env.vars.BATCH" = { from = 16, to = 32, times = 2 }\n"env.vars.MODE" = ["a", "b"]\n'
    exclude = 'exclude = [{ "env.vars.BATCH" = 16, "env.vars.MODE" = "a" }, { "env.vars.BATCH" = "32" }]'
    assert values(axes + exclude) == [{"env.vars.BATCH": "16", "env.vars.MODE": "b"}]


WRONG = [
    ('"hardware.instance_typ" = ["a"]', 'matrix."hardware.instance_typ"', "did you mean `instance_type`"),
    ('"hardwar.gpus" = [1]', 'matrix."hardwar.gpus"', "did you mean `hardware`"),
    ('"spec_version" = ["1.0"]', "matrix.spec_version", "a matrix cannot vary"),
    ('"" = [1]', 'matrix.""', "a matrix cannot vary"),
    ("hardware.gpus = [1, 2]", "matrix.hardware", "in quotes"),
    ("env.vars.LEVEL = [1, 2]", "matrix.env", '"env.vars.LEVEL" = [...]'),
    ('"hardware.gpus" = 2', 'matrix."hardware.gpus"', "write [2]"),
    ('"hardware.gpus" = []', 'matrix."hardware.gpus"', "no value"),
    ('"hardware.gpus" = [1, 1]', 'matrix."hardware.gpus"[1]', "twice"),
    ('"hardware.gpus" = [1, "two"]', 'matrix."hardware.gpus"[1]', "whole number"),
    ('"hardware.gpus" = [1, -1]', 'matrix."hardware.gpus"[1]', "at least 0"),
    ('"hardware.strategy" = ["single_node", "horovd"]', 'matrix."hardware.strategy"[1]', "`horovod`"),
    ('"hardware.gpus" = { from = 1, to = 4 }', 'matrix."hardware.gpus"', "either step or times"),
    ('"hardware.gpus" = { from = 1, to = 4, step = 0 }', 'matrix."hardware.gpus"', "infinite"),
    ('"hardware.gpus" = { from = 1, to = 4, step = -1 }', 'matrix."hardware.gpus"', "no value"),
    ('"hardware.gpus" = { from = 1, to = 4, times = 1 }', 'matrix."hardware.gpus"', "infinite"),
    ('"hardware.gpus" = { from = 0, to = 4, times = 2 }', 'matrix."hardware.gpus"', "infinite"),
    ('"hardware.gpus" = { from = 0, to = inf, step = 2 }', 'matrix."hardware.gpus"', "a range needs"),
    ('"hardware.gpus" = { from = 0, to = 10001, step = 1 }', 'matrix."hardware.gpus"', "more than 10,000"),
    ('"output.metrics[3].units" = ["s"]', 'matrix."output.metrics[3].units"', "does not exist in this file"),
    ('"hardware" = [{}]\n"hardware.gpus" = [1]', 'matrix."hardware.gpus"', "overwrite each other"),
    ('exclude = [{ "hardware.gpus" = 1 }]\n"env.vars.A" = ["1"]', "matrix.exclude[0]", "not an axis"),
    ('exclude = 3\n"env.vars.A" = ["1"]', "matrix.exclude", "list of tables"),
    ('exclude = [{ "env.vars.A" = "1" }]\n"env.vars.A" = ["1"]', "matrix.exclude", "every cell"),
    ("exclude = []", "matrix", "no axis"),
    ('include = [{ "env.vars.B" = "1" }]\n"env.vars.A" = ["1"]', "matrix.include[0]", "not an axis"),
    ('include = [{ "env.vars.A" = "1" }]\n"env.vars.A" = ["1"]', "matrix.include[0]", "exists already"),
    ('seeds = [1]\n"env.vars.SEED" = ["1"]', "matrix.seeds", "the same axis"),
    ("seeds = [1, 1]", "matrix.seeds[1]", "twice"),
    ("seeds = 3", "matrix.seeds", "from = 1, to = 3"),
    ("seed = [1]", "matrix.seed", "did you mean `seeds`"),
]


@pytest.mark.parametrize(("text", "path", "expected"), WRONG)
def test_what_is_wrong_with_a_matrix_is_told_at_the_axis(text, path, expected):
    reading = describe.read(BASE + text)
    assert reading.descriptor is None
    assert reading.problems[0].path.startswith(path)
    assert any(expected in str(problem) for problem in reading.problems)
    assert all(problem.line >= 14 for problem in reading.problems)


def test_an_excluded_value_that_no_cell_has_is_a_warning():
    reading = describe.read(f'{BASE}exclude = [{{ "env.vars.A" = "3" }}]\n"env.vars.A" = ["1"]')
    assert [problem.severity for problem in reading.problems] == ["warning"]


def test_a_rule_that_only_one_cell_breaks_is_told_at_the_value_that_breaks_it():
    reading = describe.read(f'{BASE}"hardware.strategy" = [\n  "single_node",\n  "inference",\n]')
    (problem,) = reading.problems
    assert (problem.path, problem.line) == ('matrix."hardware.strategy"[1]', 17)
    assert "needs a server" in problem.message


def test_a_rule_between_an_axis_and_another_field_names_the_cell():
    text = BASE.replace("[matrix]", '[hardware.distributed]\nprocesses_per_instance = "gpus"\n[matrix]')
    text = text.replace('instance_type = "c5.large"', 'instance_type = "p3.2xlarge"\nstrategy = "mpi"')
    reading = describe.read(f'{text}"hardware.instance_type" = ["p3.2xlarge", "c5.large", "c5.xlarge"]')
    assert [problem.path for problem in reading.problems] == [
        "hardware.distributed.processes_per_instance"
    ] * 2
    assert 'hardware.instance_type = "c5.large"' in reading.problems[0].message


def test_a_mistake_of_the_base_is_told_once_not_once_for_each_cell():
    reading = describe.read(f'{BASE}"env.vars.A" = ["1", "2", "3"]', overrides={"ml.framework_version": "2"})
    assert [problem.path for problem in reading.problems] == ["ml.framework_version"]


def test_old_names_of_strategies_are_understood_in_an_axis():
    reading = describe.read(f'{BASE}"hardware.strategy" = ["single-node"]')
    assert describe.cells(reading.descriptor)[0].descriptor.hardware.strategy == "single_node"
    assert [problem.severity for problem in reading.problems] == ["warning"]


def test_cells_of_a_large_sweep_are_checked_when_they_are_made():
    axes = "\n".join(f'"env.vars.A{name}" = ["0", "1"]' for name in range(8))
    reading = describe.read(f'{BASE}{axes}\n"hardware.strategy" = ["single_node"]')
    matrix = reading.descriptor.matrix
    bad = Matrix(axes={**matrix.axes, "hardware.strategy": ("inference",)}, exclude=matrix.exclude)
    with pytest.raises(BadInputError) as raised:
        describe.cells(replace(reading.descriptor, matrix=bad))
    assert raised.value.problems[0].path == 'matrix."hardware.strategy"[0]'


def test_the_last_value_of_a_long_axis_is_checked_while_reading():
    names = ", ".join(f'"{"a" * 63 if index == 149 else index}"' for index in range(150))
    text = f'{BASE}"env.vars.A" = [{names}]\n"info.name" = ["a", "b c"]'
    assert [problem.path for problem in describe.read(text).problems] == ['matrix."info.name"[1]']
    text = f'{BASE}"env.vars.A" = [{names}]\n"measure.repeats" = [1, "2"]'
    assert [problem.path for problem in describe.read(text).problems] == ['matrix."measure.repeats"[1]']


def test_ten_thousand_cells_are_enough():
    axes = "\n".join(f'"env.vars.A{name}" = {list(range(10))}' for name in range(4))
    assert describe.read(BASE + axes).problems == ()
    reading = describe.read(f'{BASE}{axes}\n"env.vars.B" = [1, 2]')
    assert "20,000 cells" in reading.problems[0].message
    many = "\n".join(f'"env.vars.A{name}" = [0, 1]' for name in range(501))
    assert "more than 500" in describe.read(BASE + many).problems[0].message


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4))
@settings(max_examples=30)
def test_there_are_as_many_cells_as_combinations(sizes):
    axes = "\n".join(f'"env.vars.A{name}" = {list(range(size))}' for name, size in enumerate(sizes))
    found = values(axes)
    assert len(found) == len({tuple(cell.values()) for cell in found}) == math.prod(sizes)


def test_a_bad_value_outside_of_the_axes_is_reported_once():
    reading = describe.read(BASE + '"measure.repeats" = [1, 2, 3]')
    bad = replace(reading.descriptor, measure=replace(reading.descriptor.measure, warmups=-1))
    with pytest.raises(BadInputError) as raised:
        describe.cells(bad)
    (problem,) = raised.value.problems
    assert problem.path == "measure.warmups"


def test_a_value_that_a_cell_repeats_from_the_base_is_valid():
    found = values('"measure.repeats" = [2, 3]\n[measure]\nrepeats = 2')
    assert found == [{"measure.repeats": 2}, {"measure.repeats": 3}]


def test_seeds_are_the_axis_of_a_variable():
    descriptor = describe.read(BASE + "seeds = [1, 2]\n").descriptor
    assert descriptor.matrix.axes["env.vars.SEED"] == ("1", "2")
    assert [cell.descriptor.env.vars["SEED"] for cell in describe.cells(descriptor)][:2] == ["1", "2"]


def test_an_included_cell_may_have_other_values_and_follows_the_others():
    text = BASE + '"env.vars.A" = ["1", "2"]\n"env.vars.B" = ["1"]\n'
    text += 'include = [{ "env.vars.A" = 9 }, { "env.vars.B" = "2", "env.vars.A" = "1" }]\n'
    cells = describe.cells(describe.read(text).descriptor)
    assert [cell.values for cell in cells[-2:]] == [
        {"env.vars.A": "9"},
        {"env.vars.A": "1", "env.vars.B": "2"},
    ]
    assert "B" not in cells[-2].descriptor.env.vars


def test_an_included_cell_is_checked_at_its_place():
    text = BASE + '"hardware.gpus" = [1]\ninclude = [{ "hardware.gpus" = -1 }]\n'
    (problem,) = describe.read(text).problems
    assert problem.path == 'matrix.include[0]."hardware.gpus"'


HALVING = [
    ("[sweep.halving]\nmetric = 'speed'", "sweep.halving", "no seeds"),
    ("[sweep.halving]\nmetric = 'speed'\nalong = 'env.vars.C'", "sweep.halving.along", "not an axis"),
    ("[sweep.halving]\nmetric = 'sped'\nalong = 'env.vars.A'", "sweep.halving.metric", "not a metric"),
    ("[sweep.halving]\nmetric = 'size'\nalong = 'env.vars.A'", "sweep.halving.metric", "direction"),
    ("[sweep]\nmax_parallel = 0", "sweep.max_parallel", "between 1"),
]


@pytest.mark.parametrize(("text", "path", "message"), HALVING)
def test_the_rules_of_a_sweep_are_checked(text, path, message):
    metrics = '[[output.metrics]]\nname = "size"\nunits = "B"\n'
    base = BASE.replace('"1/s"\n', '"1/s"\nbetter = "higher"\n')
    found = describe.read(base + '"env.vars.A" = ["1"]\n' + metrics + text).problems
    assert [problem.path for problem in found] == [path]
    assert message in found[0].message


def test_rules_of_a_sweep_need_a_matrix():
    (problem,) = describe.read(BASE.replace("[matrix]", "[sweep]\nmax_parallel = 2")).problems
    assert (problem.path, problem.message) == ("sweep", "[sweep] needs a [matrix]")
