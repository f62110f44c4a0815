"""Reports for people."""

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from anubis.publishing.request import ReportRequest
    from anubis.reporting.documents.document import Document


class Reports(Protocol):
    """Reports about runs, families, benchmarks, alerts and periods."""

    def make(self, request: "ReportRequest") -> "Document":
        """The report of a request. Its name may be a run reference. Raises NotFoundError if its subject is not stored."""
        ...
