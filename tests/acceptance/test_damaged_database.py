"""Damaged pages of the database: every command says so and how to restore it; backups are made and restored."""

import os
import signal
import sqlite3
from contextlib import closing

import pytest

from anubis.pipeline.worker import only_worker
from support.processes import until

PAGE = 4096
HISTORY = "benchmark,metric,value,units,time_s,commit\n" + "".join(
    f"bench-{number % 50},time,{number % 7 + 1},s,{1_700_000_000 + number},{number:07x}\n"
    for number in range(1000)
)


@pytest.fixture
def database(anubis):
    """A database with a thousand runs; closed, so that all commits are in its file."""
    (anubis.folder / "history.csv").write_text(HISTORY)
    assert anubis("import", "history.csv").returncode == 0
    return anubis.home / "anubis.db"


def damage(path, *, first_page=1):
    """Overwrite all pages from this one on, except for some bytes of each."""
    data = bytearray(path.read_bytes())
    for start in range(first_page * PAGE, len(data), PAGE):
        data[start : start + PAGE - 64] = b"\xa5" * (PAGE - 64)
    path.write_bytes(data)


def says_how_to_restore(ended):
    assert ended.returncode == 2, ended
    assert "is damaged: " in ended.stderr
    assert "anubis backup --restore" in ended.stderr
    assert ".recover" in ended.stderr
    assert "raceback" not in ended.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("history",),
        ("status",),
        ("results", "@last"),
        ("show", "@last"),
        ("compare", "@last", "@last~1"),
        ("series", "list"),
        ("export", "-o", "out.csv"),
        ("purge", "@last", "--yes"),
        ("cancel", "--all"),
        ("gc",),
        ("worker",),
        ("submit", "--", "true"),
        ("run", "--", "true"),
        ("import", "history.csv"),
        ("doctor", "--database"),
        ("backup", "copy.db"),
    ],
    ids=" ".join,
)
def test_every_command_says_that_pages_are_damaged(anubis, database, words):
    damage(database)
    says_how_to_restore(anubis(*words))
    assert not (anubis.folder / "copy.db").exists()


def test_a_database_that_has_lost_its_header_is_damaged_too(anubis, database):
    damage(database, first_page=0)
    says_how_to_restore(anubis("history"))
    says_how_to_restore(anubis("doctor", "--database"))


def test_a_whole_database_is_confirmed(anubis, database):
    ended = anubis("doctor", "--database")
    assert ended.returncode == 0, ended.stderr
    assert "no damage found" in ended.stdout


def test_a_backup_replaces_a_damaged_database(anubis, database):
    before = anubis("history", "--json", "--limit", "2000").stdout
    assert anubis("backup", "copy.db").returncode == 0
    assert sorted(path.name for path in anubis.folder.iterdir()) == ["copy.db", "history.csv"]
    assert (anubis.folder / "copy.db").stat().st_mode & 0o777 == 0o600
    damage(database)
    restored = anubis("backup", "--restore", "copy.db")
    assert restored.returncode == 0, restored.stderr
    assert anubis("history", "--json", "--limit", "2000").stdout == before
    (kept,) = anubis.home.glob("anubis-replaced-*.db")
    assert str(kept) in restored.stdout
    assert not list(anubis.home.glob("*.part*"))
    assert database.stat().st_mode & 0o777 == 0o600


def test_a_backup_of_a_database_in_use_has_the_latest_commit(anubis, database):
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM runs").fetchone()  # keeps new commits in the log
        assert anubis("submit", "--", "true").returncode == 0
        assert anubis("backup", "copy.db").returncode == 0
    anubis("watch")
    with closing(sqlite3.connect(anubis.folder / "copy.db")) as copy:
        assert copy.execute("SELECT count(*) FROM runs").fetchone() == (1001,)


def test_what_cannot_be_a_backup_is_refused(anubis, database):
    (anubis.folder / "text").write_text("hello " * 1000)
    with closing(sqlite3.connect(anubis.folder / "other.db")) as other:
        other.execute("CREATE TABLE things (name)")
    before = database.read_bytes()
    for name, message in (("text", "is damaged"), ("other.db", "not an Anubis"), ("none", "no database")):
        ended = anubis("backup", "--restore", name)
        assert ended.returncode == 2, ended
        assert message in ended.stderr
    assert database.read_bytes() == before
    refused = anubis("backup", "text")
    assert (refused.returncode, "exists already" in refused.stderr) == (2, True)


def test_nothing_is_restored_while_a_worker_is_active(anubis, database):
    assert anubis("backup", "copy.db").returncode == 0
    with only_worker(anubis.home) as lock:
        assert lock
        ended = anubis("backup", "--restore", "copy.db")
    assert (ended.returncode, "a worker is active" in ended.stderr) == (2, True)


def test_a_database_on_a_server_has_tools_of_its_own(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_DATABASE_URL", "postgresql://nobody@localhost:1/none")
    for words, tool in ((("backup", "copy.db"), "pg_dump"), (("doctor", "--database"), "pg_amcheck")):
        ended = anubis(*words)
        assert (ended.returncode, tool in ended.stderr) == (2, True), ended


def test_nothing_is_restored_while_a_stopped_command_drives_a_run(anubis, database):
    assert anubis("backup", "copy.db").returncode == 0
    process = anubis.start("run", "--", "sleep", "600")
    until(lambda: list(anubis.home.glob("records/*/a1/benchmark/0/alive")), "the run is measured")
    until(lambda: "watch" in anubis("status", "@last", "--json").stdout, "the run is watched")
    os.kill(process.pid, signal.SIGSTOP)
    try:
        ended = anubis("backup", "--restore", "copy.db")
    finally:
        os.kill(process.pid, signal.SIGCONT)
    assert (ended.returncode, f"process {process.pid}" in ended.stderr) == (2, True)
    assert "help: " in ended.stderr
    assert not list(anubis.home.glob("anubis-replaced-*"))


def test_nothing_is_restored_while_a_process_has_the_database_open(anubis, database):
    """It holds no lease, for example because it waits for a place, or only reads."""
    assert anubis("backup", "copy.db").returncode == 0
    before = database.read_bytes()  # not later: closing a file releases the locks of this process on it
    with closing(sqlite3.connect(database)) as reader:
        reader.execute("SELECT count(*) FROM runs").fetchone()
        ended = anubis("backup", "--restore", "copy.db")
    assert (ended.returncode, "another process has the database" in ended.stderr) == (2, True)
    assert sorted(path.name for path in anubis.home.glob("anubis*")) == ["anubis.db"]
    assert database.read_bytes() == before
    assert anubis("backup", "--restore", "copy.db").returncode == 0
