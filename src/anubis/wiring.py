"""Builds everything from settings; the only module that knows all."""

import grp
import os
import threading
import time
from dataclasses import dataclass, replace
from functools import cache

from anubis.contracts.datasets import Datasets
from anubis.contracts.engine import Engine
from anubis.contracts.notifier import Notifier
from anubis.contracts.source import Source
from anubis.contracts.world import Surroundings, World
from anubis.datasets.cached import CachedDatasets
from anubis.datasets.limits import FetchSettings
from anubis.model.errors import BadInputError
from anubis.pipeline.relay import Relay
from anubis.plug_ins import PlugIns
from anubis.record import access
from anubis.sealing.chain import FILE as CHAIN
from anubis.sealing.chain import RecordChain
from anubis.sealing.sealer import Sealer
from anubis.settings import Settings, load
from anubis.store import FolderObjects, FolderRecords, Store, open_store
from anubis.store.bucket.connection import Bucket
from anubis.store.bucket.objects import SharedObjects
from anubis.store.bucket.records import SharedRecords
from anubis.submission.environment.handover import HomeEnvironments
from anubis.submission.environment.project_secrets import ProjectSecrets
from anubis.submission.price_table import of_installation as price_table_of


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
    sealer: Sealer
    #: The records of this home folder, without those that only a bucket has.
    records_here: FolderRecords
    #: The bucket with copies; None: there is none.
    bucket: Bucket | None = None
    #: Whether it is that of the requests of a service.
    is_served: bool = False

    def close(self) -> None:
        self.store.close()


def build(settings: Settings | None = None) -> Installation:
    """Wire an installation; its home folder is made when it is not there."""
    settings = settings or Settings.from_env(os.environ)
    try:
        make_home(settings)
    except OSError as error:
        raise BadInputError(
            f"the home folder {settings.home} cannot be made: {error.strerror}",
            remedy="choose another folder with --home or ANUBIS_HOME",
        ) from error
    store = open_store(settings.database_url, session_pause_s=settings.session_pause_s)
    surroundings = replace(surroundings_of(settings), joined=store.joined)
    clock = WallClock()
    here, bucket = FolderRecords(settings.records), bucket_of(settings)
    world = World(
        engines=engines(surroundings),
        notifiers=notifiers(surroundings),
        sources=sources(surroundings),
        objects=surroundings.objects,
        records=SharedRecords(here, settings.records, bucket) if bucket else here,
        runs=store.runs,
        leases=store.leases,
        events=store.events,
        points=store.points,
        alerts=store.alerts,
        deliveries=store.deliveries,
        sweeps=store.sweeps,
        projects=store.projects,
        environments=HomeEnvironments(
            settings, surroundings.environ, ProjectSecrets(store.projects, settings.secrets_key)
        ),
        datasets=datasets(surroundings),
        clock=clock,
        prices=price_table_of(settings),
        session_pause_s=settings.session_pause_s,
    )
    relay = Relay(store.deliveries, store.alerts, world.notifiers, clock)
    sealer = Sealer(
        RecordChain(settings.home / CHAIN), store.runs, world.records, store.points, clock, here=here
    )
    return Installation(settings, store, clock, world, relay, sealer, here, bucket)


def make_home(settings: Settings) -> None:
    """Create the home folder, private to its user or shared with the group of the settings. Raises OSError.

    An existing folder is changed only by its owner, and only to share it. Raises BadInputError for an unknown group.
    """
    home = settings.home
    access.make_folder(str(home))
    if not settings.home_group:
        return
    try:
        group = grp.getgrnam(settings.home_group).gr_gid
    except KeyError as error:
        raise BadInputError(
            f'ANUBIS_HOME_GROUP: there is no group "{settings.home_group}"',
            remedy="set it to a group of this machine",
        ) from error
    found = home.stat()
    if found.st_uid == os.geteuid() and (found.st_gid != group or not access.is_shared(str(home))):
        os.chown(home, -1, group)
        home.chmod(access.SHARED_FOLDER)


def surroundings_of(settings: Settings) -> Surroundings:
    """What plug-ins are built from. Creates nothing."""
    folder, bucket = settings.home / "objects", bucket_of(settings)
    objects = SharedObjects(folder, bucket) if bucket else FolderObjects(folder)
    return Surroundings(settings=settings, objects=objects)


def bucket_of(settings: Settings) -> Bucket | None:
    """The bucket of the settings, one for all of a process: what finds it away, finds it away for all."""
    return _bucket(settings.bucket, settings.bucket_endpoint) if settings.bucket else None


_bucket = cache(Bucket)


def datasets(surroundings: Surroundings) -> Datasets:
    """The cache of datasets, with the installed sources."""
    core = surroundings.settings
    given = {"folder": core.data, "min_free_bytes": core.min_free_bytes}
    return CachedDatasets(load(FetchSettings, surroundings.environ, **given), sources(surroundings))


def sources(surroundings: Surroundings) -> PlugIns[Source]:
    """The installed sources of datasets by the scheme of their addresses."""
    return PlugIns("anubis.sources", "source", surroundings)


def engines(surroundings: Surroundings) -> PlugIns[Engine]:
    """The installed engines by name."""
    return PlugIns("anubis.engines", "engine", surroundings)


def notifiers(surroundings: Surroundings) -> PlugIns[Notifier]:
    """The installed notifiers by the scheme of their addresses."""
    return PlugIns("anubis.notifiers", "notifier", surroundings)
