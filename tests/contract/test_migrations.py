"""Databases of earlier versions: nothing undelivered is lost, nothing delivered is delivered again."""

import json
from array import array

import pytest

from anubis.model.access.roles import EVERYTHING, Quota
from anubis.model.alert import AlertState
from anubis.model.delivery import DeliveryStatus
from anubis.model.descriptor import Measure
from anubis.model.errors import DamagedSamplesError, StoreError
from anubis.pipeline.relay import Relay
from anubis.store import open_store
from anubis.store.columns import pack
from anubis.store.migrations.upgrade import upgrade
from anubis.store.rows import alert_values, descriptor_values, id_bytes, new_run_values
from anubis.store.schedules.rows import schedule_values
from anubis.store.sql import drivers
from anubis.store.sql.drivers import driver_for
from anubis.store.text import packed
from anubis.testing import FakeClock, a_descriptor, a_run
from anubis.testing.builders import NOW_S
from anubis.testing.contracts.alerts import an_alert
from anubis.testing.contracts.schedules import a_schedule

#: Kinds of events and their numbers, beyond those that PostgreSQL will give.
KINDS = {"submitted": 1001, "alert": 1002, "note": 1003}
#: Table -> its columns in the first schema, as far as the tests fill them.
INSERTS = {
    "words": ("id", "word"),
    "descriptors": ("id", "digest", "series_key", "name", "subject", "body"),
    "texts": ("id", "digest", "body"),
    "runs": (
        "no", "id", "descriptor", "text", "client", "engine", "status", "cancel", "priority", "attempt",
        "created_s", "due_s", "reason",
    ),
    "events": ("seq", "run", "kind", "time_s", "data"),
    "alerts": ("id", "benchmark", "state", "opened_s", "body"),
    "cursors": ("name", "seq"),
    "series": ("id", "series_key", "fingerprint"),
    "metrics": ("id", "name", "units"),
    "points": (
        "run", "metric", "series", "value", "count", "better", "order_s", "subject", "contaminated",
    ),
    "samples": ("run", "metric", "start", "count", "body"),
    "summaries": ("run", "metric", "count", "last", "min", "max", "sum"),
}  # fmt: skip


