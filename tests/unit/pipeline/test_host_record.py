"""What an engine reads of a record on this machine."""

import json
import os

from anubis.model.cause import Cause
from anubis.model.run import Seen
from anubis.pipeline.host_record import BALLAST_BYTES, cancel, observed, take_ballast
from anubis.record import layout, liveness


def test_a_run_has_ended_when_the_agent_says_so(tmp_path):
    assert observed(tmp_path) is None
    (tmp_path / layout.EXIT).write_text(json.dumps({"code": 3, "cause": "user_error", "reason": "it failed"}))
    seen = observed(tmp_path)
    assert (seen.seen, seen.exit_code, seen.cause, seen.reason) == (
        Seen.ENDED,
        3,
        Cause.USER_ERROR,
        "it failed",
    )


def test_the_reserved_space_is_free_after_the_end(tmp_path):
    take_ballast(tmp_path)
    assert (tmp_path / layout.BALLAST).stat().st_size == BALLAST_BYTES
    assert observed(tmp_path) is None
    assert (tmp_path / layout.BALLAST).exists()
    (tmp_path / layout.EXIT).write_text('{"code": 0}')
    assert observed(tmp_path).cause is None
    assert not (tmp_path / layout.BALLAST).exists()


def test_a_cancellation_is_kept_for_an_agent_that_has_not_appeared(tmp_path):
    cancel(tmp_path)
    assert (tmp_path / layout.CANCEL).exists()
    assert observed(tmp_path) is None
    cancel(tmp_path / "gone")


def test_an_agent_without_its_lock_is_lost(tmp_path):
    take_ballast(tmp_path)
    (tmp_path / layout.ALIVE).write_text("{}")
    assert observed(tmp_path).seen is Seen.LOST
    assert not (tmp_path / layout.BALLAST).exists()


def test_an_agent_with_its_lock_runs(tmp_path):
    lock = liveness.claim(str(tmp_path))
    try:
        assert observed(tmp_path).seen is Seen.RUNNING
    finally:
        os.close(lock)
