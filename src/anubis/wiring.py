"""Builds everything from settings; the only module that knows all."""

import os
import threading
import time
from dataclasses import dataclass
from importlib.metadata import entry_points

from anubis.model.errors import AnubisError
from anubis.pipeline.contracts import Engine, Surroundings, World
from anubis.settings import Settings
from anubis.store import FolderObjects, FolderRecords, Store, open_store


class WallClock:
    """The machine's time. ``wake`` ends a wait early."""

    def __init__(self) -> None:
        self._wake = threading.Event()

    def now_s(self) -> float:
        return time.time()

    def wait(self, seconds: float) -> None:
        if self._wake.wait(seconds):
            self._wake.clear()

    def wake(self) -> None:
        """There is something to do; safe from signal handlers and other threads."""
        self._wake.set()


@dataclass(frozen=True, slots=True)
class House:
    """One installation, wired."""

    settings: Settings
    store: Store
    clock: WallClock
    world: World

    def close(self) -> None:
        self.store.close()


def build(settings: Settings | None = None) -> House:
    """Wire an installation; its home folder is made when it is not there."""
    settings = settings or Settings.from_env(os.environ)
    try:
        settings.home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AnubisError(
            f"the home folder {settings.home} cannot be made: {error.strerror}",
            remedy="set ANUBIS_HOME to another folder",
        ) from error
    store = open_store(settings.database_url)
    objects = FolderObjects(settings.home / "objects")
    records = FolderRecords(settings.home / "records")
    clock = WallClock()
    surroundings = Surroundings(settings=settings, objects=objects, records=records)
    world = World(
        engines=_engines(surroundings),
        objects=objects,
        records=records,
        runs=store.runs,
        points=store.points,
        clock=clock,
    )
    return House(settings, store, clock, world)


def _engines(surroundings: Surroundings) -> dict[str, Engine]:
    found: dict[str, Engine] = {}
    for entry in entry_points(group="anubis.engines"):
        engine: Engine = entry.load()(surroundings)
        found[engine.name] = engine
    return found
