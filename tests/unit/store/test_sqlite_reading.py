"""A database that cannot be written is read, complete, and nothing beside it is changed."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from anubis.model.errors import FullError, ReadOnlyError, StoreError
from anubis.store import open_store
from anubis.store.sql import sqlite_reading
from anubis.store.sql.sqlite_reading import explained, may_be_readable, read_only_connection
from anubis.testing import a_run

ADD_ONE_AND_DIE = """if True:
    import os, sys
    from anubis.store import open_store
    from anubis.testing import a_run
    run = a_run()
    open_store(sys.argv[1]).runs.add([(run, "")], [])
    print(run.id, flush=True)
    os._exit(0)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "home" / "anubis.db"


@pytest.fixture
def url(path):
    path.parent.mkdir()
    return f"sqlite:///{path}"


@pytest.fixture
def run(url):
    run = a_run()
    store = open_store(url)
    store.runs.add([(run, "")], [])
    store.close()
    return run


@pytest.fixture
def unmerged(url, run):
    """The id of a run that is only in the log: its process died."""
    done = subprocess.run(
        [sys.executable, "-c", ADD_ONE_AND_DIE, url], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def ids(connection):
    return {row[0].hex() for row in connection.execute("SELECT id FROM runs")}


def test_a_merged_database_is_read_in_place(path, run):
    connection = read_only_connection(str(path))
    assert ids(connection) == {run.id.replace("-", "")}
    assert list(path.parent.iterdir()) == [path]
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM runs")
    connection.close()


def test_commits_that_are_only_in_the_log_are_read_too(path, run, unmerged, tmp_path, monkeypatch):
    (tmp_path / "copies").mkdir()
    monkeypatch.setattr(sqlite_reading.tempfile, "tempdir", str(tmp_path / "copies"))
    before = {each.name: each.read_bytes() for each in path.parent.iterdir()}
    connection = read_only_connection(str(path))
    assert ids(connection) == {run.id.replace("-", ""), unmerged.replace("-", "")}
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        connection.execute("DELETE FROM runs")
    connection.close()
    assert {each.name: each.read_bytes() for each in path.parent.iterdir()} == before
    assert list((tmp_path / "copies").iterdir()) == []


@pytest.mark.usefixtures("unmerged")
def test_a_copy_of_two_moments_is_made_again(path, monkeypatch):
    copies = []

    def copyfile(source, target, copyfile=shutil.copyfile):
        copies.append(source)
        if len(copies) == 1:
            os.utime(path, ns=(1, 1))  # a writer on another machine
        return copyfile(source, target)

    monkeypatch.setattr(sqlite_reading.shutil, "copyfile", copyfile)
    assert len(ids(read_only_connection(str(path)))) == 2
    assert len(copies) == 4


@pytest.mark.usefixtures("unmerged")
def test_a_database_that_is_always_being_written_is_named(path, monkeypatch):
    def copyfile(source, target):
        Path(target).write_bytes(Path(source).read_bytes())
        os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))

    monkeypatch.setattr(sqlite_reading.shutil, "copyfile", copyfile)
    with pytest.raises(StoreError, match="written by another process"):
        read_only_connection(str(path))


@pytest.mark.usefixtures("unmerged")
def test_without_room_for_the_log_the_latest_commits_are_not_left_out(path, monkeypatch, tmp_path):
    monkeypatch.setattr(sqlite_reading.tempfile, "tempdir", str(tmp_path / "gone"))
    with pytest.raises(ReadOnlyError, match="latest commits") as caught:
        read_only_connection(str(path))
    assert "TMPDIR" in caught.value.remedy


def test_a_database_that_does_not_exist(path):
    with pytest.raises(ReadOnlyError, match="does not exist"):
        read_only_connection(str(path))


def of(code):
    error = sqlite3.OperationalError("reason")
    error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("code", "kind", "exit_code"),
    [
        (sqlite3.SQLITE_FULL, FullError, 2),
        (sqlite3.SQLITE_READONLY_DIRECTORY, ReadOnlyError, 2),
        (sqlite3.SQLITE_CANTOPEN, ReadOnlyError, 2),
        (sqlite3.SQLITE_BUSY, StoreError, 1),
    ],
)
def test_an_error_says_whether_writing_is_impossible(code, kind, exit_code):
    error = explained("here.db", of(code))
    assert (type(error), error.exit_code) == (kind, exit_code)
    assert "here.db" in error.message
    assert "reason" in error.message


def test_only_a_database_that_cannot_be_written_is_read_in_another_way():
    assert may_be_readable(of(sqlite3.SQLITE_IOERR_SHMSIZE))
    assert not may_be_readable(of(sqlite3.SQLITE_BUSY))
    assert not may_be_readable(None)