class OldDatabase:
    """A database with the first schema, written row by row."""

    def __init__(self, url):
        self.driver = driver_for(url)
        upgrade(self.driver, "0001")
        self.connection = self.driver.connect()
        self.seq = 0
        self.connection_closed = False
        for word, number in KINDS.items():
            self.insert("words", id=number, word=word)

    def insert(self, table, **values):
        columns = INSERTS[table]
        parameters = ", ".join(self.driver.parameter.format(column) for column in columns)
        self.connection.execute(f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({parameters})", values)

    def add_run(self, number, **changes):
        run = a_run(**changes)
        words = {"me": 0, "fake": 0, run.owner: 0, run.engine: 0}
        values = new_run_values(run, words, 1, 1)
        self.insert("runs", no=number, **{name: values[name] for name in INSERTS["runs"][1:]})
        return run

    def add_event(self, run, kind, data):
        self.seq += 1
        self.insert(
            "events", seq=self.seq, run=run, kind=KINDS[kind], time_s=100.0 + self.seq, data=json.dumps(data)
        )
        return self.seq

    def add_alert(self, alert_id):
        self.insert("alerts", **alert_values(an_alert(alert_id)))

    def close(self):
        if not self.connection_closed:
            self.connection.execute(f"UPDATE event_count SET seq = {self.seq}")
            self.connection.commit()
            self.connection.close()
        self.connection_closed = True


@pytest.fixture
def old(database_url):
    database = OldDatabase(database_url)
    yield database
    database.close()


class Listener:
    def __init__(self):
        self.told = []

    def notify(self, to, alert):
        self.told.append((to, alert.id))


@pytest.mark.parametrize(
    ("cursors", "expected"),
    [
        pytest.param({}, ["a1", "b1", "a2", "b3", "c3"], id="no relay ever ran"),
        pytest.param({"notify": 4}, [], id="there was no address before the scout"),
        pytest.param({"notify": 2}, ["b3", "c3"], id="addresses after the scout are not discovered yet"),
        pytest.param(
            {"notify": 4, "notify/mailto:a": 4, "notify/mailto:b": 4, "notify/mailto:c": 4}, [], id="all done"
        ),
        pytest.param(
            {"notify": 4, "notify/mailto:a": 0, "notify/mailto:b": 1, "notify/mailto:c": 4},
            ["a1", "a2", "b3"],
            id="two failed",
        ),
        pytest.param(
            {"notify": 4, "notify/mailto:a": 3, "notify/mailto:b": 3, "notify/mailto:c": 3},
            ["b3", "c3"],
            id="the newest event is still due",
        ),
        pytest.param({"notify": 1, "notify/mailto:a": 4}, ["b3", "c3"], id="ahead of the scout"),
    ],
)
def test_what_no_cursor_had_passed_is_pending(old, database_url, cursors, expected):
    run = old.add_run(1)
    for alert in ("a" * 16, "b" * 16, "c" * 16):
        old.add_alert(alert)
    old.add_event(1, "alert", {"alert": "a" * 16, "state": "confirmed", "to": ["mailto:a", "mailto:b"]})
    old.add_event(1, "alert", {"alert": "b" * 16, "state": "acknowledged", "to": ["mailto:a"]})
    old.add_event(1, "alert", {"alert": "c" * 16, "state": "suspected"})
    old.add_event(1, "alert", {"alert": "c" * 16, "state": "resolved", "to": ["mailto:b", "mailto:c"]})
    for name, seq in cursors.items():
        old.insert("cursors", name=name, seq=seq)
    old.close()

    states = {"1": AlertState.CONFIRMED, "2": AlertState.ACKNOWLEDGED, "3": AlertState.RESOLVED}
    places = {"1": ("a" * 16, 101.0), "2": ("b" * 16, 102.0), "3": ("c" * 16, 104.0)}
    store = open_store(database_url)
    found = [each for alert in ("a" * 16, "b" * 16, "c" * 16) for each in store.deliveries.of(alert)]
    assert sorted((each.alert_id, each.to, each.state, each.created_s) for each in found) == sorted(
        (places[n][0], f"mailto:{name}", states[n], places[n][1]) for name, n in expected
    )
    assert {each.run_id for each in found} <= {run.id}

    listener = Listener()
    relay = Relay(store.deliveries, store.alerts, {"mailto": listener}, FakeClock())
    assert relay.turn() is None
    assert sorted(listener.told) == sorted((f"mailto:{name}", places[n][0]) for name, n in expected)
    store.close()


def test_of_several_states_that_are_due_the_last_is_delivered(old, database_url):
    old.add_run(1)
    second = old.add_run(2)
    old.add_alert("a" * 16)
    old.add_event(1, "alert", {"alert": "a" * 16, "state": "confirmed", "to": ["mailto:a"]})
    old.add_event(2, "alert", {"alert": "a" * 16, "state": "resolved", "to": ["mailto:a"]})
    old.close()
    store = open_store(database_url)
    (delivery,) = store.deliveries.of("a" * 16)
    assert (delivery.state, delivery.run_id, delivery.status) == (
        AlertState.RESOLVED,
        second.id,
        DeliveryStatus.PENDING,
    )
    store.close()


def test_events_of_alerts_that_are_gone_or_strange_are_passed_over(old, database_url):
    old.add_run(1)
    old.add_alert("a" * 16)
    for data in (
        {"alert": "f" * 16, "to": ["mailto:a"]},
        {"to": ["mailto:a"]},
        {},
        {"alert": "a" * 16, "state": "of a newer version", "to": ["mailto:a"]},
    ):
        old.add_event(1, "alert", data)
    old.add_event(1, "note", {"alert": "a" * 16, "to": ["mailto:b"]})
    old.close()
    store = open_store(database_url)
    assert [(each.to, each.state) for each in store.deliveries.of("a" * 16)] == [
        ("mailto:a", AlertState.CONFIRMED)
    ]
    store.close()


def test_cells_of_old_runs_are_filled_in(old, database_url):
    cells = {number: {"file": f"{number}.toml", "BATCH": number} for number in range(1, 2502)}
    runs = {number: old.add_run(number) for number in cells}
    alone = old.add_run(9000)
    for number, cell in cells.items():
        old.add_event(number, "submitted", {"cell": cell})
    old.add_event(9000, "submitted", {"caused_by": "another"})
    old.close()
    open_store(database_url).close()
    connection = driver_for(database_url).connect()
    stored = dict(connection.execute("SELECT id, cell FROM runs").fetchall())
    connection.close()
    assert stored.pop(id_bytes(alone.id)) is None
    assert {run_id: json.loads(cell) for run_id, cell in stored.items()} == {
        id_bytes(runs[number].id): cell for number, cell in cells.items()
    }


def test_old_runs_get_sessions_and_old_alerts_a_version(old, database_url):
    for number, machine in enumerate(("one", "two"), 1):
        old.insert("series", id=number, series_key="a series", fingerprint=machine)
    old.insert("metrics", id=1, name="latency", units="ms")
    old.insert("words", id=2000, word="")
    created_s = {1: 0.0, 2: 900.0, 3: 900.0, 4: 2700.0, 5: 4501.0, 6: 0.0}
    machines = {1: 1, 2: 1, 3: 2, 4: 1, 5: 1}
    runs = {}
    for number, offset_s in created_s.items():
        runs[number] = old.add_run(number, created_s=NOW_S + offset_s)
        if number in machines:
            old.insert(
                "points", run=number, metric=1, series=machines[number], value=1.0, count=1, better=0,
                order_s=0.0, subject=2000, contaminated=0,
            )  # fmt: skip
    old.add_alert("a" * 16)
    old.close()
    store = open_store(database_url)
    starts_s = {1: 0.0, 2: 0.0, 3: 900.0, 4: 0.0, 5: 4501.0}
    for number, offset_s in starts_s.items():
        machine = "two" if number == 3 else "one"
        (row,) = store.database.rows(
            "sessions_near", machine=machine, after_s=runs[number].created_s, before_s=runs[number].created_s
        )
        assert row.start_s == NOW_S + offset_s
    assert store.alerts.get("a" * 16).version == 1
    store.close()
    connection = driver_for(database_url).connect()
    stored = dict(connection.execute("SELECT no, session FROM runs").fetchall())
    connection.close()
    assert stored[1] == stored[2] == stored[4]
    assert len({stored[1], stored[3], stored[5]}) == 3
    assert stored[6] is None


def test_warm_ups_no_longer_count_in_summaries(old, database_url):
    """Metric 1 has samples of both kinds in two segments, metric 2 only warm-ups; another run has no warm-ups."""
    warmed = a_descriptor("warmed", measure=Measure(warmups=2))
    words = {"me": 0, "fake": 0}
    for number, descriptor in ((1, warmed), (2, a_descriptor("cold"))):
        run = a_run(descriptor)
        values = {"id": number, "series_key": 1, **descriptor_values(run)}
        old.insert("descriptors", **{name: values[name] for name in INSERTS["descriptors"]})
        stored = new_run_values(run, words | {run.owner: 0, run.engine: 0}, number, 1)
        old.insert("runs", no=number, **{name: stored[name] for name in INSERTS["runs"][1:]})
    for metric in (1, 2):
        old.insert("metrics", id=metric, name=f"m{metric}", units="ms")
    for run, metric, start, values, repeats in (
        (1, 1, 0, [90.0, 3.0, float("nan")], [-2, 0, 0]),
        (1, 1, 3, [80.0, 5.0], [-1, 1]),
        (1, 2, 0, [70.0], [-1]),
        (2, 1, 0, [60.0], [0]),
    ):
        rest = (array("d", values), array("q", [0] * len(values)), array("i", repeats))
        body = pack((array("d", values), *rest))
        old.insert("samples", run=run, metric=metric, start=start, count=len(values), body=body)
    for run, metric in ((1, 1), (1, 2), (2, 1)):
        old.insert("summaries", run=run, metric=metric, count=9, last=9.0, min=9.0, max=9.0, sum=9.0)
    old.close()

    open_store(database_url).close()

    connection = driver_for(database_url).connect()
    rows = connection.execute("SELECT run, metric, count, last, min, max, sum FROM summaries").fetchall()
    connection.close()
    found = {row[:2]: row[2:] for row in map(tuple, rows)}
    assert found.keys() == {(1, 1), (2, 1)}
    count, last, least, most, total = found[1, 1]
    assert (count, last, least, most) == (3, 5.0, 3.0, 5.0)
    assert total is None or total != total, "not a number, which SQLite keeps as NULL"
    assert found[2, 1] == (9, 9.0, 9.0, 9.0, 9.0)


def test_histories_contain_old_runs(old, database_url):
    for number, machine in enumerate(("one", "two"), 1):
        old.insert("series", id=number, series_key="a series", fingerprint=machine)
    old.insert("metrics", id=1, name="latency", units="ms")
    old.insert("words", id=2000, word="")
    runs = {number: old.add_run(number, created_s=NOW_S + number) for number in (1, 2, 3, 4)}
    descriptor = {"id": 1, "series_key": 2000, **descriptor_values(runs[1])}
    old.insert("descriptors", **{name: descriptor[name] for name in INSERTS["descriptors"]})
    for number, machine in ((1, 1), (2, 2), (3, 1)):
        old.insert(
            "points", run=number, metric=1, series=machine, value=1.0, count=1, better=0,
            order_s=NOW_S + number, subject=2000, contaminated=0,
        )  # fmt: skip
    old.close()
    store = open_store(database_url)
    found = store.points.histories(["a series"], ["latency"])
    assert {block.fingerprint: block.run_ids for block in found} == {
        "one": (runs[1].id, runs[3].id),
        "two": (runs[2].id,),
    }
    store.close()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_database_that_is_locked_is_not_upgraded(old, database_url, monkeypatch):
    """Another program holds a lock on it for longer than Anubis waits. The administrator of PostgreSQL sets how long it waits."""
    monkeypatch.setattr(drivers, "BUSY_S", 0.0)
    run = old.add_run(1)
    old.connection.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked") as caught:
        upgrade(driver_for(database_url))
    assert "cannot be upgraded" in caught.value.message
    assert "end other programs that use it" in caught.value.remedy
    old.connection.execute("COMMIT")
    old.close()
    store = open_store(database_url)
    connection = driver_for(database_url).connect()
    assert connection.execute("SELECT id FROM runs").fetchall() == [(id_bytes(run.id),)]
    connection.close()
    store.close()


def test_runs_of_an_earlier_schema_have_no_overrides(old, database_url):
    old.add_run(1)
    old.close()
    open_store(database_url).close()
    connection = driver_for(database_url).connect()
    assert connection.execute("SELECT overrides FROM runs").fetchall() == [(None,)]
    connection.close()


def test_stored_samples_get_checksums(old, database_url):
    """More segments than are read at once; the first of them is damaged after the upgrade."""
    run, segments = old.add_run(1), 120
    old.insert("metrics", id=1, name="loss", units="1")
    for start in range(segments):
        columns = (array("d", [start]), array("d", [0.0]), array("q", [0]), array("i", [0]))
        old.insert("samples", run=1, metric=1, start=start, count=1, body=pack(columns))
    old.close()
    store = open_store(database_url)
    assert list(store.points.samples(run.id, "loss").values) == list(range(segments))
    store.close()
    connection = driver_for(database_url).connect()
    connection.execute("UPDATE samples SET checksum = checksum + 1 WHERE start = 0")
    connection.close()
    store = open_store(database_url)
    with pytest.raises(DamagedSamplesError, match=f'"loss" of run {run.id}'):
        store.points.samples(run.id, "loss")
    store.close()


def test_old_databases_get_the_tables_of_schedules(old, database_url):
    old.add_run(1)
    old.close()
    store = open_store(database_url)
    added = store.schedules.add(a_schedule(), "text")
    assert store.schedules.get(added.id) == added
    store.schedules.remove(added.id)
    store.close()


def test_projects_of_an_earlier_schema_permit_everything_and_their_schedules_are_named_in_them(database_url):
    driver = driver_for(database_url)
    upgrade(driver, "0019")
    connection = driver.connect()
    connection.execute("INSERT INTO projects (no, name, created_s) VALUES (2, 'team', 1)")
    schedules = [a_schedule("nightly"), a_schedule("weekly", project="team")]
    marks = ", ".join(driver.parameter.format(name) for name in ("id", "name", "body", "text"))
    for each in schedules:
        values = {**schedule_values(each), "name": each.name, "text": packed("text")}
        connection.execute(
            f"INSERT INTO schedules (id, name, body, text, queued, version) VALUES ({marks}, 0, 1)",
            {name: values[name] for name in ("id", "name", "body", "text")},
        )
    connection.close()
    store = open_store(database_url)
    for name in ("default", "team"):
        project = store.projects.permission(name).project
        assert (project.permits, project.quota) == (EVERYTHING, Quota())
    assert store.schedules.get("team:weekly").id == schedules[1].id
    assert [each.full_name for each in store.schedules.find()] == ["nightly", "team:weekly"]
    store.schedules.add(a_schedule("weekly"), "text")
    store.close()
