"""What is accepted in the JSON files of a record, and what is called damage."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.record import validation
from anubis.record.files import FolderFiles
from anubis.record.reading import Record
from anubis.record.validation import exit_problems, read_checked

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4),
    max_leaves=15,
)
EXECUTION = {
    "phase": "measure", "repeat": 0, "code": 0, "started_s": 1.0, "ended_s": 2.5, "wall_s": 1.5,
    "user_s": 0.25, "system_s": 0, "peak_memory_bytes": None,
}  # fmt: skip
EXIT = {
    "code": 0,
    "signal": None,
    "cause": None,
    "reason": "",
    "executions": [EXECUTION],
    "extraction": "none",
}


def record(folder, name, content):
    (folder / name).write_text(content if isinstance(content, str) else json.dumps(content))
    return Record(FolderFiles(str(folder)))


def test_what_an_agent_writes_is_accepted(tmp_path):
    read = record(tmp_path, "exit.json", EXIT)
    assert (read.damage, read.exit) == ("", EXIT)
    assert [execution.wall_s for execution in read.executions] == [1.5]


def test_an_execution_that_could_not_be_ended_has_no_code(tmp_path):
    last = {**EXIT, "code": None, "cause": "timeout", "executions": [{**EXECUTION, "code": None}]}
    read = record(tmp_path, "exit.json", last)
    assert (read.damage, [execution.code for execution in read.executions]) == ("", [None])


def test_missing_files_are_no_damage(tmp_path):
    read = Record(FolderFiles(str(tmp_path)))
    assert (read.damage, read.exit, read.facts, read.metrics) == ("", {}, {}, {})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"reason": None}, 'exit.json: "reason" must be text, found null'),
        ({"reason": "x" * 200_000}, "must be text"),
        ({"code": True}, '"code" must be an exit code or null, found true'),
        ({"code": 2**31}, '"code" must be an exit code'),
        ({"cause": 3}, '"cause" must be the name of a cause or null, found 3'),
        ({"extraction": "half"}, '"extraction" must be one of complete, failed, none'),
        ({"executions": {}}, '"executions" must be a list'),
        ({"executions": [None]}, "executions[0]: must be an object, found null"),
        ({"executions": [EXECUTION, {"wall_s": 1}]}, 'executions[1]: "started_s" is missing'),
        ({"executions": [{**EXECUTION, "wall_s": -1}]}, '"wall_s" must be a number, not negative'),
        ({"executions": [{**EXECUTION, "repeat": 1.5}]}, '"repeat" must be an integer'),
        ({"executions": [{**EXECUTION, "peak_memory_bytes": "much"}]}, '"peak_memory_bytes" must be a number or null'),
    ],
)  # fmt: skip
def test_damage_names_the_field_and_what_is_expected(tmp_path, changes, message):
    read = record(tmp_path, "exit.json", {**EXIT, **changes})
    assert message in read.damage
    assert (read.exit, list(read.executions)) == ({}, [])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "exit.json is not JSON"),
        ("[]", "exit.json must be an object, found []"),
        ("{}", "exit.json: it is empty"),
        ('{"code": NaN}', "NaN is not valid"),
        ('{"code": ' + "1" * 5000 + "}", "exit.json is not JSON"),
        ('{"a":' * 100_000, "exit.json is nested too deeply"),
    ],
)
def test_text_that_is_no_result_is_damage(tmp_path, content, message):
    assert message in record(tmp_path, "exit.json", content).damage


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(validation, "LARGEST_BYTES", 10)
    assert "at most 10 are valid" in record(tmp_path, "exit.json", EXIT).damage


def test_a_fingerprint_that_is_not_text_is_damage(tmp_path):
    read = record(tmp_path, "facts.json", {"fingerprint": 7})
    assert read.damage == 'facts.json: "fingerprint" must be text, found 7'
    assert read.exit_damage == ""


@pytest.mark.parametrize(
    "metrics",
    [
        [],
        {"m": None},
        {"m": {"rejected": []}},
        {"m": {"rejected": {"not finite": "1"}}},
        {"m": {"closest": {}}},
        {"m": 7},
    ],
)
def test_reports_that_no_extractor_writes_count_as_missing(tmp_path, metrics):
    assert record(tmp_path, "metrics.json", {"metrics": metrics}).metrics == {}


@given(st.dictionaries(st.sampled_from([*EXIT, "started_s", "disk_free_bytes"]), JSON))
def test_every_result_is_read_or_called_damage(changes):
    """Whatever passes the checks can be read as executions."""
    content = json.loads(json.dumps({**EXIT, **changes}))
    if not exit_problems(content):
        files = Memory(json.dumps(content).encode())
        assert read_checked(files, "exit.json", exit_problems)[0] == content or files.has_constants
        assert all(execution.cpu_s >= 0 for execution in Record(files).executions)


class Memory:
    """A record with only exit.json, in memory."""

    def __init__(self, data):
        self.data = data
        self.has_constants = any(word in data for word in (b"NaN", b"Infinity"))

    def read(self, file, offset, length):
        return self.data[offset : offset + length] if file == "exit.json" else b""

    def state(self, file):
        return type("State", (), {"size_bytes": len(self.data)}) if file == "exit.json" else None
