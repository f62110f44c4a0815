"""The JSON Schema and the reference page say what the reader does."""

import json
import re
import subprocess
import sys
import tomllib

import jsonschema
import pytest

from anubis import describe
from anubis.describe.check.limits import LIMITS
from anubis.describe.examples import EXAMPLES
from anubis.describe.fields import all_fields, docs, section_of
from anubis.describe.legacy import PROBES, STRATEGIES
from support.tree import ROOT

SCHEMA = describe.json_schema()
VALIDATOR = jsonschema.Draft202012Validator(SCHEMA)
FOLDER = ROOT / "tests" / "recorded" / "descriptors"
NEW = sorted([*FOLDER.glob("new_*.toml"), *ROOT.glob("examples/*/*.toml")])
COMPLETE = (FOLDER / "new_complete.toml").read_text()
PAGE = (ROOT / "docs" / "reference" / "descriptor.md").read_text()


def test_it_is_a_schema_of_draft_2020_12():
    VALIDATOR.check_schema(SCHEMA)
    assert SCHEMA["$schema"].endswith("2020-12/schema")


@pytest.mark.parametrize("path", NEW, ids=lambda path: path.stem)
def test_schema_and_reader_agree_on_whole_files(path):
    text = path.read_text()
    assert VALIDATOR.is_valid(tomllib.loads(text)) == (describe.read(text).descriptor is not None)


CHANGES = [
    ('name = "resnet50-train"', 'name = "two words"', False),
    ('name = "resnet50-train"', "", False),
    ('name = "resnet50-train"', 'nmae = "x"', False),
    ("priority = -1", "priority = 1.5", False),
    ('overlap = "queue"', 'overlap = "wait"', False),
    ("repeats = 5", "repeats = 0", False),
    ("repeats = 5", "repeats = true", False),
    ("timeout_s = 7200", "timeout_s = 0", False),
    ("timeout_s = 7200", "timeout_s = 0.5", True),
    ('change = "5%"', "change = 0.05", True),
    ('change = "5%"', 'change = "5"', False),
    ('change = "5%"', "change = 0", False),
    ('units = "none"', "", False),
    ('processes_per_instance = "gpus"', "processes_per_instance = 4", True),
    ('processes_per_instance = "gpus"', "processes_per_instance = 0", False),
    ('processes_per_instance = "gpus"', 'processes_per_instance = "x4"', False),
    ("ports = [8080]", "ports = [0]", False),
    ("ports = [8080]", 'ports = ["http"]', False),
    ('readiness_probe = "http://localhost/ping"', 'readiness_probe = "/ping"', True),
    ('readiness_probe = "http://localhost/ping"', 'readiness_probe = "ping"', False),
    ('team = "vision"', '"a/b" = "vision"', False),
    ('team = "vision"', "team = 3", False),
    ('BATCH = "32"', "BATCH = 32", False),
    ('to = "slack:#perf"', 'to = "perf"', False),
    ("from = 16, to = 256, times = 2", "from = 16, to = 256", False),
    ('max_cost = "25 USD"', 'max_cost = "25"', False),
    ('md5 = "5d41402abc4b2a76b9719d911017c592"', 'md5 = "x"', False),
    ("unpack = true", "unpac = true", False),
    ('spec_version = "1.0"', 'spec_version = "2"', False),
    ("[subject]", "[subjekt]", False),
]


@pytest.mark.parametrize(("old", "new", "valid"), CHANGES)
def test_schema_and_reader_agree_on_single_changes(old, new, valid):
    assert COMPLETE.count(old) >= 1
    text = COMPLETE.replace(old, new, 1)
    assert VALIDATOR.is_valid(tomllib.loads(text)) is valid
    assert (describe.read(text).descriptor is not None) is valid


@pytest.mark.parametrize("found", all_fields(), ids=lambda found: found.pattern)
def test_every_field_is_explained_and_has_an_example(found):
    assert len(docs(found.owner)[found.name]) > 5
    leaf = section_of(found.kind) is None and found.owner.__name__ != "Matrix"
    kinds = (found.pattern, f"{found.pattern}.*", f"{found.pattern}[]")
    assert not leaf or any(kind in EXAMPLES for kind in kinds)


def test_every_limit_and_example_belongs_to_a_field():
    known = {found.pattern for found in all_fields()}
    strangers = {re.sub(r"(\.\*|\[\])$", "", pattern) for pattern in [*LIMITS, *EXAMPLES]} - known
    assert strangers == {"data.sources[].md5", "server.models[].md5"}


def test_the_schema_is_closed_wherever_unknown_keys_are_errors():
    def open_tables(schema, path=""):
        if schema.get("type") == "object" and "properties" in schema and "additionalProperties" not in schema:
            yield path
        for key, inner in schema.get("properties", {}).items():
            yield from open_tables(inner, f"{path}.{key}")

    assert list(open_tables(SCHEMA)) == []


def test_the_committed_reference_page_is_up_to_date():
    generated = re.search(r"<!-- generated: descriptor -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)[1]
    assert generated.strip() == describe.reference_markdown().strip()


def test_the_page_names_every_old_spelling():
    assert [word for word in [*PROBES, *STRATEGIES, "uri", "task_name"] if f"{word}" not in PAGE] == []


@pytest.mark.parametrize("word", ["schema", "reference"])
def test_the_module_prints_what_it_generates(word):
    command = [sys.executable, "-m", "anubis.describe", word]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if word == "schema":
        assert json.loads(printed) == SCHEMA
    else:
        assert printed.strip() == describe.reference_markdown().strip()


def test_the_module_explains_itself():
    found = subprocess.run(
        [sys.executable, "-m", "anubis.describe"], capture_output=True, text=True, check=False
    )
    assert (found.returncode, "schema|reference" in found.stderr) == (2, True)
