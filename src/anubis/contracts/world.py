"""What stages and plug-ins may use."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from anubis.contracts.alerts import Alerts
from anubis.contracts.clock import Clock
from anubis.contracts.engine import Engine
from anubis.contracts.events import Events
from anubis.contracts.leases import Leases
from anubis.contracts.notifier import Notifier
from anubis.contracts.objects import Objects
from anubis.contracts.points import Points
from anubis.contracts.records import Records
from anubis.contracts.runs import Runs
from anubis.model.errors import PlugInError
from anubis.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What stages may look at and ask for, from several threads at the same time."""

    engines: Mapping[str, Engine]
    objects: Objects
    records: Records
    runs: Runs
    leases: Leases
    events: Events
    points: Points
    alerts: Alerts
    clock: Clock
    #: By the scheme of the addresses that they serve.
    notifiers: Mapping[str, Notifier] = field(default_factory=dict)

    def engine(self, name: str) -> Engine:
        """The engine of that name. Raises PlugInError, which says why it cannot be used."""
        try:
            return self.engines[name]
        except PlugInError:
            raise
        except KeyError:
            message = f'engine "{name}" is not installed here any more'
            raise PlugInError(message, remedy="install it again, or submit with another engine") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a plug-in is built from: its entry point names a function of this one argument."""

    #: Of the core; a plug-in reads its own from ``environ`` with ``anubis.settings.load``.
    settings: Settings
    objects: Objects
    environ: Mapping[str, str] = field(default_factory=lambda: os.environ)
