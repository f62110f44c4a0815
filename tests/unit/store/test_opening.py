import sqlite3
from contextlib import closing

import pytest

from anubis.model.errors import StoreError
from anubis.store import open_store, opening


@pytest.fixture
def busy(tmp_path):
    """A new database in which another process writes; SQLite then refuses to change the journal mode, without waiting."""
    path = tmp_path / "anubis.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as writer:
        writer.execute("BEGIN IMMEDIATE")
        yield path, writer


def test_a_new_database_in_which_another_process_writes_is_waited_for(busy, monkeypatch):
    path, writer = busy
    monkeypatch.setattr(opening.time, "sleep", lambda _: writer.execute("ROLLBACK"))
    with closing(open_store(f"sqlite:///{path}")) as store:
        assert store.runs.unfinished() == 0


def test_it_is_not_waited_for_for_ever(busy, monkeypatch):
    monkeypatch.setattr(opening, "BUSY_S", 0.0)
    with pytest.raises(StoreError, match="locked"):
        open_store(f"sqlite:///{busy[0]}")
