"""Reports of a service."""

from anubis.api.publishing.reports import document_from_json
from anubis.client.protocol import reports as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.model.plain import to_plain
from anubis.publishing.request import ReportRequest
from anubis.reporting.documents.document import Document


class Reports(protocol.Reports):
    """``Reports`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection

    def make(self, request: ReportRequest) -> Document:
        params = [(name, str(value)) for name, value in to_plain(request).items()]
        return document_from_json(self._connection.get("reports", params))
