"""Builds everything from settings; the only module that knows all."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from anubis.contracts.engine import Engine
from anubis.contracts.notifier import Notifier
from anubis.contracts.world import Surroundings, World
from anubis.model.errors import AnubisError
from anubis.pipeline.relay import Relay
from anubis.settings import Settings
from anubis.store import FolderObjects, FolderRecords, Store, open_store

T = TypeVar("T")


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
    store = open_store(settings.database_url)
    objects = FolderObjects(settings.home / "objects")
    records = FolderRecords(settings.home / "records")
    clock = WallClock()
    surroundings = Surroundings(settings=settings, objects=objects, records=records)
    engines: _PlugIns[Engine] = _PlugIns("anubis.engines", lambda engine: [engine.name], surroundings)
    notifiers: _PlugIns[Notifier] = _PlugIns(
        "anubis.notifiers", lambda notifier: notifier.schemes, surroundings
    )
    world = World(
        engines=engines,
        objects=objects,
        records=records,
        runs=store.runs,
        leases=store.leases,
        events=store.events,
        points=store.points,
        alerts=store.alerts,
        clock=clock,
    )
    relay = Relay(store.events, store.alerts, store.cursors, notifiers, clock)
    return Installation(settings, store, clock, world, relay)


class _PlugIns(Mapping[str, T]):
    """Plug-ins by the names they answer to, loaded when one is asked for: a listing needs none."""

    def __init__(self, group: str, names: Callable[[T], Iterable[str]], surroundings: Surroundings) -> None:
        self._group = group
        self._names = names
        self._surroundings = surroundings

    @cached_property
    def _found(self) -> dict[str, T]:
        from importlib.metadata import entry_points  # noqa: PLC0415  10 ms

        loaded: list[T] = [entry.load()(self._surroundings) for entry in entry_points(group=self._group)]
        return {name: plug_in for plug_in in loaded for name in self._names(plug_in)}

    def __getitem__(self, name: str) -> T:
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
