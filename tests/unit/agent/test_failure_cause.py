import errno
import inspect
import os

import pytest

from anubis.agent.execute import failure_cause
from anubis.model.cause import Cause


@pytest.fixture
def record(tmp_path):
    (tmp_path / "stdout").write_bytes(b"")
    (tmp_path / "stderr").write_bytes(b"")
    return tmp_path


@pytest.mark.parametrize(
    ("code", "signal", "kills", "alone", "cause"),
    [
        (0, None, 0, True, None),
        (0, None, 1, True, None),
        (3, None, 0, True, Cause.USER_ERROR),
        (3, None, 1, True, Cause.OUT_OF_MEMORY),
        (3, None, 1, False, Cause.USER_ERROR),
        (137, None, 0, True, Cause.USER_ERROR),
        (137, None, 1, False, Cause.OUT_OF_MEMORY),
        (137, 9, 0, False, Cause.USER_ERROR),
        (137, 9, 1, False, Cause.OUT_OF_MEMORY),
        (139, 11, 0, True, Cause.USER_ERROR),
    ],
)
def test_causes(record, code, signal, kills, alone, cause):
    found, reason = failure_cause.judge(code, signal, kills, alone, str(record))
    assert found == cause
    assert bool(reason) == bool(cause)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_the_benchmarks_last_words_tell_of_a_full_disk(record, stream, number):
    (record / stream).write_bytes(b"x" * 10_000 + os.strerror(number).encode() + b"\n")
    assert failure_cause.judge(1, None, 0, True, str(record))[0] == Cause.DISK_FULL


def test_old_words_about_a_full_disk_do_not_count(record):
    (record / "stderr").write_bytes(os.strerror(errno.ENOSPC).encode() + b"x" * 10_000)
    assert failure_cause.judge(1, None, 0, True, str(record))[0] == Cause.USER_ERROR


def test_causes_are_those_of_the_model():
    names = [
        name for name, value in inspect.getmembers(failure_cause) if name.isupper() and isinstance(value, str)
    ]
    assert {getattr(failure_cause, name) for name in names} <= {cause.value for cause in Cause}
    assert len(names) == 7
