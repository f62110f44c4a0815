"""What stages and plug-ins may use."""

from collections.abc import Mapping
from dataclasses import dataclass

from anubis.contracts.alerts import Alerts
from anubis.contracts.clock import Clock
from anubis.contracts.engine import Engine
from anubis.contracts.events import Events
from anubis.contracts.leases import Leases
from anubis.contracts.objects import Objects
from anubis.contracts.points import Points
from anubis.contracts.records import Records
from anubis.contracts.runs import Runs
from anubis.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What stages may look at and ask for."""

    engines: Mapping[str, Engine]
    objects: Objects
    records: Records
    runs: Runs
    leases: Leases
    events: Events
    points: Points
    alerts: Alerts
    clock: Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a plug-in is built from: its entry point names a function of this one argument."""

    settings: Settings
    objects: Objects
    records: Records
