"""``Client``: one attribute for each noun, loaded at its first use."""

import os
from importlib import import_module
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from anubis.client import registration
from anubis.late import late
from anubis.settings import Settings

if TYPE_CHECKING:
    from anubis import wiring
    from anubis.client.protocol.access import Access
    from anubis.client.protocol.judging import Alerts, Gate, Series
    from anubis.client.protocol.reports import Reports
    from anubis.client.protocol.runs import Records, Results, Runs
    from anubis.client.protocol.schedules import Schedules
    from anubis.client.protocol.sweeps import Sweeps
    from anubis.client.protocol.tools import Alternations, Bisections, Datasets, Histories, Storage, Workers
    from anubis.client.protocol.triggers import Triggers
    from anubis.client.protocol.webhooks import Webhooks
    from anubis.client.remote import connection
else:  # a client needs one of them
    wiring = late("anubis.wiring")
    connection = late("anubis.client.remote.connection")


class Connection(Protocol):
    """The connection that the nouns of one implementation share; closed with the client."""

    def close(self) -> None: ...


class Client:
    """The operations of Anubis, by noun.

    Times are UTC seconds since 1970. A run reference is a full id, a unique prefix, ``@last`` or ``@last~2``.
    """

    runs: "Runs"
    results: "Results"
    records: "Records"
    gate: "Gate"
    alerts: "Alerts"
    series: "Series"
    bisections: "Bisections"
    alternations: "Alternations"
    sweeps: "Sweeps"
    histories: "Histories"
    storage: "Storage"
    datasets: "Datasets"
    schedules: "Schedules"
    workers: "Workers"
    triggers: "Triggers"
    access: "Access"
    webhooks: "Webhooks"
    reports: "Reports"

    def __init__(self, package: str, connection: Connection) -> None:
        """``package`` has one module for each noun, with a class of that name built from the connection."""
        self._package = package
        self._connection = connection

    @classmethod
    def open(cls, settings: Settings | None = None) -> Self:
        """A client of the registered service, else of the home folder, in these settings (None: those of the environment)."""
        settings = settings or Settings.from_env(os.environ)
        url = registration.url_of(settings)
        return cls.embedded(settings) if url is None else cls.remote(url, settings)

    @classmethod
    def embedded(cls, settings: Settings) -> Self:
        """A client that uses the home folder and the database in the settings itself."""
        return cls("anubis.client.embedded", wiring.build(settings))

    @classmethod
    def remote(cls, url: str, settings: Settings) -> Self:
        """A client of the service at an address."""
        return cls("anubis.client.remote", connection.ServiceConnection(url, settings))

    @property
    def is_remote(self) -> bool:
        """Whether it is a client of a service."""
        return self._package.endswith(".remote")

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __getattr__(self, noun: str) -> Any:
        """Load a noun: listing runs does not import what only the gate needs."""
        if noun not in Client.__annotations__:
            raise AttributeError(f"a client has no {noun!r}; it has: {', '.join(Client.__annotations__)}")
        module = import_module(f"{self._package}.{noun}")
        part = getattr(module, noun.capitalize())(self._connection)
        setattr(self, noun, part)
        return part
