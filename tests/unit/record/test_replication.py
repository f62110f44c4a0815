"""A sender and a receiver, with everything between them that can fail."""

import contextlib
import io
import json
import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis.contracts.records import RecordKey
from anubis.model.errors import FullError
from anubis.record import layout, liveness, samples, telemetry
from anubis.record.appending import GapError
from anubis.record.index_writer import CHUNK, STDOUT, IndexFile
from anubis.record.replication import LONGEST_PAUSE_S, Receiver, RefusedError, Sender
from anubis.testing import FakeRecords, a_run
from anubis.transfer.record_receiving import Request, respond

RUN = a_run()
KEY = RecordKey(RUN.id, 1)
URL = "http://receiver/api/runs/x/record/1/benchmark/0"
FAULTS = ["ok", "error", "drop", "lose", "full", "kill"]


class KilledError(BaseException):
    """The sender ends here, as by SIGKILL."""


class FailingReceiver(Receiver):
    """Calls the receiving side directly, and fails as the list says; without an entry left, it works."""

    def __init__(self, records, faults, sleep, *, takes_parts=True):
        super().__init__(URL, "token", sleep, lambda _: None)
        self.records = records
        self.faults = faults
        self.takes_parts = takes_parts

    def _try(self, method, target, body):
        fault = self.faults.pop(0) if self.faults else "ok"
        if fault == "kill":
            raise KilledError
        if fault == "drop":
            raise ConnectionResetError
        if fault == "error":
            return 500, {}
        if fault == "full":
            return self._full(target, body)
        target = target.removeprefix("/api/runs/x/record/")
        headers = {"Content-Length": str(len(body))}
        request = Request(method=method, target=target, headers=headers, body=io.BytesIO(body))
        response = respond(self.records, RUN, request)
        if fault == "lose":
            raise TimeoutError
        reply = json.loads(response.body)
        assert self.takes_parts or method != "POST"
        if not self.takes_parts:
            reply.pop("parts", None)
        return response.status, reply

    def _full(self, target, body):
        """A part of the body is stored, then the disk is full."""
        name, _, offset = target.rpartition("/")[2].partition("?offset=")
        if offset:
            self.records.append(KEY, name, int(offset), body[: len(body) // 2])
        elif body[:1].isalpha():  # several files: the first one, and half of the second
            head, _, rest = body.partition(b"\n")
            name, offset, length = head.decode().split()
            self.records.append(KEY, name, int(offset), rest[: int(length)])
            head, _, rest = rest[int(length) :].partition(b"\n")
            name, offset, length = head.decode().split()
            self.records.append(KEY, name, int(offset), rest[: int(length) // 2])
        return 507, {"error": str(FullError("full"))}


class Growing:
    """A record on this machine, which grows by a step at each wait, and then ends."""

    def __init__(self, folder, steps, *, ends=True):
        self.folder = folder
        self.steps = list(steps)
        self.ends = ends
        self.lock = liveness.claim(str(folder))
        self.index = IndexFile(str(folder))
        self.sizes = {}

    def sleep(self, _seconds):
        if self.steps:
            self.grow(*self.steps.pop(0))
        else:
            self.finish()

    def grow(self, file, data):
        if file in layout.REPLACED:
            (self.folder / file).write_bytes(data)
            return
        with (self.folder / file).open("ab") as out:
            out.write(data)
        self.sizes[file] = self.sizes.get(file, 0) + len(data)
        if file == layout.STDOUT:
            self.index.note(STDOUT, CHUNK, self.sizes[file], 1, 0)

    def finish(self):
        if self.ends:
            (self.folder / layout.EXIT).write_bytes(b'{"code": 0}')
        if self.lock is not None:
            os.close(self.lock)
            self.lock = None

    def contents(self):
        names = {*layout.GROWING, *layout.REPLACED}
        return {path.name: path.read_bytes() for path in self.folder.iterdir() if path.name in names}


def replica(records):
    return {file: data for (key, file), data in records.bytes_by_file.items() if key == KEY}


def ship(record, records, faults=(), **options):
    """Send until the sender ends by itself; how often it was killed."""
    faults, kills = list(faults), 0
    while True:
        try:
            receiver = FailingReceiver(records, faults, record.sleep, **options)
            Sender(str(record.folder), receiver, record.sleep).run()
        except KilledError:
            kills += 1
        else:
            return kills


GROWTH = st.lists(
    st.tuples(
        st.sampled_from([layout.STDOUT, layout.STDERR, layout.EVENTS, layout.FACTS, layout.METRICS]),
        st.binary(max_size=300),
    ),
    max_size=12,
)


@settings(max_examples=200, deadline=None)
@given(
    steps=GROWTH,
    faults=st.lists(st.sampled_from(FAULTS), max_size=40),
    ends=st.booleans(),
    takes_parts=st.booleans(),
)
def test_whatever_fails_the_replica_is_the_record(steps, faults, ends, takes_parts, tmp_path_factory):
    record, records = Growing(tmp_path_factory.mktemp("record"), steps, ends=ends), FakeRecords()
    store = records.replace

    def replace(key, file, data):
        if file == layout.EXIT:
            others = {name: data for name, data in record.contents().items() if name != layout.EXIT}
            assert {name: data for name, data in replica(records).items() if name != layout.EXIT} == others
        store(key, file, data)

    records.replace = replace
    ship(record, records, faults, takes_parts=takes_parts)
    assert replica(records) == record.contents()
    assert (layout.EXIT in replica(records)) == ends


@settings(max_examples=50, deadline=None)
@given(
    data=st.binary(max_size=400),
    cuts=st.lists(st.tuples(st.integers(0, 400), st.integers(0, 400)), max_size=20),
)
def test_any_order_of_repeated_parts_gives_the_same_bytes(data, cuts):
    """What a sender may do: parts again, parts that overlap, parts too early (refused)."""
    records = FakeRecords()
    for start, length in [*cuts, (0, len(data))]:
        with contextlib.suppress(GapError):
            records.append(KEY, "stdout", min(start, len(data)), data[start : start + length])
    assert records.read(KEY, "stdout", 0, 1000) == data


def test_a_file_larger_than_a_request_is_sent_in_parts(tmp_path):
    record, records = Growing(tmp_path, []), FakeRecords()
    record.grow("stdout", bytes(range(256)) * 13_000)
    ship(record, records)
    assert replica(records) == record.contents()


def test_several_files_are_sent_in_one_request(tmp_path):
    record, records = Growing(tmp_path, []), FakeRecords()
    for file in (layout.STDOUT, layout.STDERR, layout.EVENTS, layout.LINES):
        record.grow(file, b"some bytes")
    sizes, asked = [], FakeRecords.append_all

    def note(appends):
        sizes.append(len(appends))
        return asked(records, appends)

    records.append_all = note
    ship(record, records)
    assert sizes == [4]
    assert replica(records) == record.contents()


def test_the_index_never_refers_to_bytes_that_are_missing(tmp_path):
    """A reader of a replica that grows finds every byte the index names."""
    record, records = Growing(tmp_path, [("stdout", b"line %d\n" % n) for n in range(20)]), FakeRecords()
    append = records.append

    def check(key, file, offset, data):
        if file == layout.STDOUT and record.steps:
            record.sleep(0)  # it grows while it is sent
        size = append(key, file, offset, data)
        entries = (len(replica(records).get(layout.LINES, b"")) - 16) // 24
        ends = [
            int.from_bytes(replica(records)[layout.LINES][16 + 24 * n :][:8], "little")
            for n in range(entries)
        ]
        assert max(ends, default=0) <= len(replica(records).get(layout.STDOUT, b""))
        return size

    records.append = check
    ship(record, records)
    assert replica(records) == record.contents()


def test_what_a_writer_may_remove_again_is_not_sent_before_the_end(tmp_path):
    state = samples.frame(samples.STATE, b"{}")
    head = telemetry.header([("a", "1")], 1.0)
    row = telemetry.row(1.0, [1.0])
    record, records = Growing(tmp_path, [("stdout", b"x")]), FakeRecords()
    record.grow(layout.SAMPLES, samples.HEADER + state + state[:5])
    record.grow(layout.TELEMETRY, head + row + row[:5])
    sleep, found = record.sleep, []

    def look(seconds):
        found.append((replica(records)[layout.SAMPLES], replica(records)[layout.TELEMETRY]))
        sleep(seconds)

    record.sleep = look
    ship(record, records)
    assert set(found) == {(samples.HEADER + state, head + row)}
    assert replica(records) == record.contents()


def test_the_record_of_a_killed_agent_is_sent_as_far_as_it_goes(tmp_path):
    record, records = Growing(tmp_path, [("stdout", b"last words")], ends=False), FakeRecords()
    ship(record, records)
    assert replica(records) == record.contents()
    assert layout.EXIT not in replica(records)


def test_another_record_of_the_same_attempt_is_refused(tmp_path):
    """A machine that lost its disk and measured again: the two outputs must not become one."""
    records = FakeRecords()
    records.append(KEY, "stdout", 0, b"of the first agent")
    for number, content in enumerate([b"short", b"of the second agent, which printed more"]):
        folder = tmp_path / str(number)
        folder.mkdir()
        record = Growing(folder, [])
        record.grow("stdout", content)
        with pytest.raises(RefusedError):
            ship(record, records)
    assert replica(records)["stdout"] == b"of the first agent"


def test_pauses_grow_to_a_limit_and_shrink_after_an_answer(tmp_path):
    pauses = []
    receiver = FailingReceiver(FakeRecords(), ["drop"] * 12 + ["ok"] + ["drop"], pauses.append)
    for _ in range(2):
        assert receiver.sizes() == {}
    assert pauses[0] <= 0.1
    assert max(pauses) <= LONGEST_PAUSE_S
    assert pauses[11] > 10
    assert pauses[12] <= 0.1


@pytest.mark.parametrize(
    ("url", "token"),
    [("ftp://host/x", "t"), ("host/x", "t"), ("http://", "t"), ("http://host", "a\nb"), ("http://host", "ü")],
)
def test_an_address_or_token_that_cannot_work_is_refused(url, token):
    with pytest.raises(RefusedError):
        Receiver(url, token, lambda _: None, lambda _: None)


@pytest.mark.parametrize("reply", [{}, {"files": 5}])
def test_a_receiver_that_speaks_another_protocol_is_refused(monkeypatch, reply):
    monkeypatch.setattr(Receiver, "_try", lambda *_: (200, reply))
    with pytest.raises(RefusedError, match="sizes"):
        Receiver(URL, "t", lambda _: None, lambda _: None).sizes()


@contextlib.contextmanager
def answers(monkeypatch, *replies):
    replies = list(replies)
    monkeypatch.setattr(Receiver, "_try", lambda *_: replies.pop(0))
    yield Receiver(URL, "t", lambda _: None, lambda _: None)
    assert replies == []


def test_only_the_receiver_itself_can_refuse_for_good(monkeypatch):
    """A proxy answers 404 while the service restarts; its answer has no error of ours."""
    with answers(monkeypatch, (404, {}), (403, {}), (200, {"size": 1})) as receiver:
        assert receiver.append([("stdout", 0, b"x")]) == {"stdout": 1}
    with (
        answers(monkeypatch, (403, {"error": "revoked"})) as receiver,
        pytest.raises(RefusedError, match="revoked"),
    ):
        receiver.append([("stdout", 0, b"x")])


def test_a_receiver_that_expects_bytes_beyond_the_offset_is_not_believed(monkeypatch):
    with answers(monkeypatch, (409, {"expected": 99})) as receiver, pytest.raises(RefusedError):
        receiver.append([("stdout", 5, b"x")])


def test_a_failure_is_reported_once(monkeypatch):
    replies = [
        (500, {}),
        (500, {}),
        (507, {"error": "full"}),
        (200, {"files": {}}),
        (507, {"error": "full"}),
        (200, {"files": {}}),
    ]
    monkeypatch.setattr(Receiver, "_try", lambda *_: replies.pop(0))
    reports = []
    receiver = Receiver(URL, "secret", lambda _: None, reports.append)
    for _ in range(2):
        receiver.sizes()
    assert [report.partition(": ")[2].partition(";")[0].strip() for report in reports] == [
        "500",
        "507 full",
        "507 full",
    ]
    assert not any("secret" in report for report in reports)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"{}\n", b"[]\n", b'{"columns": 5}\n', b"[" * 100_000 + b"\n", b"x" * 3_000_000]
)
def test_a_damaged_telemetry_waits_for_the_end(tmp_path, content):
    record, records = Growing(tmp_path, [("stdout", b"x")]), FakeRecords()
    record.grow(layout.TELEMETRY, content)
    ship(record, records)
    assert replica(records) == record.contents()
