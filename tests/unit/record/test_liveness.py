import json
import os
import signal

import pytest

from anubis.record import liveness


def test_a_record_without_an_agent(tmp_path):
    assert liveness.state(str(tmp_path)) == liveness.ABSENT
    assert not liveness.cancel(str(tmp_path))


def test_it_lives_as_long_as_the_lock_is_held(tmp_path):
    lock = liveness.claim(str(tmp_path))
    assert liveness.state(str(tmp_path)) == liveness.ALIVE
    assert json.loads((tmp_path / "alive").read_text())["pid"] == os.getpid()
    os.close(lock)
    assert liveness.state(str(tmp_path)) == liveness.DEAD


def test_only_the_first_claim_holds(tmp_path):
    lock = liveness.claim(str(tmp_path))
    assert liveness.claim(str(tmp_path)) is None
    os.close(lock)
    assert liveness.claim(str(tmp_path)) is None
    assert [path.name for path in tmp_path.iterdir()] == ["alive"]


def test_a_dead_agent_is_not_signalled(tmp_path):
    os.close(liveness.claim(str(tmp_path)))
    assert not liveness.cancel(str(tmp_path))


def test_an_unreadable_claim_is_not_signalled(tmp_path):
    lock = liveness.claim(str(tmp_path))
    (tmp_path / "alive").write_text("")
    assert liveness.state(str(tmp_path)) == liveness.ALIVE
    assert not liveness.cancel(str(tmp_path))
    os.close(lock)


@pytest.mark.parametrize(
    "claimed",
    [
        {"pid": -1},
        {"pid": 0},
        {"pid": 1},
        {"pid": True},
        {"pid": "12"},
        {"pid": 10**30},
        {},
        [],
        {"pid": os.getpid(), "start_ticks": 1},
        {"pid": os.getpid(), "boot_id": "another boot"},
    ],
)
def test_a_process_that_did_not_claim_the_record_is_not_signalled(tmp_path, monkeypatch, claimed):
    """Process ids are reused, and a benchmark can write to the file; -1 would be every process."""
    signalled = []
    for name in ("kill", "killpg"):
        monkeypatch.setattr(os, name, lambda *words: signalled.append(words))
    lock = liveness.claim(str(tmp_path))
    (tmp_path / "alive").write_text(json.dumps(claimed))
    assert liveness.state(str(tmp_path)) == liveness.ALIVE
    assert not liveness.cancel(str(tmp_path))
    liveness.kill_session(str(tmp_path))
    assert signalled == []
    os.close(lock)


def test_the_process_that_claimed_the_record_is_signalled(tmp_path, monkeypatch):
    signalled = []
    monkeypatch.setattr(os, "kill", lambda *words: signalled.append(words))
    lock = liveness.claim(str(tmp_path))
    assert liveness.cancel(str(tmp_path))
    assert signalled == [(os.getpid(), signal.SIGTERM)]
    os.close(lock)


def test_only_the_leader_of_a_session_is_killed_with_its_group(tmp_path, monkeypatch):
    killed = []
    monkeypatch.setattr(os, "killpg", lambda *words: killed.append(words))
    lock = liveness.claim(str(tmp_path))
    for group, expected in [(os.getpid() + 1, []), (os.getpid(), [(os.getpid(), signal.SIGKILL)])]:
        monkeypatch.setattr(os, "getpgid", lambda pid, group=group: group)
        liveness.kill_session(str(tmp_path))
        assert killed == expected
    os.close(lock)


def test_a_revoked_record_cannot_be_claimed(tmp_path):
    assert not liveness.is_revoked(str(tmp_path))
    assert liveness.revoke(str(tmp_path))
    assert liveness.is_revoked(str(tmp_path))
    assert liveness.state(str(tmp_path)) == liveness.DEAD
    assert liveness.claim(str(tmp_path)) is None
    assert not liveness.revoke(str(tmp_path))


def test_a_claimed_record_cannot_be_revoked(tmp_path):
    lock = liveness.claim(str(tmp_path))
    assert not liveness.revoke(str(tmp_path))
    assert liveness.holds(str(tmp_path), lock)
    assert liveness.state(str(tmp_path)) == liveness.ALIVE
    os.close(lock)
    assert not liveness.is_revoked(str(tmp_path))


def test_a_claim_that_was_deleted_or_replaced_is_not_held(tmp_path):
    lock = liveness.claim(str(tmp_path))
    (tmp_path / "alive").unlink()
    assert not liveness.holds(str(tmp_path), lock)
    assert liveness.revoke(str(tmp_path))
    assert not liveness.holds(str(tmp_path), lock)
    os.close(lock)


@pytest.mark.parametrize(
    "make",
    [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero"), lambda path: path.symlink_to("nothing")],
    ids=["FIFO", "folder", "device", "broken link"],
)
def test_something_else_in_the_place_of_the_claim_is_damage(tmp_path, make):
    make(tmp_path / "alive")
    assert liveness.state(str(tmp_path)) == liveness.DAMAGED
    assert not liveness.cancel(str(tmp_path))


def test_a_file_in_the_place_of_the_record_is_damage(tmp_path):
    (tmp_path / "record").write_text("")
    assert liveness.state(str(tmp_path / "record")) == liveness.DAMAGED
