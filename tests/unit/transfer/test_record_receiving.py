import io
import json

import pytest

from anubis.contracts.records import RecordKey
from anubis.model.errors import FullError, StoreError
from anubis.record.replication import MOST_APPENDED_BYTES
from anubis.testing import FakeRecords, a_run
from anubis.transfer.record_receiving import Request, respond

RUN = a_run(attempt=2)
KEY = RecordKey(RUN.id, 1)


@pytest.fixture
def records():
    return FakeRecords()


def ask(records, method, target, body=b"", **headers):
    """Status, answer, and whether the connection is closed."""
    given = {
        "Content-Length": str(len(body)),
        **{name.replace("_", "-"): text for name, text in headers.items()},
    }
    request = Request(method=method, target=target, headers=given, body=io.BytesIO(body))
    response = respond(records, RUN, request)
    return response.status, json.loads(response.body), response.close


def test_bytes_are_appended_and_sizes_are_reported(records):
    assert ask(records, "GET", "1/benchmark/0")[:2] == (200, {"files": {}, "parts": True})
    assert ask(records, "PUT", "1/benchmark/0/stdout?offset=0", b"one ")[:2] == (200, {"size": 4})
    assert ask(records, "PUT", "1/benchmark/0/stdout?offset=2", b"e two")[:2] == (200, {"size": 7})
    assert ask(records, "PUT", "2/server/3/stdout?offset=0", b"x")[:2] == (200, {"size": 1})
    assert ask(records, "PUT", "1/benchmark/0/facts.json", b"{}")[:2] == (200, {"size": 2})
    assert ask(records, "GET", "1/benchmark/0")[:2] == (200, {"files": {"stdout": 7}, "parts": True})
    assert records.read(KEY, "stdout", 0, 10) == b"one two"
    assert records.read(KEY, "facts.json", 0, 10) == b"{}"


def test_a_gap_names_the_expected_offset(records):
    status, answer, _ = ask(records, "PUT", "1/benchmark/0/stdout?offset=5", b"x")
    assert (status, answer["expected"]) == (409, 0)


def test_parts_are_appended_in_order_up_to_one_that_is_refused(records):
    body = b"stdout 0 4\none\nlines 0 2\nabsamples 3 1\nxemit 0 1\ny"
    status, answer, _ = ask(records, "POST", "1/benchmark/0", body)
    assert (status, answer["expected"], answer["file"]) == (409, 0, "samples")
    assert records.bytes_by_file == {(KEY, "stdout"): b"one\n", (KEY, "lines"): b"ab"}
    body = b"stdout 0 6\none\ntwlines 2 0\n"
    assert ask(records, "POST", "1/benchmark/0", body)[:2] == (200, {"sizes": {"stdout": 6, "lines": 2}})
    assert ask(records, "POST", "1/benchmark/0")[:2] == (200, {"sizes": {}})


@pytest.mark.parametrize(
    "body",
    [
        b"stdout 0 5\none",
        b"stdout 0\none",
        b"stdout 0 3",
        b"stdout 0 3 3\none",
        b"stdout -1 3\none",
        b"stdout 0 3\none\n",
        b"exit.json 0 2\n{}",
        b"../out 0 1\nx",
        b"\xff 0 1\nx",
        b"stdout 0 1\nx" * 65,
        b"x" * 1000,
    ],
)
def test_parts_that_are_not_valid_store_nothing(records, body):
    assert ask(records, "POST", "1/benchmark/0", body)[0] == 400
    assert records.bytes_by_file == {}


def test_other_bytes_are_refused_for_good(records):
    ask(records, "PUT", "1/benchmark/0/stdout?offset=0", b"one")
    assert ask(records, "PUT", "1/benchmark/0/stdout?offset=0", b"two")[0] == 422
    assert records.read(KEY, "stdout", 0, 10) == b"one"


@pytest.mark.parametrize(
    "target",
    [
        "",
        "1",
        "1/benchmark",
        "1/benchmark/0/work/stdout?offset=0",
        "../1/benchmark/0/stdout?offset=0",
        "1/../0/stdout?offset=0",
        "1/%2e%2e/0/stdout?offset=0",
        "1/a%2Fb/0/stdout?offset=0",
        "1/benchmark/0/..?offset=0",
        "1/benchmark/0/%2e%2e%2fstdout?offset=0",
        "1/benchmark/0/?offset=0",
        "1/benchmark/0/alive?offset=0",
        "1/benchmark/0/fifo?offset=0",
        "1/benchmark/0/stdout%00?offset=0",
        "1/benchmark/0/%ff?offset=0",
        "1/benchmark/0/stdout",
        "1/benchmark/0/exit.json?offset=0",
        "1/benchmark/0/exit.json.part",
        "1/benchmark/-1/stdout?offset=0",
        "1/benchmark/1e3/stdout?offset=0",
        "1/benchmark/99999999999/stdout?offset=0",
        "0/benchmark/0/stdout?offset=0",
        "3/benchmark/0/stdout?offset=0",
        "x/benchmark/0/stdout?offset=0",
        "1/benchmark/0/stdout?offset=-1",
        "1/benchmark/0/stdout?offset=",
        "1/benchmark/0/stdout?offset=0x10",
        "1/benchmark/0/stdout?offset=١",
        "1/benchmark/0/stdout?offset=" + "9" * 30,
        "1/benchmark/0/stdout?offset=0&length=5",
        "1/" + "r" * 2000 + "/0/stdout?offset=0",
    ],
)
def test_a_target_that_is_no_file_of_this_run_is_refused(records, target):
    status, answer, _ = ask(records, "PUT", target, b"x")
    assert status in {400, 404, 405}
    assert answer["error"]
    assert records.bytes_by_file == {}


@pytest.mark.parametrize("method", ["POST", "DELETE", "PATCH", "GET"])
def test_only_puts_write(records, method):
    assert ask(records, method, "1/benchmark/0/stdout?offset=0", b"x")[0] == 405
    assert records.bytes_by_file == {}


@pytest.mark.parametrize(
    ("length", "status"),
    [
        ("-1", 400),
        ("x", 400),
        ("1" * 40, 400),
        (str(MOST_APPENDED_BYTES + 1), 413),
        (str(1 << 50), 413),
        ("5", 408),
    ],
)
def test_a_body_of_another_length_is_refused_unread(records, length, status):
    answer = ask(records, "PUT", "1/benchmark/0/stdout?offset=0", b"four", Content_Length=length)
    assert (answer[0], answer[2]) == (status, True)
    assert records.bytes_by_file == {}


def test_a_body_without_a_length_is_refused(records):
    request = Request(method="PUT", target="1/benchmark/0/stdout?offset=0", headers={}, body=io.BytesIO(b"x"))
    assert respond(records, RUN, request).status == 411


def test_a_half_received_exit_is_never_stored(records):
    assert ask(records, "PUT", "1/benchmark/0/exit.json", b'{"code', Content_Length="12")[0] == 408
    assert records.state(KEY, "exit.json") is None


@pytest.mark.parametrize(("error", "status"), [(FullError("full"), 507), (StoreError("away"), 503)])
def test_a_store_that_fails_is_asked_again_later(records, monkeypatch, error, status):
    def fail(*_):
        raise error

    monkeypatch.setattr(records, "append", fail)
    assert ask(records, "PUT", "1/benchmark/0/stdout?offset=0", b"x")[:2] == (status, {"error": str(error)})
