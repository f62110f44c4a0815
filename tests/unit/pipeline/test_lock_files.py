"""Locks of one run on this machine, also while the process that placed it is stopped."""

import os
from pathlib import Path

import pytest

from anubis.pipeline.host.lock_files import STALLED_S, LockFiles
from anubis.record import liveness


@pytest.fixture
def place(tmp_path):
    """A process with a clock that the test sets, and the records of two runs."""

    class Place:
        first, second = str(tmp_path / "first"), str(tmp_path / "second")
        now_s = 1000.0

        def files(self):
            return LockFiles(tmp_path, lambda: self.now_s)

    return Place()


def test_a_lock_belongs_to_one_run_until_it_is_closed(place):
    lock = place.files().take("slot", place.first)
    assert place.files().take("slot", place.second) is None
    os.close(lock)
    assert place.files().take("slot", place.second) is not None


def test_a_lock_without_an_agent_is_recovered_after_a_while(place):
    stopped = place.files().take("slot", place.first)
    files = place.files()
    assert files.take("slot", place.second) is None
    place.now_s += STALLED_S - 1
    assert files.take("slot", place.second) is None
    place.now_s += 1
    assert files.take("slot", place.second) is not None
    assert liveness.is_revoked(place.first)
    os.close(stopped)
    assert place.files().take("slot", place.first) is None, "the second run has the lock"


def test_the_time_counts_from_the_first_observation_of_this_run(place):
    lock = place.files().take("slot", place.first)
    files = place.files()
    assert files.take("slot", place.second) is None
    os.close(lock)
    place.now_s += STALLED_S + 1
    assert place.files().take("slot", place.second) is not None
    assert files.take("slot", place.first) is None
    assert not liveness.is_revoked(place.second)


def test_a_running_agent_keeps_its_lock(place):
    place.files().take("slot", place.first)
    files = place.files()
    assert files.take("slot", place.second) is None
    Path(place.first).mkdir()
    agent = liveness.claim(place.first)
    for _ in range(2):
        place.now_s += STALLED_S + 1
        assert files.take("slot", place.second) is None
    os.close(agent)
    assert files.take("slot", place.second) is None, "the time counts from the end of the agent"
    place.now_s += STALLED_S
    assert files.take("slot", place.second) is not None
    assert not liveness.is_revoked(place.first)


def test_an_agent_that_appears_at_the_last_moment_keeps_its_lock(place, monkeypatch):
    place.files().take("slot", place.first)
    files = place.files()
    assert files.take("slot", place.second) is None
    place.now_s += STALLED_S
    states = iter([liveness.ABSENT, liveness.ALIVE])
    monkeypatch.setattr(liveness, "state", lambda record: next(states))
    monkeypatch.setattr(liveness, "revoke", lambda record: False)
    assert files.take("slot", place.second) is None


def test_a_lock_is_not_free_while_another_replica_of_its_run_ends(place, tmp_path):
    """In containers only the agent of the measured replica holds the lock; a server may take seconds to end."""
    measured, server = (str(tmp_path / "a1" / role / "0") for role in ("benchmark", "server"))
    for record in (measured, server):
        Path(record).mkdir(parents=True)
    os.close(place.files().take("slot", measured))
    agent = liveness.claim(server)
    assert place.files().take("slot", place.second) is None
    os.close(agent)
    assert place.files().take("slot", place.second) is not None


def test_only_one_process_recovers_a_lock(place):
    place.files().take("slot", place.first)
    two, three = place.files(), place.files()
    for files in (two, three):
        assert files.take("slot", place.second) is None
    place.now_s += STALLED_S
    assert two.take("slot", place.second) is not None
    assert three.take("slot", place.second) is None
    assert not liveness.is_revoked(place.second)
