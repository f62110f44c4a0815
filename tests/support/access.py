"""Users and tokens of a service for tests."""

import itertools
import json
import time
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from urllib.parse import urlsplit

from anubis.client import Client
from anubis.model.access.roles import EVERY_PROJECT, EVERYTHING, Decision, Role
from anubis.settings import Settings

_places = itertools.count(1)


@dataclass
class Identities:
    """Makes users and tokens in a home folder, as its operator."""

    home: str

    def _open(self):
        return Client.embedded(Settings.from_env({"ANUBIS_HOME": str(self.home), "ANUBIS_CLIENT_ID": "op"}))

    def project(self, name):
        """A new project, which permits everything."""
        with self._open() as client:
            client.access.create_project(name)
            client.access.change_permits(name, permit=EVERYTHING)

    def user(self, name, project=None, role=None):
        """A new user, with a role in a project."""
        with self._open() as client:
            client.access.create_user(name)
            if project:
                client.access.grant(project, name, Role(role))

    def token(self, user, *, project=EVERY_PROJECT, role="admin"):
        """(text, prefix) of a new token."""
        with self._open() as client:
            made = client.access.create_token(user, project=project, role=Role(role), lasts_s=3600)
            return made.text, made.token.prefix

    def expired(self, user):
        """The text of a token that was valid until some time ago."""
        with self._open() as client:
            stored = client._connection.store.identities
            then_s = time.time() - 1000
            by = Decision(time_s=then_s, last_s=then_s, actor="op", action="", allowed=True)
            made = stored.create_token(
                user, project=EVERY_PROJECT, role=Role.ADMIN, about="", expires_s=then_s + 10, by=by
            )
            return made[0]

    def change(self, work):
        """Call ``work`` with the ``access`` of the operator."""
        with self._open() as client:
            return work(client.access)


def new_place():
    """A loopback address that no earlier request came from, so that limits of addresses do not count."""
    number = next(_places)
    return f"127.77.{number // 250}.{number % 250 + 1}"


def ask(url, method, path, body=None, *, token=None, place=None, **headers):
    """(status, headers, JSON) of an answer."""
    address = urlsplit(url)
    connection = HTTPConnection(
        address.hostname, address.port, timeout=60, source_address=(place or new_place(), 0)
    )
    try:
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            names["Authorization"] = f"Bearer {token}"
        content = None
        if body is not None:
            content = body if isinstance(body, bytes) else json.dumps(body)
            names["Content-Type"] = "application/json"
        connection.request(method, path, content, names)
        answer = connection.getresponse()
        text = answer.read()
        is_json = "json" in (answer.headers.get("Content-Type") or "")
        return answer.status, answer.headers, json.loads(text) if is_json else text
    finally:
        connection.close()


def client_with(service, token, **changes):
    """A client of the service with a token."""
    made = service.client()
    settings = replace(made._connection.settings, service_token=token, **changes)
    made.close()
    return Client.remote(service.url, settings)
