"""What a hostile shipper, a cut connection and a killed service cannot do to the records that the service receives."""

import json
import socket
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest

from anubis.api.machines import joined as messages
from anubis.model.machines import token as machine_token
from anubis.record import layout
from anubis.record.replication import MOST_APPENDED_BYTES
from support.joining import Site
from support.processes import until

LIMIT = 3 << 20


class Hostile:
    """A worker that speaks the protocol itself, and has the token of one attempt."""

    def __init__(self, site, name="hostile", labels=()):
        self.site, self.name, self.labels = site, name, labels
        self.worker_token = site.token(name)
        self.reports = ()

    def turn(self, **changes):
        """Status and answer of a request of the worker."""
        turn = {
            "protocol": 1,
            "place": "here",
            "slots": 4,
            "engines": ["process"],
            "labels": list(self.labels),
            "reports": list(self.reports),
            **changes,
        }
        return self.ask("POST", f"/api/v1/{messages.TURN}", json.dumps(turn), token=self.worker_token)

    def take(self, run_id, attempt=1):
        """Wait until the attempt is that of this worker, and take its token."""

        def named():
            return run_id in [order["run_id"] for order in self.turn()[1].get("orders", [])]

        until(named, "the run is assigned")
        status, work = self.work(run_id, attempt)
        assert status == 200, work
        self.token = work["token"]
        return work

    def work(self, run_id, attempt=1):
        path = f"/api/v1/{messages.ATTEMPTS}/{run_id}/{attempt}"
        return self.ask("GET", path, token=self.worker_token)

    def ship(self, method, path, body=b"", token=None, **headers):
        """A request of the protocol of records; ``path`` follows ``/api/v1/runs/``."""
        return self.ask(method, f"/api/v1/runs/{path}", body, token=token or self.token, **headers)

    def ask(self, method, path, body=b"", *, token, **headers):
        address = urlsplit(self.site.service.url)
        connection = HTTPConnection(address.hostname, address.port, timeout=60)
        try:
            given = {"Authorization": f"Bearer {token}"} if token else {}
            connection.request(
                method,
                path,
                body,
                {**given, **{name.replace("_", "-"): value for name, value in headers.items()}},
            )
            answer = connection.getresponse()
            content = answer.read()
            try:
                return answer.status, json.loads(content)
            except ValueError:
                return answer.status, content
        finally:
            connection.close()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    made = Site(tmp_path_factory.mktemp("shipped"), ANUBIS_RECORD_BYTES=str(LIMIT), ANUBIS_LEASE_S="60")
    yield made
    made.close()


@pytest.fixture(scope="module")
def hostile(site):
    return Hostile(site)


@pytest.fixture
def attempt(site, hostile):
    """The path of the record of a new attempt that the hostile worker has."""
    run_id = site.submit()
    hostile.take(run_id)
    yield f"{run_id}/record/1/benchmark/0"
    site.client.runs.cancel([run_id])
    hostile.reports = [{"run_id": run_id, "attempt": 1, "seen": "ended", "cause": "cancelled"}]
    hostile.turn()
    hostile.reports = ()
    site.wait_final(run_id)


def test_bytes_are_appended_at_their_offset_and_nowhere_else(hostile, attempt):
    stdout = f"{attempt}/stdout"
    assert hostile.ship("GET", attempt) == (200, {"files": {}, "parts": True})
    assert hostile.ship("PUT", f"{stdout}?offset=0", b"abc") == (200, {"size": 3})
    assert hostile.ship("PUT", f"{stdout}?offset=0", b"abcdef") == (200, {"size": 6}), "an overlap"
    status, answer = hostile.ship("PUT", f"{stdout}?offset=9", b"x")
    assert (status, answer["expected"]) == (409, 6), "a gap"
    assert hostile.ship("PUT", f"{stdout}?offset=3", b"xyz")[0] == 422, "other bytes"
    assert hostile.ship("PUT", f"{stdout}?offset=-1", b"x")[0] == 400
    assert hostile.ship("PUT", f"{attempt}/facts.json", b"{}") == (200, {"size": 2})
    assert hostile.ship("GET", attempt) == (200, {"files": {"stdout": 6}, "parts": True})


@pytest.mark.parametrize(
    "file",
    [
        "alive",
        "cancel",
        "group.json",
        "work/x?offset=0",
        "..%2f..%2fx?offset=0",
        "%2e%2e?offset=0",
        "x?offset=0",
        "stdout",
        "exit.json?offset=0",
        "%00?offset=0",
        "steps?offset=0",
    ],
)
def test_only_the_files_of_a_record_are_written(site, hostile, attempt, file):
    status, _ = hostile.ship("PUT", f"{attempt}/{file}", b"x")
    assert status in {400, 404, 405}
    folder = site.record(attempt.partition("/")[0])
    assert not folder.exists() or not list(folder.iterdir())


def test_a_token_is_valid_for_one_attempt_only(site, hostile, attempt):
    run_id = attempt.partition("/")[0]
    other = site.submit(label="nowhere")
    token = machine_token.new_token(machine_token.ATTEMPT)
    for path in (
        f"{other}/record/1/benchmark/0",
        f"{run_id}/record/2/benchmark/0",
        f"{run_id}/record/0/benchmark/0",
        "none/record/1/benchmark/0",
    ):
        assert hostile.ship("GET", path)[0] == 401, path
        assert hostile.ship("PUT", f"{path}/stdout?offset=0", b"x")[0] == 401, path
    for wrong in (token, hostile.worker_token, hostile.token[:-1], "", "x" * 10_000, "\xff"):
        assert hostile.ask("GET", f"/api/v1/runs/{attempt}", token=wrong)[0] in {400, 401}
    for role in ("benchmark/1", "server/0", "benchmark/x", "benchmark/99999999999999999999", "../0"):
        assert hostile.ship("PUT", f"{run_id}/record/1/{role}/stdout?offset=0", b"x")[0] == 404, role
    assert not site.record(other).exists()
    site.client.runs.cancel([other])


