"""Reports for people, as data."""

from typing import TYPE_CHECKING, Annotated

from fastapi import APIRouter, Query, Response

from anubis.late import late
from anubis.publishing.request import ReportKind, ReportRequest
from anubis.web.answers import Answer, NounRoute
from anubis.web.service import Asking

if TYPE_CHECKING:
    from anubis.api.publishing import reports as api_reports
else:
    api_reports = late("anubis.api.publishing.reports")

router = APIRouter(route_class=NounRoute, tags=["reports"])


@router.get("/reports", summary="A report")
def make(
    *,
    client: Asking,
    kind: Annotated[ReportKind | None, Query(description="By default: what the name names.")] = None,
    name: Annotated[
        str, Query(description="A run reference, benchmark, alert or family; empty: a period.")
    ] = "",
    since_s: Annotated[
        float | None, Query(description="Start of the period, UTC seconds.", allow_inf_nan=False)
    ] = None,
    until_s: Annotated[
        float | None, Query(description="End of the period, UTC seconds.", allow_inf_nan=False)
    ] = None,
    group_by: Annotated[str, Query(description="A label; a period has a section for each value.")] = "",
) -> Response:
    """Title, verdict, and sections with tables and the data of charts."""
    request = ReportRequest(kind=kind, name=name, since_s=since_s, until_s=until_s, group_by=group_by)
    return Answer(api_reports.document_to_json(client.reports.make(request)))
