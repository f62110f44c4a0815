import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from anubis.model.errors import AnubisError, StoreError
from anubis.store import open_store, opening
from anubis.store.migrations import upgrade
from anubis.store.sql.drivers import driver_for
from anubis.testing import a_run, an_event

SCHEMA_OF = {
    "sqlite": "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name",
    "postgresql": """
        SELECT 'column', table_name, column_name, ordinal_position, data_type, character_maximum_length,
            is_nullable, column_default
        FROM information_schema.columns WHERE table_schema = current_schema()
        UNION ALL SELECT 'index', tablename, indexname, 0, replace(indexdef, schemaname || '.', ''), 0, '', '' FROM pg_indexes
        WHERE schemaname = current_schema()
        UNION ALL SELECT 'constraint', conrelid::regclass::text, conname, 0, pg_get_constraintdef(oid), 0, '', ''
        FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
        ORDER BY 1, 2, 3""",
}
#: Revision of a migration that does not exist yet.
NEXT = f"{int(opening.VERSION) + 1:04}"
OPEN_THEM = """
import sys
from anubis.store import open_store
from anubis.testing import a_run
sys.stdin.readline()
for url in sys.argv[1:]:
    store = open_store(url)
    store.runs.add([(a_run(), "")], [])
    store.close()
"""


def statements_on(url, *statements):
    """The result of the last statement, on a separate connection."""
    driver = driver_for(url)
    connection = driver.connect()
    try:
        for statement in statements[:-1]:
            connection.execute(statement)
        return connection.execute(statements[-1]).fetchall()
    finally:
        connection.close()


def schema_of(url):
    # SQL text is compared by its words: who wrote it may have broken lines elsewhere.
    rows = statements_on(url, SCHEMA_OF[driver_for(url).name])
    return [[" ".join(str(cell).split()).replace(" ,", ",") for cell in row] for row in rows]


@pytest.fixture
def another_url(database_url):
    """A second empty database of the same kind."""
    if database_url.startswith("sqlite"):
        yield f"{database_url}2"
        return
    name = database_url.rpartition("%3D")[2]
    statements_on(database_url, f"CREATE SCHEMA {name}b", "SELECT 1")
    yield f"{database_url}b"
    drop = ("SET client_min_messages = warning", f"DROP SCHEMA {name}b CASCADE", "SELECT 1")
    statements_on(database_url, *drop)


def test_what_was_written_is_there_when_it_is_opened_again(database_url):
    run = a_run()
    store = open_store(database_url)
    store.runs.add([(run, "text")], [an_event(run)])
    store.close()
    store = open_store(database_url)
    assert store.runs.get(run.id) == run
    store.close()


def test_migrations_and_metadata_make_the_same_schema(database_url, another_url):
    open_store(database_url).close()
    upgrade.upgrade(driver_for(another_url))
    assert schema_of(another_url) == schema_of(database_url)
    assert len(schema_of(database_url)) > 20


def test_a_migrated_database_is_one_to_work_with(database_url):
    upgrade.upgrade(driver_for(database_url))
    run = a_run()
    store = open_store(database_url)
    store.runs.add([(run, "")], [an_event(run)])
    assert [event.seq for event in store.events.read()] == [1]
    store.close()


def test_an_older_database_is_migrated_and_keeps_its_runs(database_url, tmp_path, monkeypatch):
    run = a_run()
    store = open_store(database_url)
    store.runs.add([(run, "")], [])
    store.close()
    folder = tmp_path / "migrations"
    shutil.copytree(Path(upgrade.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"m{NEXT}_more.py").write_text(
        f"from alembic import op\nimport sqlalchemy as sa\nrevision = {NEXT!r}\ndown_revision = {opening.VERSION!r}\n"
        "def upgrade():\n    op.create_table('more', sa.Column('id', sa.Integer, primary_key=True))\n"
    )
    monkeypatch.setattr(upgrade, "FOLDER", folder)
    monkeypatch.setattr(opening, "VERSION", NEXT)
    for _ in range(2):
        store = open_store(database_url)
        assert store.runs.get(run.id) == run
        store.close()
    assert statements_on(database_url, "SELECT version_num FROM alembic_version") == [(NEXT,)]
    assert statements_on(database_url, "SELECT count(*) FROM more") == [(0,)]


def test_a_migration_that_fails_changes_nothing(database_url, tmp_path, monkeypatch):
    open_store(database_url).close()
    before = schema_of(database_url)
    folder = tmp_path / "migrations"
    shutil.copytree(Path(upgrade.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "versions" / f"m{NEXT}_more.py").write_text(
        f"from alembic import op\nimport sqlalchemy as sa\nrevision = {NEXT!r}\ndown_revision = {opening.VERSION!r}\n"
        "def upgrade():\n    op.create_table('more', sa.Column('id', sa.Integer, primary_key=True))\n"
        "    raise ArithmeticError\n"
    )
    monkeypatch.setattr(upgrade, "FOLDER", folder)
    monkeypatch.setattr(opening, "VERSION", NEXT)
    with pytest.raises(ArithmeticError):
        open_store(database_url)
    assert schema_of(database_url) == before


@pytest.mark.parametrize("version", ["9999", "of another program"])
def test_a_database_of_a_newer_version_is_refused(database_url, version):
    open_store(database_url).close()
    statements_on(database_url, f"UPDATE alembic_version SET version_num = '{version}'", "SELECT 1")
    with pytest.raises(AnubisError, match=version) as caught:
        open_store(database_url)
    assert "upgrade Anubis" in caught.value.remedy
    assert statements_on(database_url, "SELECT version_num FROM alembic_version") == [(version,)]


def test_tables_of_another_program_are_left_alone(database_url):
    statements_on(database_url, "CREATE TABLE runs (distance integer)", "SELECT 1")
    with pytest.raises(AnubisError, match="another program: runs"):
        open_store(database_url)
    assert statements_on(database_url, "SELECT count(distance) FROM runs") == [(0,)]
    statements_on(database_url, "ALTER TABLE runs RENAME TO marathons", "SELECT 1")
    store = open_store(database_url)
    assert store.runs.unfinished() == 0
    store.close()


def test_several_processes_may_open_a_new_database_at_once(database_url, another_url):
    urls = [database_url, another_url]
    if database_url.startswith("sqlite"):
        urls += [f"{database_url}{number}" for number in range(3, 8)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", OPEN_THEM, *urls], stdin=subprocess.PIPE, stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]
    for process in processes:
        process.stdin.write(b"go\n")
        process.stdin.flush()
    ends = [(process.communicate()[1].decode(), process.returncode) for process in processes]
    assert ends == [("", 0)] * 4
    for url in urls:
        store = open_store(url)
        assert store.runs.unfinished() == 4
        store.close()


@pytest.mark.postgresql
def test_a_server_that_is_not_there_is_named_without_its_password(postgresql_url):
    url = postgresql_url.replace("postgres@", "postgres:secret@").replace("host=/tmp/", "host=/tmp/no-such-")
    with pytest.raises(StoreError) as caught:
        open_store(url)
    assert "secret" not in str(caught.value)
    assert caught.value.remedy


@pytest.mark.postgresql
def test_a_connection_that_was_cut_is_replaced(postgresql_url):
    store = open_store(postgresql_url)
    run = a_run()
    store.runs.add([(run, "")], [])
    statements_on(
        postgresql_url,
        "SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity"
        " WHERE application_name = 'anubis' AND pid <> pg_backend_pid()",
    )
    with pytest.raises(StoreError):
        store.runs.get(run.id)
    assert store.runs.get(run.id) == run
    store.close()
