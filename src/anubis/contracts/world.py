"""The objects that stages and plug-ins use."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from anubis.contracts.alerts import Alerts
from anubis.contracts.clock import Clock
from anubis.contracts.datasets import Datasets
from anubis.contracts.deliveries import Deliveries
from anubis.contracts.engine import Engine
from anubis.contracts.environments import Environments
from anubis.contracts.events import Events
from anubis.contracts.leases import Leases
from anubis.contracts.machines.joined import JoinedWorkers
from anubis.contracts.notifier import Notifier
from anubis.contracts.objects import Objects
from anubis.contracts.points import Points
from anubis.contracts.records import Records
from anubis.contracts.runs import Runs
from anubis.contracts.service.projects import Projects, SamePermission
from anubis.contracts.source import Source
from anubis.contracts.sweeps import Sweeps
from anubis.model.errors import PlugInError
from anubis.model.hardware import NO_PRICES, Prices
from anubis.model.points import SESSION_PAUSE_S
from anubis.settings import Settings


class PriceTable(Protocol):
    """The prices of the machines of an installation."""

    def current(self) -> Prices:
        """The prices now. Raises BadInputError if they are not valid."""
        ...


@dataclass(frozen=True, slots=True)
class FixedPrices:
    """Prices that do not change."""

    prices: Prices = NO_PRICES

    def current(self) -> Prices:
        """See ``PriceTable``."""
        return self.prices


NO_TABLE = FixedPrices()


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The engines and stores that stages use, from several threads at the same time."""

    engines: Mapping[str, Engine]
    objects: Objects
    records: Records
    runs: Runs
    leases: Leases
    events: Events
    points: Points
    alerts: Alerts
    deliveries: Deliveries
    sweeps: Sweeps
    environments: Environments
    datasets: Datasets
    clock: Clock
    #: Notifiers by the scheme of their addresses.
    notifiers: Mapping[str, Notifier] = field(default_factory=dict)
    #: Sources of datasets by the scheme of their addresses.
    sources: Mapping[str, Source] = field(default_factory=dict)
    #: What the runs of each project may use.
    projects: Projects = field(default_factory=SamePermission)
    #: What machines cost.
    prices: PriceTable = field(default_factory=FixedPrices)
    #: Longest pause inside a session, seconds.
    session_pause_s: float = SESSION_PAUSE_S

    def engine(self, name: str) -> Engine:
        """The engine of this name. Raises PlugInError with the reason why it cannot be used."""
        try:
            return self.engines[name]
        except PlugInError:
            raise
        except KeyError:
            message = f'engine "{name}" is not installed'
            raise PlugInError(message, remedy="install it again, or submit with another engine") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """The argument of the function that an entry point of a plug-in refers to."""

    #: Settings of the core; a plug-in reads its settings from ``environ`` with ``anubis.settings.load``.
    settings: Settings
    objects: Objects
    #: The workers that joined the installation; None: its database is not open.
    joined: JoinedWorkers | None = None
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
