"""What the routes share: the installation, and the clients of requests."""

from dataclasses import dataclass, replace
from typing import Annotated
from urllib.parse import unquote

from fastapi import Depends, Request

from anubis.client import Client
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.web.access.decision import EVERYTHING, Access, Allowed, Decided
from anubis.web.changes import Changes
from anubis.web.drivers import Drivers
from anubis.wiring import Installation

#: Header with the name of the person who asks, percent-encoded. It is not verified.
PERSON = "Anubis-Person"
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Service:
    """A running service."""

    installation: Installation
    changes: Changes
    drivers: Drivers
    access: Access

    def wrote(self) -> None:
        """A request wrote runs or events: wake those that wait for them in this process. May be called in any thread."""
        self.changes.note()
        self.drivers.look()


def service_of(request: Request) -> Service:
    """The service of a request."""
    service: Service = request.app.state.service
    return service


async def _installation(request: Request, allowed: Decided) -> Installation:
    return used_by(request, allowed)


def used_by(request: Request, allowed: Allowed) -> Installation:
    """The installation, as the person who asks uses it: with the projects that exist for the request."""
    installation = service_of(request).installation
    if allowed is not EVERYTHING:
        return _narrowed(installation, allowed)
    name = "".join(char for char in unquote(request.headers.get(PERSON, "")) if char.isprintable())
    if not name:
        return installation
    return replace(installation, settings=replace(installation.settings, client_id=name[:_LONGEST_NAME]))


def _narrowed(installation: Installation, allowed: Allowed) -> Installation:
    settings = replace(
        installation.settings, client_id=allowed.principal.name, project=allowed.project or DEFAULT_PROJECT
    )
    if allowed.projects is None:
        return replace(installation, settings=settings)
    store = installation.store.within(allowed.projects)
    world = replace(
        installation.world,
        runs=store.runs,
        events=store.events,
        points=store.points,
        alerts=store.alerts,
        sweeps=store.sweeps,
    )
    return replace(installation, settings=settings, store=store, world=world)


#: Parameter of a route: the installation, with the person who asks in its settings.
Asked = Annotated[Installation, Depends(_installation)]


async def _client(installation: Asked) -> Client:
    return Client("anubis.client.embedded", installation)


#: Parameter of a route: a client on behalf of the person who asks. It need not be closed.
Asking = Annotated[Client, Depends(_client)]