def test_a_token_of_an_attempt_opens_nothing_else(hostile, attempt):
    run_id = attempt.partition("/")[0]
    for path in (f"/api/v1/{messages.ATTEMPTS}/{run_id}/1", f"/api/v1/{messages.ATTEMPTS}/{run_id}/1/script"):
        assert hostile.ask("GET", path, token=hostile.token)[0] == 401
    assert hostile.ask("POST", f"/api/v1/{messages.TURN}", b"{}", token=hostile.token)[0] == 401
    assert hostile.ask("DELETE", f"/api/v1/runs/{attempt}", token=hostile.token)[0] in {404, 405}


def test_another_worker_gets_nothing_of_the_attempt(site, attempt):
    run_id = attempt.partition("/")[0]
    other = Hostile(site, "other", labels=("none",))
    assert other.turn()[1].get("orders", []) == []
    assert other.work(run_id)[0] == 404
    other.reports = [{"run_id": run_id, "attempt": 1, "seen": "ended", "exit_code": 0}]
    assert other.turn()[0] == 200
    assert not site.client.runs.get(run_id).status.final


def test_sizes_are_limited(hostile, attempt):
    stdout = f"{attempt}/stdout?offset="
    assert hostile.ship("PUT", f"{stdout}0", bytes(MOST_APPENDED_BYTES + 1))[0] == 413
    piece = bytes(MOST_APPENDED_BYTES)
    assert hostile.ship("PUT", f"{stdout}0", piece)[0] == 200
    for _ in range(5):
        assert hostile.ship("PUT", f"{stdout}0", piece) == (200, {"size": len(piece)}), (
            "repeated bytes count once"
        )
    assert hostile.ship("PUT", f"{stdout}{len(piece)}", piece)[0] == 200
    assert hostile.ship("PUT", f"{stdout}{2 * len(piece)}", piece)[0] == 200
    status, answer = hostile.ship("PUT", f"{stdout}{3 * len(piece)}", b"x")
    assert (status, "ANUBIS_RECORD_BYTES" in answer["error"]) == (413, True)
    assert hostile.ship("GET", attempt) == (200, {"files": {"stdout": 3 * len(piece)}, "parts": True})


def test_a_cut_body_is_not_stored(site, hostile, attempt):
    address = urlsplit(site.service.url)
    for file in ("stdout?offset=0", "facts.json"):
        with socket.create_connection((address.hostname, address.port), timeout=60) as cut:
            cut.sendall(
                f"PUT /api/v1/runs/{attempt}/{file} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                f"Authorization: Bearer {hostile.token}\r\nContent-Length: 100\r\n\r\nabc".encode()
            )
    for headers in ({"Transfer_Encoding": "chunked"},):
        assert hostile.ship("PUT", f"{attempt}/stdout?offset=0", iter([b"abc"]), **headers)[0] == 411
    assert hostile.ship("GET", attempt) == (200, {"files": {}, "parts": True})
    assert not (site.record(attempt.partition("/")[0]) / layout.FACTS).exists()


def test_what_is_acknowledged_survives_a_killed_service(site, hostile, attempt):
    sent = b""
    for number in range(6):
        piece = b"%d" % number * 50_000
        assert hostile.ship("PUT", f"{attempt}/stdout?offset={len(sent)}", piece)[0] == 200
        sent += piece
        if number % 2:
            site.service.kill()
            site.service.start()
    assert site.shipped(attempt.partition("/")[0], "stdout") == sent


def test_nothing_is_accepted_after_the_end_of_the_attempt(site, hostile, attempt):
    run_id = attempt.partition("/")[0]
    assert hostile.ship("PUT", f"{attempt}/stdout?offset=0", b"abc")[0] == 200
    hostile.reports = [{"run_id": run_id, "attempt": 1, "seen": "ended", "cause": "cancelled"}]
    assert hostile.turn()[1].get("orders", []) == []
    assert hostile.ship("PUT", f"{attempt}/stdout?offset=3", b"x")[0] == 401
    assert hostile.work(run_id)[0] == 404
    hostile.reports = [{"run_id": run_id, "attempt": 1, "seen": "running"}]
    assert hostile.turn()[1].get("orders", []) == [], "an attempt that has ended is not opened again"
    assert site.shipped(run_id, "stdout") == b"abc"


def test_a_new_token_replaces_the_one_before(hostile, attempt):
    run_id, before = attempt.partition("/")[0], hostile.token
    hostile.take(run_id)
    assert hostile.ship("GET", attempt, token=before)[0] == 401
    assert hostile.ship("GET", attempt)[0] == 200


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (b"", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "not a message"),
        (b'{"protocol": true}', "not a message"),
        (b'{"protocol": 1}', "not valid"),
        (b'{"protocol": 1, "place": 5}', "not valid"),
        (b'{"protocol": 1, "place": "x", "slots": 0}', "did not report"),
        (
            b'{"protocol": 1, "place": "x", "reports": [{"run_id": "x", "attempt": 1, "seen": "happy"}]}',
            "not valid",
        ),
        (b'{"protocol": 99, "place": "x"}', "upgrade Anubis on the machine of the service"),
    ],
)
def test_a_damaged_message_is_one_clear_error(hostile, body, text):
    path = f"/api/v1/{messages.TURN}"
    status, details = hostile.ask("POST", path, body, token=hostile.worker_token)
    assert status == 400
    assert text in f"{details['detail']} {details['remedy']}"
