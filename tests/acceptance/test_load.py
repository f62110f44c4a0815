"""A service with more clients than it has room for, and with clients that do not take what they asked for."""

import json
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

from support.processes import until
from support.service import Service


def connection_to(service):
    address = urlsplit(service.url)
    return closing(HTTPConnection(address.hostname, address.port, timeout=60))


def asked(connection, path="/healthz", **headers):
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    return answer, answer.read()


def test_too_many_connections_are_refused_with_the_time_after_which_to_try_again(tmp_path):
    service = Service(tmp_path / "home", ANUBIS_CONNECTIONS="3").start()
    try:
        with ExitStack() as several:
            kept = [several.enter_context(connection_to(service)) for _ in range(3)]
            until(lambda: all(asked(each)[0].status == 200 for each in kept), "they are answered")
            with connection_to(service) as surplus:
                answer, content = asked(surplus)
            assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
            assert answer.headers["Connection"] == "close"
            assert "ANUBIS_CONNECTIONS" in json.loads(content)["remedy"]
            assert [asked(each)[0].status for each in kept] == [200] * 3, "the others are not disturbed"
        until(lambda: service.get("/healthz") == 200, "there is room again")
    finally:
        service.stop()
