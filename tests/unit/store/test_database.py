import math
import subprocess
import sys

import pytest

from anubis.model.errors import AnubisError, StoreError
from anubis.model.ids import new_run_id
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.store import open_store
from anubis.store.sql import drivers
from anubis.store.sql.database import chunked, statements_of
from anubis.testing import a_run, an_event, samples_of

HEAVY = ("sqlalchemy", "alembic", "numpy", "psycopg", "pydantic")


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/anubis.db"


@pytest.fixture
def store(url):
    store = open_store(url)
    yield store
    store.close()


def pragma(store, name):
    with store.database.session() as session:
        ((value,),) = session.ask(f"PRAGMA {name}", {})
        return value


def test_opening_and_using_a_database_loads_nothing_heavy(url):
    code = f"""if True:
        import sys
        from anubis.store import open_store
        from anubis.testing import a_run, an_event
        store = open_store({url!r})
        run = a_run()
        store.runs.add([(run, "")], [an_event(run)])
        store.leases.claim("me", now_s=9e9, lease_s=1, limit=1)
        print(*[name for name in {HEAVY!r} if name in sys.modules])
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout) == ("", "\n")


def test_what_is_acknowledged_is_on_the_disk_and_leases_need_not_be(store):
    run = a_run()
    store.runs.add([(run, "")], [])
    assert (pragma(store, "journal_mode"), pragma(store, "synchronous")) == ("wal", 2)
    (run,) = store.leases.claim("me", now_s=9e9, lease_s=30, limit=1)
    assert pragma(store, "synchronous") == 1
    store.leases.apply("me", run, Step(status=Status.PLACE), now_s=9e9)
    assert pragma(store, "synchronous") == 2


def test_a_full_disk_is_named_and_nothing_is_half_written(store):
    run = a_run()
    store.runs.add([(run, "")], [])
    (run,) = store.leases.claim("me", now_s=9e9, lease_s=30, limit=1)
    # SQLite itself refuses to grow, with the error it gives when the disk is full.
    pages = pragma(store, "page_count")
    assert pragma(store, f"max_page_count = {pages}") == pages
    values = [math.sin(i * i) for i in range(50_000)]
    step = Step(status=Status.COLLECT, samples=(samples_of(values),), events=(an_event(run),))
    with pytest.raises(StoreError, match="full") as caught:
        store.leases.apply("me", run, step, now_s=9e9)
    assert "space" in caught.value.remedy
    assert store.runs.get(run.id) == run
    assert store.events.read() == []
    assert store.leases.apply("me", run, step, now_s=9e9).status is Status.COLLECT


def test_a_database_that_stays_locked_is_named(url, monkeypatch):
    monkeypatch.setattr(drivers, "BUSY_S", 0.0)
    holder, waiting = open_store(url), open_store(url)
    run = a_run()

    def while_held(_):
        with pytest.raises(StoreError, match="locked"):
            waiting.runs.add([(run, "")], [])

    holder.database.transact(while_held)
    waiting.runs.add([(run, "")], [])
    assert holder.runs.get(run.id) == run
    holder.close()
    waiting.close()


def test_a_reader_does_not_wait_for_a_writer(url, monkeypatch):
    monkeypatch.setattr(drivers, "BUSY_S", 0.0)
    holder, reader = open_store(url), open_store(url)
    run = a_run()
    holder.runs.add([(run, "")], [])
    assert holder.database.transact(lambda _: reader.runs.get(run.id)) == run
    holder.close()
    reader.close()


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(StoreError, match="no-such-folder"):
        open_store(f"sqlite:///{tmp_path}/no-such-folder/anubis.db")


def test_a_file_that_is_no_database_is_left_alone(tmp_path):
    file = tmp_path / "anubis.db"
    file.write_text("these are notes, not a database\n" * 100)
    with pytest.raises(AnubisError, match="is not an SQLite database"):
        open_store(f"sqlite:///{file}")
    assert file.read_text() == "these are notes, not a database\n" * 100


def test_a_transaction_that_fails_leaves_nothing_and_the_connection_is_used_again(store):
    def fail(session):
        session.write("remember_word", word="half")
        raise ArithmeticError

    with pytest.raises(ArithmeticError):
        store.database.transact(fail)
    assert store.database.rows("find_words", words=["half"]) == []


def test_a_closed_store_leaves_no_files_behind_but_the_database(tmp_path, url):
    store = open_store(url)
    store.runs.add([(a_run(), "")], [])
    store.close()
    assert [path.name for path in tmp_path.iterdir()] == ["anubis.db"]


@pytest.mark.parametrize("name", ["claim", "unfinished", "owners", "release_all", "cancelled"])
def test_what_every_turn_asks_reads_only_unfinished_runs(store, name):
    sql = statements_of("sqlite")[name]
    values = {"owner": "me", "now_s": 0.0, "until_s": 0.0, "most": 1, "latest_s": 0.0, "latest_lease_s": 0.0}
    with store.database.session() as session:
        plan = " ".join(str(row[-1]) for row in session.ask(f"EXPLAIN QUERY PLAN {sql}", values))
    assert "runs_ready" in plan
    assert "SCAN runs " not in plan.replace("USING", "").replace(
        "SCAN runs  COVERING INDEX runs_ready", ""
    ).replace("SCAN runs  INDEX runs_ready", "")


def test_lists_longer_than_a_statement_takes_are_cut():
    assert list(chunked(range(5), 2)) == [[0, 1], [2, 3], [4]]
    assert list(chunked([])) == []


def test_very_many_runs_can_be_asked_for(store):
    runs = [a_run(created_s=float(i)) for i in range(3)]
    store.runs.add([(run, "") for run in runs], [])
    many = [run.id for run in runs] + [new_run_id() for _ in range(33_000)]
    assert store.points.of(many) == []
    assert len(store.leases.renew("me", many, now_s=0, lease_s=1)) == 0
    assert store.runs.request_cancel(many, []) == sorted(run.id for run in runs)
    store.runs.remove(many)
    assert store.runs.unfinished() == 3


def test_the_newest_runs_and_points_of_a_series_come_from_indexes(tmp_path):
    store = open_store(f"sqlite:///{tmp_path}/anubis.db")
    statements = {
        "measured_runs": {"before_s": 1.0, "skipped": 3, "keys": "a"},
        "history": {"series": 1, "metric": 1, "most": 3},
    }
    with store.database.session() as session:
        for name, values in statements.items():
            sql = statements_of("sqlite")[name].replace("{series_keys}", ":keys")
            plan = [row[3] for row in session.connection.execute(f"EXPLAIN QUERY PLAN {sql}", values)]
            assert not [step for step in plan if step.startswith("SCAN")], plan
            index = "runs_series" if name == "measured_runs" else "points_metric"
            assert [step for step in plan if f"INDEX {index}" in step], plan
            assert name != "history" or "USE TEMP B-TREE FOR ORDER BY" not in plan
    store.close()


def test_postgresql_searches_the_start_of_each_series_once():
    """A query that is merged into its reader is repeated for each run: minutes instead of milliseconds for 100,000 runs."""
    assert "AS MATERIALIZED" in statements_of("postgresql")["measured_runs"]
