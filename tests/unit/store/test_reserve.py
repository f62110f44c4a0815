"""The space that a database keeps free for itself."""

import sqlite3

import pytest

from anubis.model.errors import FullError
from anubis.store import open_store
from anubis.store.sql import reserve
from anubis.testing import a_run


def test_the_reserve_is_kept_once_and_given_up_once(tmp_path):
    path = str(tmp_path / "anubis.db")
    reserve.keep(path)
    reserve.keep(path)
    file = tmp_path / "anubis.db-reserve"
    assert (file.stat().st_size, file.stat().st_mode & 0o777) == (reserve.SIZE_BYTES, 0o600)
    assert file.stat().st_blocks * 512 >= reserve.SIZE_BYTES
    assert reserve.give_up(path)
    assert not reserve.give_up(path)


def test_no_reserve_is_taken_from_a_disk_that_is_nearly_full(tmp_path, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": reserve.SIZE_BYTES * 2}))
    reserve.keep(str(tmp_path / "anubis.db"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("full", [1, 2])
def test_a_transaction_on_a_full_disk_uses_the_reserve(tmp_path, full):
    """The database reports once or twice that its disk is full; there is one reserve."""
    store = open_store(f"sqlite:///{tmp_path}/anubis.db")
    store.keep_room()
    problems = [sqlite3.OperationalError("database or disk is full") for _ in range(full)]
    for problem in problems:
        problem.sqlite_errorcode = sqlite3.SQLITE_FULL
    run = a_run()

    def work(session):
        if problems:
            raise problems.pop()
        return "done"

    if full == 1:
        assert store.database.transact(work) == "done"
    else:
        with pytest.raises(FullError, match="disk is full"):
            store.database.transact(work)
    assert not (tmp_path / "anubis.db-reserve").exists()
    store.runs.add([(run, "")], [])
    assert store.runs.get(run.id) == run
    store.close()
