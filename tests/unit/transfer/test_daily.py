"""Daily data sets contain every event once, whatever was interrupted, and manifests name only what is there."""

import hashlib
import io
import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.contracts.records import RecordKey
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.testing import FakeClock, FakeStore, a_point, a_run, an_event, samples_of
from anubis.testing.memory_folders import FakeObjects
from anubis.testing.worlds import a_world
from anubis.transfer.daily.archive import DAY_S, Archive, Place, day_of, locked
from anubis.transfer.daily.chore import EVERY_S, Archiving

parquet = pytest.importorskip("pyarrow.parquet")
FIRST_DAY_S = 20_000 * DAY_S


class Killed(BaseException):
    """The process ends here."""


class KilledObjects(FakeObjects):
    """Objects whose writer is killed before or after it puts some of them."""

    def __init__(self):
        super().__init__()
        self.kills_at = None
        self.puts = 0

    def put(self, key, stream):
        self.puts += 1
        if self.kills_at == (self.puts, "before"):
            raise Killed
        size = super().put(key, stream)
        if self.kills_at == (self.puts, "after"):
            raise Killed
        return size


class House:
    def __init__(self):
        self.store, self.clock, self.place = FakeStore(), FakeClock(), KilledObjects()
        self.world = a_world(self.store, clock=self.clock)
        self.clock.advance(FIRST_DAY_S - self.clock.now_s())
        self.archive = Archive(self.place)
        self.run = a_run()
        self.store.runs.add([(self.run, "")], [])

    def event(self, day, kind="note"):
        self.store.events.append([an_event(self.run, kind, time_s=FIRST_DAY_S + day * DAY_S + 60)])

    def rows(self, table):
        """The rows that the manifests name, whose files must be as described."""
        found = []
        for day in self.archive.index().days:
            found += rows_of(self.place, self.archive.manifest(day), table)
        return found


def rows_of(objects, manifest, table):
    found = []
    for file in manifest["files"]:
        with objects.open(file["path"]) as stream:
            content = stream.read()
        assert hashlib.sha256(content).hexdigest() == file["sha256"]
        assert len(content) == file["size_bytes"]
        if file["table"] == table:
            rows = parquet.read_table(io.BytesIO(content)).to_pylist()
            assert len(rows) == file["rows"]
            found += rows
    return found


ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("event"), st.integers(0, 3)),
        st.tuples(st.just("write"), st.booleans()),
        st.tuples(st.just("day"), st.just(1)),
        st.tuples(
            st.just("kill"), st.tuples(st.integers(1, 6), st.sampled_from(["before", "after"]), st.booleans())
        ),
    ),
    max_size=20,
)


@given(actions=ACTIONS)
def test_every_event_is_written_once_whatever_was_interrupted(actions):
    house = House()
    for name, argument in actions:
        if name == "event":
            house.event(argument)
        elif name == "day":
            house.clock.advance(DAY_S)
        elif name == "write":
            house.archive.write(house.world, today=argument)
        else:
            put, when, today = argument
            house.place.kills_at = (house.place.puts + put, when)
            with suppress(Killed):
                house.archive.write(house.world, today=today)
            house.place.kills_at = None
        for day in range(4):
            with suppress(NotFoundError):
                rows_of(house.place, house.archive.manifest(day_of(FIRST_DAY_S + day * DAY_S)), "events")
    house.clock.advance(4 * DAY_S)
    house.archive.write(house.world)
    rows = house.rows("events")
    assert sorted(row["seq"] for row in rows) == [event.seq for event in house.store.events.read()]
    for day in house.archive.index().days:
        manifest = house.archive.manifest(day)
        assert manifest["complete"]
        assert {day_of(row["time_s"]) for row in rows_of(house.place, manifest, "events")} <= {day}


def test_late_events_of_a_day_are_added_as_another_part():
    house = House()
    house.event(0)
    house.clock.advance(DAY_S)
    (first,) = house.archive.write(house.world)
    house.event(0, "late")
    house.event(1)
    (second,) = house.archive.write(house.world)
    assert second["day"] == first["day"]
    assert second["files"][: len(first["files"])] == first["files"]
    assert [row["kind"] for row in house.rows("events")] == ["note", "late"]
    assert house.archive.write(house.world) == []


def test_a_run_is_written_with_its_values_and_lines():
    house = House()
    (held,) = house.store.leases.claim("o", now_s=house.clock.now_s(), lease_s=9, limit=1)
    step = Step(
        status=Status.SUCCEEDED,
        points=(a_point(house.run, value=1.5),),
        samples=(samples_of([1.0, 2.0]),),
        events=(an_event(house.run, "final", time_s=FIRST_DAY_S + 5),),
    )
    house.store.leases.apply("o", held, step, now_s=house.clock.now_s())
    house.world.records.append(RecordKey(house.run.id, 1), "stdout", 0, b"a\nb\xff\n" + b"x" * 10)
    (manifest,) = house.archive.write(house.world, today=True)
    assert not manifest["complete"]
    (run,) = house.rows("runs")
    assert (run["run_id"], run["status"], run["name"]) == (house.run.id, "succeeded", "hello")
    assert [point["value"] for point in house.rows("points")] == [1.5]
    assert [(row["value"], row["step"]) for row in house.rows("samples")] == [(1.0, None), (2.0, None)]
    assert [(row["number"], row["line"]) for row in house.rows("lines")] == [
        (1, "a"),
        (2, "b\ufffd"),
        (3, "x" * 10),
    ]


def test_many_lines_are_written_in_blocks(monkeypatch):
    monkeypatch.setattr("anubis.transfer.daily.tables.ROWS", 7)
    house = House()
    (held,) = house.store.leases.claim("o", now_s=house.clock.now_s(), lease_s=9, limit=1)
    final = an_event(house.run, "final", time_s=FIRST_DAY_S)
    house.store.leases.apply(
        "o", held, Step(status=Status.FAILED, events=(final,)), now_s=house.clock.now_s()
    )
    house.world.records.append(
        RecordKey(house.run.id, 1), "stderr", 0, b"".join(b"%d\n" % i for i in range(50))
    )
    house.archive.write(house.world, today=True)
    assert [row["line"] for row in house.rows("lines")] == [str(i) for i in range(50)]


def test_a_file_that_is_no_index_is_refused():
    house = House()
    house.place.put("index.json", io.BytesIO(b"[1]"))
    with pytest.raises(BadInputError):
        house.archive.write(house.world)


def test_one_writer_at_a_time_and_once_an_hour(tmp_path):
    house = House()
    house.event(0)
    house.clock.advance(DAY_S)
    folder = tmp_path / "archive"
    chore = Archiving(house.world, Place("archive", house.place, lambda: locked(folder)))
    with locked(tmp_path / "archive") as first:
        assert first
        assert chore.turn() is None
    assert house.archive.index().days == []
    assert chore.turn() is None
    assert house.archive.index().days == []
    house.clock.advance(EVERY_S)
    assert chore.turn() is None
    assert len(house.archive.index().days) == 1
    assert house.archive.index().before_s == FIRST_DAY_S + DAY_S
    assert json.loads(house.place.open("index.json").read())["days"] == house.archive.index().days
