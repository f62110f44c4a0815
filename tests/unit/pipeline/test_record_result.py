"""From exit.json to a cause."""

import json

import pytest

from anubis.model.cause import Cause
from anubis.pipeline.record_result import result_of
from anubis.record.files import FolderFiles
from anubis.record.reading import Record


def result(folder, content):
    (folder / "exit.json").write_text(json.dumps(content))
    return result_of(Record(FolderFiles(str(folder))))


def test_without_a_file_there_is_no_result(tmp_path):
    assert result_of(Record(FolderFiles(str(tmp_path)))) is None


def test_a_failure_has_its_cause(tmp_path):
    read = result(tmp_path, {"code": 3, "cause": "user_error", "reason": "it failed"})
    assert (read.cause, read.reason, read.exit_code, read.is_damaged) == (
        Cause.USER_ERROR,
        "it failed",
        3,
        False,
    )


def test_a_success_has_none(tmp_path):
    assert result(tmp_path, {"code": 0, "executions": []}).cause is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"code": 1, "cause": "bad luck"}, '"bad luck" is not a cause'),
        ({"code": 3}, "there is no cause, although the exit code is 3"),
        ({"code": None, "cause": None}, "there is no cause"),
        ({"code": []}, '"code" must be'),
    ],
)
def test_a_result_that_no_agent_writes_is_damage(tmp_path, content, message):
    read = result(tmp_path, content)
    assert (read.cause, read.is_damaged) == (Cause.RECORD_DAMAGED, True)
    assert message in read.reason
