from pathlib import Path

from anubis.model.descriptor import Data
from anubis.model.server import DataSource
from anubis.submission.replay import (
    code_differences,
    environment_differences,
    machine_differences,
    submission_of,
)
from anubis.testing import a_descriptor, a_run

FACTS = {
    "fingerprint_inputs": {"cpu_model": "A", "cpus": 4},
    "python": {"file": "/usr/bin/python3", "distributions_digest": "1"},
}


def of(run, **options):
    return submission_of(run, "text", **{"overrides": {}, "folder": None, **options})


def paths(problems):
    return [(problem.path, problem.severity.value) for problem in problems]


def test_the_same_machine_does_not_differ():
    assert list(machine_differences(FACTS, FACTS)) == []


def test_every_fact_that_differs_is_named():
    now = {
        "fingerprint_inputs": {"cpu_model": "B", "cpus": 4, "virtual": True},
        "python": {"file": "/opt/python3"},
    }
    assert paths(machine_differences(FACTS, now)) == [
        ("machine.cpu_model", "warning"),
        ("machine.virtual", "warning"),
        ("python.file", "warning"),
        ("python.distributions_digest", "warning"),
    ]


def test_a_record_without_facts_is_said_to_have_none():
    (problem,) = machine_differences({}, FACTS)
    assert "not compared" in problem.message
    assert paths(machine_differences({**FACTS, "python": None}, FACTS))[0][0] == "python.file"


def test_data_without_a_digest_cannot_be_compared(tmp_path):
    sources = tuple(
        DataSource(src=f"s3://a/{n}", path=f"/{n}", digest=d) for n, d in enumerate(("md5:1", None))
    )
    run = a_run(a_descriptor(data=Data(sources=sources)), folder=str(tmp_path))
    found = paths(code_differences(of(run), new_commit=True))
    assert found == [("data.sources[1]", "warning")]


def test_a_run_without_a_folder_needs_one(tmp_path):
    assert paths(code_differences(of(a_run()), new_commit=True)) == [("folder", "error")]
    assert list(code_differences(of(a_run(), folder=tmp_path), new_commit=True)) == []


def test_only_the_axes_of_a_cell_are_kept():
    run = a_run(
        cell={"file": "a.toml", "round": 2, "env.vars.N": "1"}, overrides={"a": "1", "b": "2"}, order_s=5.0
    )
    again = of(run)
    assert (again.cell, again.overrides, again.order_s) == ({"env.vars.N": "1"}, {"a": "1", "b": "2"}, 5.0)
    assert of(run, overrides={"measure.repeats": "3"}).overrides == {
        "a": "1",
        "b": "2",
        "measure.repeats": "3",
    }


def test_the_folder_is_absolute(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert of(a_run(), folder=Path()).folder == str(tmp_path)


def test_variables_that_cannot_be_repeated_are_named():
    assert list(environment_differences([])) == []
    (problem,) = environment_differences([f"V{number}" for number in range(10)])
    assert problem.message.endswith("V6, V7 and 2 more")
    (problem,) = environment_differences(["A"])
    assert problem.message.endswith(": A")
    (problem,) = environment_differences(None)
    assert "not recorded" in problem.message
