"""Requests to a service, without a client of Anubis."""

import json
import urllib.request
from http.client import HTTPConnection
from urllib.parse import urlsplit


def ask(service, method, path, body=None, **headers):
    """Status, headers and JSON of an answer."""
    address = urlsplit(service.url)
    connection = HTTPConnection(address.hostname, address.port, timeout=60)
    try:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        content = json.dumps(body) if body is not None else None
        if content:
            names.setdefault("Content-Type", "application/json")
        connection.request(method, path, content, names)
        answer = connection.getresponse()
        text = answer.read()
        return answer.status, answer.headers, json.loads(text) if text else None
    finally:
        connection.close()


def events_of(service, path, *, last_id=None, most=None, until_kind=None, began=lambda: None):
    """(id, event, data) of the first events of a stream, up to one of a kind; ends with the stream.

    ``began`` is called when the service has accepted the request.
    """
    headers = {"Accept": "text/event-stream", **({"Last-Event-ID": last_id} if last_id else {})}
    request = urllib.request.Request(f"{service.url}{path}", headers=headers)
    found, event = [], {}
    with urllib.request.urlopen(request, timeout=60) as stream:
        began()
        for line in stream:
            name, _, value = line.decode().rstrip("\n").partition(": ")
            if name in {"id", "event", "data"}:
                event[name] = value
            elif not name and event:
                found.append((event["id"], event["event"], json.loads(event["data"])))
                event = {}
            if most is not None and len(found) >= most:
                return found
            if until_kind and found and found[-1][2].get("kind") == until_kind:
                return found
    return found
