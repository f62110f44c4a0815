"""What an engine reads of a record on this machine."""

import json
import os
import time

import pytest

from anubis.model.cause import Cause
from anubis.model.run import Seen
from anubis.pipeline.host import agent_record
from anubis.pipeline.host.agent_record import BALLAST_BYTES, cancel, observed, take_ballast
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
    (tmp_path / layout.EXIT).write_text('{"code": 0, "executions": []}')
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


def test_a_cancelled_run_does_not_wait_for_an_agent_that_never_appears(tmp_path, monkeypatch):
    cancel(tmp_path)
    assert observed(tmp_path) is None
    monkeypatch.setattr(agent_record, "FORCE_S", -0.5)
    assert observed(tmp_path).seen is Seen.LOST
    assert liveness.is_revoked(str(tmp_path)), "the agent cannot start later"
    assert "did not start" in observed(tmp_path).reason


@pytest.mark.parametrize("content", ["", "[]", '{"monotonic_s": null}', '{"monotonic_s": 1e300}', "{"])
def test_a_request_without_a_valid_time_counts_from_now_on(tmp_path, content):
    (tmp_path / layout.CANCEL).write_text(content)
    lock = liveness.claim(str(tmp_path))
    signalled = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(liveness, "cancel", signalled.append)
        patch.setattr(liveness, "kill_session", lambda record: pytest.fail("its time is not over"))
        assert observed(tmp_path).seen is Seen.RUNNING
    assert signalled == [str(tmp_path)]
    assert json.loads((tmp_path / layout.CANCEL).read_text())["monotonic_s"] <= time.monotonic()
    os.close(lock)


def test_an_agent_that_does_not_end_after_a_request_is_killed(tmp_path, monkeypatch):
    cancel(tmp_path)
    lock = liveness.claim(str(tmp_path))
    killed = []
    monkeypatch.setattr(liveness, "kill_session", killed.append)
    now_s = time.monotonic() + agent_record.FORCE_S + 1
    monkeypatch.setattr(agent_record.time, "monotonic", lambda: now_s)
    assert observed(tmp_path).seen is Seen.RUNNING
    assert killed == [str(tmp_path)]
    os.close(lock)


def test_a_damaged_result_counts_only_when_the_agent_has_ended(tmp_path):
    """The agent replaces the file at its end."""
    (tmp_path / layout.EXIT).write_text("[]")
    lock = liveness.claim(str(tmp_path))
    assert observed(tmp_path).seen is Seen.RUNNING
    os.close(lock)
    seen = observed(tmp_path)
    assert (seen.seen, seen.cause) == (Seen.ENDED, Cause.RECORD_DAMAGED)
    assert "must be an object, found []" in seen.reason


def test_giving_up_a_record_that_is_gone_is_a_loss(tmp_path):
    assert agent_record.give_up(tmp_path / "gone", "it is gone").reason == "it is gone"
