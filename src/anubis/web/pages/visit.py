"""One request for a page: on whose behalf it is made, and how it is answered, errors included."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Annotated, Any
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from fastapi.routing import APIRoute

from anubis.api.errors import problem_details
from anubis.api.json_values import Json
from anubis.client import Client
from anubis.contracts.alerts import Alerts
from anubis.judging.alert_rules import OPEN, unmute_expired
from anubis.model.access.roles import Permission
from anubis.model.alert import AlertState
from anubis.model.errors import AnubisError, BadInputError, NotFoundError, UnauthorizedError
from anubis.web.access.decision import EVERYTHING, Decided, note_hidden
from anubis.web.answers import Answer
from anubis.web.pages import forms
from anubis.web.pages.rendering import html
from anubis.web.service import Asked, Asking
from anubis.wiring import Installation


@dataclass(frozen=True, slots=True)
class Visit:
    """A request for a page."""

    request: Request
    client: Client
    installation: Installation
    #: Name of the person; empty: without a login.
    person: str
    #: Whether the person may submit runs and decide about alerts.
    may_submit: bool

    @property
    def now_s(self) -> float:
        """UTC seconds."""
        return self.installation.clock.now_s()

    def page(
        self, template: str, *, title: str, plain: Callable[[], Json], status: int = 200, **context: Any
    ) -> Response:
        """The page, or with ``?format=json`` its data."""
        if self.request.query_params.get("format") == "json":
            return Answer(plain(), status)
        return html(template, {**self._frame(), "title": title, **context}, status)

    @property
    def form_token(self) -> str:
        """The token of forms of a person who has signed in; empty without a sign-in."""
        return getattr(self.request.state, "form_token", "")

    def form_key(self) -> str:
        """See ``forms.once``."""
        return forms.new_key()

    def part(self, template: str, **context: Any) -> Response:
        """A part of a page."""
        return html(template, {**self._frame(), "title": "", **context})

    def to(self, address: str) -> Response:
        """The answer to a form: the page to show next."""
        return RedirectResponse(address, 303)

    def _frame(self) -> dict[str, Any]:
        """What every page shows around its content."""
        url = self.request.url
        pairs = [(name, value) for name, value in self.request.query_params.multi_items() if name != "format"]
        return {
            "visit": self,
            "now_s": self.now_s,
            "path": url.path,
            "address": f"{url.path}?{urlencode(pairs)}" if pairs else url.path,
            "json_address": f"{url.path}?{urlencode([*pairs, ('format', 'json')])}",
            "open_alerts": open_alerts(self.installation.world.alerts, self.now_s),
        }


def open_alerts(alerts: Alerts, now_s: float) -> int:
    """Number of alerts about which a decision is due."""
    found = alerts.find(states=(*OPEN, AlertState.MUTED))
    return sum(unmute_expired(alert, now_s).state in OPEN for alert in found)


async def _visit(request: Request, client: Asking, installation: Asked, allowed: Decided) -> Visit:
    if request.method != "GET":
        forms.check_own(request)
    is_open = allowed is EVERYTHING
    may_submit = is_open or allowed.principal.projects(Permission.SUBMIT) != frozenset()
    return Visit(request, client, installation, "" if is_open else allowed.principal.name, may_submit)


#: Parameter of a view.
Visiting = Annotated[Visit, Depends(_visit)]


class PageRoute(APIRoute):
    """A route whose errors are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        inner = super().get_route_handler()

        async def answered(request: Request) -> Response:
            try:
                return await inner(request)
            except UnauthorizedError:
                raise
            except RequestValidationError as error:
                first = error.errors()[0]
                message = f"{first['loc'][-1]}: {first['msg']}"
                return error_page(request, BadInputError(message, remedy="correct the address or the form"))
            except AnubisError as error:
                if isinstance(error, NotFoundError):
                    await note_hidden(request)
                return error_page(request, error)

        return answered


def error_page(request: Request, error: AnubisError) -> Response:
    """An error as a page: what is wrong, then the remedy; nothing else about the installation."""
    details = problem_details(error)
    status = int(details["status"])
    if request.query_params.get("format") == "json":
        return Answer(details, status)
    problems = getattr(error, "problems", ())
    context = {
        "title": error.message,
        "remedy": error.remedy,
        "problems": problems,
        "status": status,
    }
    return html("error.html", context, status)


async def not_found(request: Request) -> Response:
    """The page for an address below ``/ui`` that does not exist."""
    return error_page(request, NotFoundError("there is no such page", remedy="go back to the overview"))


def router() -> APIRouter:
    """A router for the views of one module."""
    return APIRouter(prefix="/ui", route_class=PageRoute, include_in_schema=False)
