"""Reports of this installation."""

from dataclasses import replace

from anubis.client.embedded.references import find_run
from anubis.client.protocol import reports as protocol
from anubis.publishing.reports import report
from anubis.publishing.request import ReportKind, ReportRequest
from anubis.reporting.documents.document import Document
from anubis.wiring import Installation


class Reports(protocol.Reports):
    """``Reports`` (see the protocol) of the runs in the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._world = installation.world

    def make(self, request: ReportRequest) -> Document:
        runs = self._world.runs
        if request.kind is ReportKind.RUN or request.name.startswith("@"):
            request = replace(
                request, kind=request.kind or ReportKind.RUN, name=find_run(runs, request.name).id
            )
        if request.kind is ReportKind.FAMILY and request.name.startswith("@"):
            request = replace(request, name=find_run(runs, request.name).id)
        return report(self._world, request)
