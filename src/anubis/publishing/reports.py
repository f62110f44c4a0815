"""Makes the reports of all kinds."""

from anubis.contracts.world import World
from anubis.publishing.of_benchmark import alert_report, benchmark_report
from anubis.publishing.of_period import daily_report, period_report
from anubis.publishing.of_run import family_report, run_report
from anubis.publishing.request import ReportKind, ReportRequest
from anubis.reporting.documents.document import Document


def report(world: World, request: ReportRequest) -> Document:
    """The report of a request. Raises NotFoundError if its subject is not stored."""
    match request.kind:
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
