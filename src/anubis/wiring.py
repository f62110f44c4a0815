"""Builds everything from settings; the only module that knows all."""

import os
import threading
import time
from dataclasses import dataclass

from anubis.contracts.engine import Engine
from anubis.contracts.notifier import Notifier
from anubis.contracts.world import Surroundings, World
from anubis.model.errors import AnubisError
from anubis.pipeline.relay import Relay
from anubis.plug_ins import PlugIns
from anubis.settings import Settings
from anubis.store import FolderObjects, FolderRecords, Store, open_store
from anubis.submission.environment.handover import HomeEnvironments


class WallClock:
    """The machine's time."""

    def now_s(self) -> float:
        return time.time()

    def monotonic_s(self) -> float:
        return time.monotonic()

    def wait(self, event: threading.Event, seconds: float) -> None:
        event.wait(seconds)


@dataclass(frozen=True, slots=True)
class Installation:
    """One installation, wired."""

    settings: Settings
    store: Store
    clock: WallClock
    world: World
    relay: Relay

    def close(self) -> None:
        self.store.close()


def build(settings: Settings | None = None) -> Installation:
    """Wire an installation; its home folder is made when it is not there."""
    settings = settings or Settings.from_env(os.environ)
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AnubisError(
            f"the home folder {settings.home} cannot be made: {error.strerror}",
            remedy="set ANUBIS_HOME to another folder",
        ) from error
    store = open_store(settings.database_url, session_pause_s=settings.session_pause_s)
    surroundings = surroundings_of(settings)
    clock = WallClock()
    world = World(
        engines=engines(surroundings),
        notifiers=notifiers(surroundings),
        objects=surroundings.objects,
        records=FolderRecords(settings.records),
        runs=store.runs,
        leases=store.leases,
        events=store.events,
        points=store.points,
        alerts=store.alerts,
        deliveries=store.deliveries,
        environments=HomeEnvironments(settings, surroundings.environ),
        clock=clock,
        session_pause_s=settings.session_pause_s,
    )
    relay = Relay(store.deliveries, store.alerts, world.notifiers, clock)
    return Installation(settings, store, clock, world, relay)


def surroundings_of(settings: Settings) -> Surroundings:
    """What plug-ins are built from. Creates nothing."""
    return Surroundings(settings=settings, objects=FolderObjects(settings.home / "objects"))


def engines(surroundings: Surroundings) -> PlugIns[Engine]:
    """The installed engines by name."""
    return PlugIns("anubis.engines", "engine", surroundings)


def notifiers(surroundings: Surroundings) -> PlugIns[Notifier]:
    """The installed notifiers by the scheme of their addresses."""
    return PlugIns("anubis.notifiers", "notifier", surroundings)
