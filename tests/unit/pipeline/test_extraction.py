"""Values are read again from the output unless the extractor beside the benchmark finished."""

import json
import os
import subprocess
from types import SimpleNamespace

import pytest

from anubis.contracts.records import RecordKey
from anubis.model.ids import new_run_id
from anubis.pipeline import extraction
from anubis.pipeline.extraction import extracted
from anubis.store import FolderRecords
from anubis.testing import FakeRecords
from support.agents import HandmadeRecord

PATTERN = r"rate=(\S+)"


@pytest.fixture
def measured(tmp_path):
    """A record whose output has 300 values, of which an extractor has read the first 200."""
    records, key = FolderRecords(tmp_path), RecordKey(new_run_id(), 1)
    folder = tmp_path / key.run_id / "a1" / "benchmark" / "0"
    folder.mkdir(parents=True)
    record = HandmadeRecord(folder)
    (folder / "patterns.json").write_text(json.dumps({"rate": {"pattern": PATTERN, "units": "1"}}))
    for number in range(1, 201):
        record.write(b"rate=%d\n" % number)
    record.extract({"rate": PATTERN})
    for number in range(201, 301):
        record.write(b"rate=%d\n" % number)

    def end(**changes):
        record.end()
        facts = {"code": 0, "cause": None, "reason": "", "executions": [], "extraction": "complete"}
        (folder / "exit.json").write_text(json.dumps({**facts, **changes}))

    def values():
        found = extracted(records, key)
        return found.problem, [value for block in found.blocks for value in block.values]

    return SimpleNamespace(records=records, key=key, folder=folder, record=record, end=end, values=values)


ALL = [float(number) for number in range(1, 301)]


@pytest.mark.parametrize("outcome", ["complete", "failed"])
def test_what_the_extractor_left_out_is_read(measured, outcome):
    """An agent that says "complete" is not believed without the end marker of the samples."""
    measured.end(extraction=outcome)
    assert measured.values() == ("", ALL)


def test_values_of_an_agent_that_was_killed_are_read(measured):
    assert measured.values() == ("", ALL)


def test_complete_samples_are_not_read_again(measured, monkeypatch):
    measured.end()
    measured.record.extract({"rate": PATTERN})
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("nothing is left to read"))
    assert measured.values() == ("", ALL)


@pytest.mark.parametrize("damage", [b"", b"anubis samples 1", b"other", b"anubis samples 1" + b"\0" * 100])
def test_damaged_samples_are_read_again(measured, damage):
    measured.end()
    (measured.folder / "samples").write_bytes(damage)
    assert measured.values() == ("", ALL)


def test_a_value_that_is_not_finite_is_not_from_an_extractor(measured):
    measured.end()
    measured.record.extract({"rate": PATTERN})
    content = (measured.folder / "samples").read_bytes()
    one, nan = bytes.fromhex("000000000000f03f"), bytes.fromhex("000000000000f87f")
    (measured.folder / "samples").write_bytes(content.replace(one, nan, 1))
    assert measured.values() == ("", ALL)


def test_output_without_an_end_is_incomplete_although_the_agent_ended(measured):
    measured.end()
    lines = measured.folder / "lines"
    lines.write_bytes(lines.read_bytes()[:-24])
    problem, values = measured.values()
    assert "did not read the whole output" in problem
    assert values == ALL


def test_nothing_is_started_where_there_was_nothing_to_read(measured, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("there is nothing to read"))
    measured.end(extraction="none")
    assert measured.values() == ("", [])


def test_an_agent_that_was_killed_before_any_output_has_no_values(tmp_path, monkeypatch):
    monkeypatch.setattr(subprocess, "Popen", lambda *_, **__: pytest.fail("there is nothing to read"))
    assert extracted(FolderRecords(tmp_path), RecordKey(new_run_id(), 1)).problem == ""


def test_an_extractor_that_fails_leaves_its_message_and_no_files(measured):
    measured.end()
    (measured.folder / "stdout").unlink()
    os.mkfifo(measured.folder / "stdout")
    (measured.folder / f"samples-1{extraction.layout.PART}").write_bytes(b"of an extractor that was killed")
    problem, _ = measured.values()
    assert "not a regular file" in problem
    assert not list(measured.folder.glob("*.part"))


def test_an_extractor_that_hangs_is_killed(measured, monkeypatch):
    measured.end()
    monkeypatch.setattr(extraction, "LONGEST_S", -1.0)
    monkeypatch.setattr(extraction, "LOOK_EVERY_S", 0.0)
    problem, values = measured.values()
    assert "longer than" in problem
    assert values == ALL[:200]


@pytest.mark.parametrize("harm", ["kill -KILL $$", "kill -STOP $$"])
def test_an_extractor_that_is_killed_or_stopped_loses_no_value(measured, monkeypatch, tmp_path, harm):
    """The first one is; the next one, or the same one after SIGCONT, reads everything."""
    measured.end()
    once = f'mkdir {tmp_path}/harmed 2>/dev/null && {harm}; exec "$@"'
    monkeypatch.setattr(extraction, "HOST_AGENT", ("sh", "-c", once, "sh", *extraction.HOST_AGENT))
    monkeypatch.setattr(extraction, "LOOK_EVERY_S", 0.01)
    assert measured.values() == ("", ALL)
    assert (tmp_path / "harmed").exists()


def test_an_extractor_that_is_always_killed_is_given_up(measured, monkeypatch, tmp_path):
    measured.end()
    always = f"echo >> {tmp_path}/started; kill -KILL $$"
    monkeypatch.setattr(extraction, "HOST_AGENT", ("sh", "-c", always, "sh"))
    problem, values = measured.values()
    assert "killed by signal 9" in problem
    assert len((tmp_path / "started").read_text().splitlines()) == extraction.MOST_ATTEMPTS
    assert values == ALL[:200]


def test_a_record_elsewhere_cannot_be_read_again():
    records, key = FakeRecords(), RecordKey(new_run_id(), 1)
    records.append(key, "stdout", 0, b"rate=1\n")
    assert extracted(records, key).problem == "the record is not on this machine"
