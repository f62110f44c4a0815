"""Descriptors of every age, each with all that is said about it: tests/recorded/descriptors.

To record the findings of a new file, read them first, then write them into NAME.problems.
"""

from dataclasses import replace

import pytest

from anubis import describe
from anubis.model.errors import BadInputError
from anubis.model.identity import series_key
from anubis.model.problem import Severity
from support.tree import ROOT, shown

FILES = sorted((ROOT / "tests" / "recorded" / "descriptors").glob("*.toml"))
TEXTS = {path.stem: path.read_text() for path in FILES}
READ = {name: describe.read(text) for name, text in TEXTS.items()}
VALID = sorted(name for name, reading in READ.items() if reading.descriptor)
#: 1.0 asks for something that only a person can decide.
TOO_STRICT = {"old_model_names": "server.models[0].src", "old_shared_folder": "data.sources[1].path"}
UPGRADED = [name for name in VALID if name not in TOO_STRICT]
OLD = [name for name in UPGRADED if name.startswith("old")]


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_a_file_has_exactly_the_recorded_problems(path):
    found = [f"{problem.severity} {problem}" for problem in READ[path.stem].problems]
    assert found == path.with_suffix(".problems").read_text().splitlines()


@pytest.mark.parametrize("name", READ)
def test_there_is_a_descriptor_exactly_when_nothing_is_an_error(name):
    errors = [problem for problem in READ[name].problems if problem.severity is Severity.ERROR]
    assert (READ[name].descriptor is None) == bool(errors)


def test_every_problem_tells_a_remedy():
    assert [problem for reading in READ.values() for problem in reading.problems if not problem.remedy] == []


@pytest.mark.parametrize("name", UPGRADED)
def test_an_upgraded_file_means_the_same_and_has_no_old_spelling(name):
    upgraded = describe.upgrade(TEXTS[name])
    reading = describe.read(upgraded)
    assert reading.descriptor == replace(READ[name].descriptor, spec_version="1.0")
    assert series_key(reading.descriptor) == series_key(READ[name].descriptor)
    assert [problem for problem in reading.problems if "old spelling" in problem.message] == []
    assert describe.upgrade(upgraded) == upgraded


@pytest.mark.parametrize("name", OLD)
def test_upgrading_keeps_every_comment(name):
    def comments(text):
        return [line.partition("#")[2] for line in text.splitlines() if "#" in line]

    assert comments(describe.upgrade(TEXTS[name])) == comments(TEXTS[name])


def test_a_new_file_is_upgraded_to_itself():
    text = TEXTS["new_complete"].replace('"1.0"', "'1.0'")
    assert describe.upgrade(text) == text


def test_a_file_with_errors_is_not_upgraded():
    with pytest.raises(BadInputError) as raised:
        describe.upgrade(TEXTS["old_two_sources_at_odds"])
    assert [problem.path for problem in raised.value.problems] == [
        "hardware.aws_zone_id",
        "data.sources[0].uri",
        "data.sources[1].md5",
    ]


@pytest.mark.parametrize("name", TOO_STRICT)
def test_what_only_a_person_can_decide_is_told_instead_of_upgraded(name):
    with pytest.raises(BadInputError, match="stricter") as raised:
        describe.upgrade(TEXTS[name])
    assert [problem.path for problem in raised.value.problems] == [TOO_STRICT[name]]


def test_everything_of_an_old_inference_is_understood():
    descriptor = READ["old_documented_inference"].descriptor
    probe = descriptor.server.env.readiness_probe
    assert (probe.scheme, probe.port, probe.path) == ("http", 8080, "/ping")
    assert descriptor.server.env.liveness_probe.path == "/alive?deep=1"
    assert descriptor.server.models[0].src == "s3://example-bucket/sentiment.mar"
    assert descriptor.hardware.strategy == "inference"
    assert descriptor.output.metrics[0].required is False


def test_models_of_an_old_inference_may_have_names_instead_of_addresses():
    models = READ["old_model_names"].descriptor.server.models
    assert [(model.src, model.path) for model in models] == [("src1", "/models/a"), ("s3://m/b", "/models/b")]
    new = TEXTS["old_model_names"].replace("0.1.0", "1.0")
    refused = [each for each in describe.read(new).problems if each.path == "server.models[0].src"]
    assert [each.severity for each in refused] == [Severity.ERROR]


def test_everything_of_an_old_training_is_understood():
    descriptor = READ["old_documented_training"].descriptor
    assert descriptor.info.name == "Image-classifier-weekly"
    assert descriptor.hardware.distributed.processes_per_instance == "4"
    assert [source.digest for source in descriptor.data.sources] == [
        "md5:5d41402abc4b2a76b9719d911017c592",
        None,
    ]
    assert [metric.units for metric in descriptor.output.metrics] == ["ratio", "none"]
