"""Makes the reports of all kinds."""

from contextlib import suppress

from anubis.contracts.world import World
from anubis.model.errors import NotFoundError
from anubis.publishing.of_benchmark import alert_report, benchmark_report
from anubis.publishing.of_period import daily_report, period_report
from anubis.publishing.of_run import cells_of, family_report, run_report
from anubis.publishing.request import ReportKind, ReportRequest
from anubis.reporting.documents.document import Document


def report(world: World, request: ReportRequest) -> Document:
    """The report of a request. Raises NotFoundError if its subject is not stored."""
    match request.kind or kind_of(world, request.name):
        case ReportKind.RUN:
            return run_report(world, request.name)
        case ReportKind.FAMILY:
            return family_report(world, request.name)
        case ReportKind.BENCHMARK:
            return benchmark_report(world, request.name)
        case ReportKind.ALERT:
            return alert_report(world, request.name)
        case ReportKind.PERIOD:
            return period_report(world, request)
        case ReportKind.DAILY:
            return daily_report(world, request)


def kind_of(world: World, name: str) -> ReportKind:
    """What a name names: nothing (a period), a benchmark, a run, an alert, or a family. Raises NotFoundError."""
    if not name:
        return ReportKind.PERIOD
    if name in world.runs.names().benchmarks:
        return ReportKind.BENCHMARK
    for kind, found in (
        (ReportKind.RUN, world.runs.get),
        (ReportKind.ALERT, world.alerts.get),
        (ReportKind.FAMILY, lambda family_id: cells_of(world, family_id)),
    ):
        with suppress(NotFoundError):
            found(name)
            return kind
    raise NotFoundError(
        f"{name!r} is no benchmark, run, alert or family",
        remedy="see anubis history, anubis series list and anubis alerts",
    )
