"""Many clients submit at the same time to a service, on every database, and the service is killed or clients leave."""

import http.client
import itertools
import json
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import pytest

from anubis.contracts.runs import RunQuery
from anubis.store import open_store
from support.processes import until
from support.requests import ask
from support.service import Service

TEXT = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
"""
BODY = {"descriptors": [{"text": TEXT, "folder": "/"}]}
#: More than the threads with which a service answers (40).
CLIENTS = 100


@pytest.fixture
def service(database_url, tmp_path):
    """A service without reconcilers."""
    running = Service(tmp_path / "served", "--role", "api", ANUBIS_DATABASE_URL=database_url).start()
    yield running
    running.stop()


def stored_runs(database_url):
    """The ids of all runs."""
    store = open_store(database_url)
    rows = store.runs.find(RunQuery(limit=10_000))
    events = store.events.read(limit=10_000)
    store.close()
    assert sorted(event.run_id for event in events) == sorted(row.id for row in rows), (
        "each was submitted once"
    )
    return {row.id for row in rows}


def test_kill_loses_no_acknowledged_run_and_a_repetition_adds_none_twice(service, database_url):
    acknowledged, unanswered = {}, []

    def submit(client):
        for number in itertools.count():
            key = f"{client}-{number}"
            try:
                status, _, body = ask(service, "POST", "/api/v1/runs", BODY, Idempotency_Key=key)
            except (OSError, http.client.HTTPException):
                unanswered.append(key)
                return
            assert status == 201, body
            acknowledged[key] = body["runs"][0]["id"]

    with ThreadPoolExecutor(12) as threads:
        results = [threads.submit(submit, client) for client in range(12)]
        until(lambda: len(acknowledged) >= 30, "runs were acknowledged")
        service.kill()
        for result in results:
            result.result()
    service.start()
    assert set(acknowledged.values()) <= stored_runs(database_url)
    for key in unanswered:
        status, _, body = ask(service, "POST", "/api/v1/runs", BODY, Idempotency_Key=key)
        assert status in {200, 201}
        acknowledged[key] = body["runs"][0]["id"]
    assert stored_runs(database_url) == set(acknowledged.values())


def test_more_clients_than_threads_are_all_answered_though_half_of_them_leave(service, database_url):
    address, body = urlsplit(service.url), json.dumps(BODY).encode()
    connected = threading.Barrier(CLIENTS)

    def submit(client):
        """The status of the answer; None: the client left after its request."""
        head = (
            f"POST /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            f"Idempotency-Key: {client}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
        )
        with socket.create_connection((address.hostname, address.port)) as connection:
            connected.wait()
            connection.sendall(head.encode() + body)
            if client % 2:
                return None
            return int(connection.makefile("rb").readline().split()[1])

    with ThreadPoolExecutor(CLIENTS) as threads:
        statuses = list(threads.map(submit, range(CLIENTS)))
    assert statuses == [None if client % 2 else 201 for client in range(CLIENTS)]
    found = set()
    for client in range(CLIENTS):  # whether a request of a client that left was read or not
        status, _, answer = ask(service, "POST", "/api/v1/runs", BODY, Idempotency_Key=str(client))
        assert status == 200 if client % 2 == 0 else status in {200, 201}
        found.add(answer["runs"][0]["id"])
    assert len(found) == CLIENTS
    assert stored_runs(database_url) == found
