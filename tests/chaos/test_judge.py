"""The judge of a marathon sees what is wrong: it is tried on an installation in which everything is right, then on spoilt ones."""

import sqlite3
from contextlib import closing

import pytest

from chaos.judge import judge
from chaos.workload import Workload
from support.processes import until


@pytest.fixture
def workload(tmp_path):
    return Workload(tmp_path / "home", tmp_path / "work", {})


def judged(workload, promised=(), starts=None):
    settings = {"ANUBIS_HOME": str(workload.anubis.home)}
    return judge(settings, set(promised), workload.starts() if starts is None else starts).broken


def test_only_a_whole_run_is_right(workload):
    workload.start("submit", "quick.toml")
    until(lambda: not workload.reap(), "the command has ended")
    [run_id] = workload.promised
    workload.anubis("watch")
    starts = workload.starts()
    assert judged(workload, workload.promised) == []
    assert "executed 2 times" in "".join(judged(workload, starts=starts * 2))
    assert "was promised and is not stored" in "".join(judged(workload, ["another"]))
    database = workload.anubis.home / "anubis.db"
    spoil(database, "DELETE FROM events")
    assert "has the events" in "".join(judged(workload))
    spoil(database, "UPDATE points SET value = 267")
    assert "succeeded with rate = (267" in "".join(judged(workload))
    spoil(database, "UPDATE runs SET status = 4")
    assert f"run {run_id} is not final" in "".join(judged(workload))


def spoil(database, statement):
    with closing(sqlite3.connect(database)) as connection:
        connection.execute(statement)
        connection.commit()
