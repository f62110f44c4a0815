"""Driving runs and delivering notices from this process."""

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from anubis.contracts.chores import Chore
from anubis.contracts.world import World
from anubis.late import late
from anubis.model.errors import FullError, ReadOnlyError
from anubis.model.run import Run
from anubis.pipeline import worker
from anubis.pipeline.chores.event_relay import EventRelay
from anubis.pipeline.completion import Waiting
from anubis.pipeline.held_runs import LOOK_EVERY_S
from anubis.pipeline.lease_owner import new_owner
from anubis.pipeline.reconciler import Reconciler
from anubis.settings import Settings
from anubis.store.bucket.connection import Bucket
from anubis.store.bucket.objects import SharedObjects
from anubis.suites.sweep_chore import SweepChore
from anubis.wiring import Installation, surroundings_of

if TYPE_CHECKING:
    from anubis.notifiers import event_webhook
    from anubis.pipeline.chores import retention as retention_chore
    from anubis.pipeline.chores import scheduler
    from anubis.publishing import reports
    from anubis.publishing.mail import chore as mail_chore
    from anubis.publishing.mail import rules as mail_rules
    from anubis.publishing.request import ReportRequest
    from anubis.reporting.documents.document import Document
    from anubis.search import indexing
    from anubis.store.bucket import archives
    from anubis.store.bucket import chore as replicating
    from anubis.submission import retention_rules
    from anubis.suites.sweep_state import SweepState
    from anubis.transfer.daily import archive
    from anubis.transfer.daily import chore as archiving
else:  # only a worker that does not end reads descriptors, and needs numpy for the index of the output
    event_webhook = late("anubis.notifiers.event_webhook")
    scheduler = late("anubis.pipeline.chores.scheduler")
    indexing = late("anubis.search.indexing")
    reports = late("anubis.publishing.reports")
    mail_chore = late("anubis.publishing.mail.chore")
    mail_rules = late("anubis.publishing.mail.rules")
    retention_chore = late("anubis.pipeline.chores.retention")
    archives = late("anubis.store.bucket.archives")
    replicating = late("anubis.store.bucket.chore")
    retention_rules = late("anubis.submission.retention_rules")
    archive = late("anubis.transfer.daily.archive")
    archiving = late("anubis.transfer.daily.chore")

#: How long a run in the foreground waits for a database that does not answer, seconds.
PATIENCE_S = 120.0


def drive(
    installation: Installation, run_ids: Sequence[str], changed: Callable[[Run], None] | None = None
) -> list[Run]:
    """Drive due runs until these are final; the runs as they ended. Other processes may drive some of them.

    Raises StoreError if the database cannot be written: at once if it is read-only or full, else after a while.
    """
    runs = installation.world.runs
    waiting = Waiting(runs, run_ids, changed)
    _drive(installation, reconciler(installation, waiting.note, patience_s=PATIENCE_S), waiting.over)
    return [runs.get(run_id) for run_id in run_ids]


def drive_sweep(
    installation: Installation, sweep_id: str, changed: "Callable[[SweepState], None] | None" = None
) -> None:
    """Submit the cells of a sweep and drive due runs until the sweep no longer runs. Raises StoreError as ``drive``."""

    def note(state: "SweepState") -> None:
        if changed and state.sweep.id == sweep_id:
            changed(state)

    chore = SweepChore(installation.world, note)
    driver = reconciler(installation, patience_s=PATIENCE_S, sweeps=chore)
    _drive(installation, driver, lambda: chore.running is not None and sweep_id not in chore.running)


def _drive(installation: Installation, driver: Reconciler, until: Callable[[], bool]) -> None:
    try:
        installation.world.leases.release(new_owner())  # changes nothing
    except (FullError, ReadOnlyError) as error:
        raise type(error)(
            f"{error.message}; no run can be continued or followed",
            remedy="free space on its disk, or make its folder writable; anubis status shows the state of a run",
        ) from error
    driver.drive(until=until)
    if installation.world.runs.unfinished() or driver.chores.outstanding:
        worker.start(installation.settings.home)


def event_relay(installation: Installation) -> EventRelay:
    """The chore that delivers events; it loads what posts them when there is a webhook with events."""
    store, surroundings = installation.store, surroundings_of(installation.settings)
    publisher = cache(lambda: event_webhook.build(surroundings))
    return EventRelay(store.sinks, store.events, publisher, installation.clock)


def retention(installation: Installation) -> "retention_chore.Retention":
    """The chore that deletes what the retention rules no longer keep."""
    return retention_chore.Retention(
        installation.world,
        installation.store.holds,
        lambda: retention_rules.of_installation(installation.settings),
        installation.sealer.note_purged,
        lambda: archived_before_s(installation.settings),
    )


def scheduled_reports(installation: Installation) -> Chore:
    """The chore that sends reports at due times; it loads what makes them when one is due."""

    def rules() -> "Sequence[mail_rules.ScheduledReport]":
        return mail_rules.of_installation(installation.settings)

    def make(world: World, request: "ReportRequest") -> "Document":
        return reports.report(world, request)

    return mail_chore.ScheduledReports(installation.world, new_owner(), rules, make)


def replication(installation: Installation, bucket: Bucket) -> "replicating.Replication":
    """The chore that copies records and objects to the bucket."""
    settings = installation.settings
    copied = replicating.Copied(
        home=settings.home,
        records=settings.records,
        database_url=settings.database_url,
        keep_s=settings.bucket_keep_s,
    )
    objects = SharedObjects(settings.home / "objects", bucket)
    return replicating.Replication(bucket, copied, installation.world.runs, objects, installation.clock)


def archived_before_s(settings: Settings) -> float:
    """What ended before this time (UTC seconds) is in the data sets; infinite if there is no archive."""
    if settings.archive is None:
        return math.inf
    place = archives.place_of(settings.archive, settings.bucket_endpoint)
    return archive.Archive(place.objects).index().before_s


def reconciler(
    installation: Installation,
    changed: Callable[[Run], None] | None = None,
    *,
    patience_s: float = math.inf,
    keeps_schedules: bool = False,
    sweeps: SweepChore | None = None,
    look_every_s: Callable[[], float] = lambda: LOOK_EVERY_S,
) -> Reconciler:
    """A reconciler of this process. ``patience_s`` is how long it waits for a database that does not answer.

    ``sweeps`` is the chore that submits the cells of sweeps, if the caller observes it. ``look_every_s`` as in ``Reconciler``.
    """
    installation.store.keep_room()
    chores: list[Chore] = [
        installation.relay,
        event_relay(installation),
        installation.sealer,
        sweeps or SweepChore(installation.world),
    ]
    if installation.bucket is not None:
        chores.append(replication(installation, installation.bucket))
    if keeps_schedules:
        chores.append(indexing.Indexer(installation.records_here, installation.store.log_index))
        chores.append(
            scheduler.Scheduler(
                installation.store.schedules,
                installation.world,
                default_engine=installation.settings.engine,
            )
        )
        chores.append(retention(installation))
        chores.append(scheduled_reports(installation))
        settings = installation.settings
        if settings.archive is not None:
            place = archives.place_of(settings.archive, settings.bucket_endpoint)
            chores.append(archiving.Archiving(installation.world, place))

    def note(run: Run) -> None:
        installation.sealer.note(run)
        if changed:
            changed(run)

    return Reconciler(
        installation.world,
        new_owner(),
        lease_s=installation.settings.lease_s,
        changed=note,
        chores=chores,
        patience_s=patience_s,
        look_every_s=look_every_s,
    )
