import pytest

from anubis import describe
from anubis.describe.paths import parsed, shown

TEXT = """spec_version = "1.0"
[info]
name = "base"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
[[output.metrics]]
name = "a"
units = "s"
"""


def descriptor(**overrides):
    reading = describe.read(TEXT, overrides=overrides)
    assert reading.problems == ()
    return reading.descriptor


@pytest.mark.parametrize(
    ("path", "raw", "expected"),
    [
        ("measure.repeats", "5", lambda found: found.measure.repeats == 5),
        ("measure.timeout_s", "1.5", lambda found: found.measure.timeout_s == 1.5),
        ("env.privileged", "true", lambda found: found.env.privileged is True),
        ("env.vars.BATCH", "32", lambda found: found.env.vars == {"BATCH": "32"}),
        ("env.vars.BATCH", "1e3", lambda found: found.env.vars == {"BATCH": "1e3"}),
        ("env.vars.BATCH", '"32"', lambda found: found.env.vars == {"BATCH": "32"}),
        ("env.vars.BATCH", "", lambda found: found.env.vars == {"BATCH": ""}),
        ('env.vars."a.b"', "x", lambda found: found.env.vars == {"a.b": "x"}),
        ("env.vars", "{ A = '1' }", lambda found: found.env.vars == {"A": "1"}),
        ("subject.version", "2024-01-01", lambda found: found.subject.version == "2024-01-01"),
        ("ml.args", "--x = 1", lambda found: found.ml.args == "--x = 1"),
        ("ml.args", "1\nenv = 2", lambda found: found.ml.args == "1\nenv = 2"),
        ("output.metrics[0].better", "lower", lambda found: found.output.metrics[0].better == "lower"),
        (
            "output.metrics[0].threshold.change",
            "5%",
            lambda found: found.output.metrics[0].threshold.change == 0.05,
        ),
        ("info.name", "other", lambda found: found.info.name == "other"),
        ("info.task_name", "other", lambda found: found.info.name == "other"),
    ],
)
def test_an_override_is_read_as_its_field_wants_it(path, raw, expected):
    text = (
        TEXT
        if path != "info.task_name"
        else TEXT.replace('"1.0"', '"0.1.0"').replace("name", "description", 1)
    )
    text = text.replace("[ml]", '[env]\ndocker_image = "example"\n[ml]')
    assert expected(describe.read(text, overrides={path: raw}).descriptor)


@pytest.mark.parametrize(
    ("path", "raw", "expected"),
    [
        ("measure.repets", "5", "did you mean `repeats`"),
        ("measure", "5", "expected a table"),
        ("measure.repeats", "many", "expected a whole number"),
        ("info.name.first", "x", "does not exist in this file"),
        ("output.metrics[7].name", "x", "does not exist in this file"),
        ("output.metrics.name", "x", "does not exist in this file"),
        ("", "x", "not a valid path"),
        ("a..b", "x", "not a valid path"),
        ("a b", "x", "not a valid path"),
        ("a[x]", "x", "not a valid path"),
        ("spec_version", "3", "not a known version"),
    ],
)
def test_a_path_that_leads_nowhere_is_a_problem_without_a_line(path, raw, expected):
    (problem,) = describe.read(TEXT, overrides={path: raw}).problems
    assert expected in str(problem)
    assert problem.line is None


def test_an_override_can_mend_a_file():
    broken = TEXT.replace('"local"', "3")
    assert describe.read(broken).descriptor is None
    assert describe.read(broken, overrides={"hardware.instance_type": "local"}).descriptor is not None


@pytest.mark.parametrize("path", [("a",), ("a", "b-c", 3, "d.e"), ("a", 0, 1), ("matrix", "x y", "ü")])
def test_paths_read_back_as_they_are_shown(path):
    assert parsed(shown(path)) == path
