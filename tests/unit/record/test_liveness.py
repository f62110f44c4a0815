import json
import os

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
