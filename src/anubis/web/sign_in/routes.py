"""The routes of sign-ins. They authorise themselves: by a state, by the cookie of a sign-in, or by a code."""

import logging
import math
import re
import secrets
import time
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from anubis.api.errors import BLANK, problem_details
from anubis.model.access.roles import Principal
from anubis.model.errors import AnubisError, TooManyRequestsError, UnauthorizedError
from anubis.web.access import cookies, pages
from anubis.web.access.decision import asker as asker_of
from anubis.web.access.limits import Rates
from anubis.web.answers import Answer, ProblemAnswer, headers_of
from anubis.web.sign_in.flow import STEP_S, Asker, SignIns, local_path
from anubis.web.sign_in.refusal import SignInError

log = logging.getLogger(__name__)
#: Requests of one address that begin a sign-in or use a code: at most so many at once, and so many per second.
BURST, PER_S = 30, 0.5
_STATE = re.compile(r"[A-Za-z0-9_-]{1,200}")
_LONGEST_TOKEN = 1000
_NOBODY = Principal(name="")


class Pages:
    """The pages and requests of sign-ins."""

    def __init__(self, sign_ins: SignIns, monotonic_s: Callable[[], float] = time.monotonic) -> None:
        self._sign_ins = sign_ins
        self._rates = Rates(BURST, PER_S, monotonic_s)

    def routes(self) -> list[Route]:
        """All routes."""
        line = "/sign-in/command-line"
        return [
            Route("/sign-in", self._page(self.show), methods=["GET"]),
            Route("/sign-in", self._page(self.use_token), methods=["POST"]),
            Route("/sign-in/provider", self._page(self.go), methods=["GET"]),
            Route("/sign-in/return", self._page(self.come_back), methods=["GET"]),
            Route("/sign-out", self._page(self.sign_out), methods=["POST"]),
            Route(line, self._page(self.ask), methods=["GET"]),
            Route(line, self._page(self.allow), methods=["POST"]),
            Route(f"{line}/token", self.exchange, methods=["POST"]),
            Route(f"{line}/token", self.end_token, methods=["DELETE"]),
            Route(pages.STYLE_PATH, _style, methods=["GET"]),
        ]

    def show(self, request: Request, _form: Mapping[str, str]) -> Response:
        """The ways to sign in; with ``next``, the page for a person who has signed in."""
        next_path = request.query_params.get("next", "")
        if not self._sign_ins.is_needed():
            return _redirect(local_path(next_path))
        principal = _principal(request)
        if not principal.name:
            return pages.sign_in(local_path(next_path), has_provider=self._sign_ins.provider is not None)
        return (
            _redirect(local_path(next_path))
            if next_path
            else pages.signed_in(principal.name, request.state.form_token)
        )

    def use_token(self, request: Request, form: Mapping[str, str]) -> Response:
        """Sign in with a token."""
        next_path = local_path(form.get("next", ""))
        if not self._sign_ins.is_needed():
            return _redirect(next_path)
        try:
            text, _ = self._sign_ins.with_token(
                _asker(request), form.get("token", "").strip()[:_LONGEST_TOKEN]
            )
        except UnauthorizedError:
            has_provider = self._sign_ins.provider is not None
            return pages.sign_in(
                next_path, has_provider=has_provider, refusal="The token is not valid.", status=401
            )
        return self._entered(request, text, next_path)

    def go(self, request: Request, _form: Mapping[str, str]) -> Response:
        """Send the browser to the provider."""
        self._limit(request)
        browser = cookies.found(request, cookies.BROWSER)
        if not _STATE.fullmatch(browser):
            browser = secrets.token_urlsafe(32)
        asker = _asker(request, browser)
        found = self._sign_ins.begin(asker, request.query_params.get("next", ""), _back(request))
        response = _redirect(found)
        cookies.put(request, response, cookies.BROWSER, browser, lasts_s=STEP_S)
        return response

    def come_back(self, request: Request, _form: Mapping[str, str]) -> Response:
        """The answer of the provider."""
        asker = _asker(request, cookies.found(request, cookies.BROWSER))
        text, _, next_path = self._sign_ins.finish(asker, request.query_params)
        return self._entered(request, text, next_path)

    def _entered(self, request: Request, text: str, next_path: str) -> Response:
        """A new sign-in replaces that of the browser."""
        before = _principal(request)
        if before.name:
            self._sign_ins.end(_asker(request), before)
        response = _redirect(next_path)
        cookies.put(request, response, cookies.SIGN_IN, text, lasts_s=self._sign_ins.settings.sign_in_s)
        cookies.remove(request, response, cookies.BROWSER)
        return response

    def sign_out(self, request: Request, form: Mapping[str, str]) -> Response:
        """End the sign-in of the browser."""
        principal = _principal(request, form)
        if principal.name:
            self._sign_ins.end(_asker(request), principal)
        response = pages.message("Signed out", "You are signed out.", again="/sign-in")
        cookies.remove(request, response, cookies.SIGN_IN)
        return response

    def ask(self, request: Request, _form: Mapping[str, str]) -> Response:
        """Ask the person whether a command line may have a token."""
        fields, forms_to = _line(request.query_params)
        if not self._sign_ins.is_needed():
            return pages.message("No login needed", "This service needs no login.")
        principal = _principal(request)
        if not principal.name:
            here = f"{request.url.path}?{request.url.query}"
            return _redirect(f"/sign-in?{urlencode({'next': here})}")
        return pages.command_line(principal.name, request.state.form_token, fields, forms_to)

    def allow(self, request: Request, form: Mapping[str, str]) -> Response:
        """Send a code to the command line, or show it."""
        fields, forms_to = _line(form)
        principal = _principal(request, form)
        if not principal.name:
            raise SignInError(401, "You are not signed in any more.", "Run anubis login again.")
        code = self._sign_ins.allow_command_line(principal, fields["challenge"])
        if not forms_to:
            return pages.code(code)
        return _redirect(f"{forms_to}?{urlencode({'code': code, 'state': fields['state']})}")

    async def exchange(self, request: Request) -> Response:
        """A token for a code, as JSON."""
        try:
            self._limit(request)
            body = await request.json()
            code, verifier = body["code"], body["verifier"]
            if not (isinstance(code, str) and isinstance(verifier, str)):
                raise TypeError
            asker = _asker(request)
            text = await run_in_threadpool(self._sign_ins.token_of, asker, code, verifier)
        except (ValueError, LookupError, TypeError):
            return _problem(400, "the body is not valid", "send code and verifier as JSON")
        except SignInError as error:
            return _problem(error.status, error.message, error.remedy)
        except TooManyRequestsError as error:
            return _problem(429, error.message, error.remedy)
        return Answer({"text": text}, 201, headers={"Cache-Control": "no-store"})

    async def end_token(self, request: Request) -> Response:
        """Revoke the token of the request."""
        try:
            header = request.headers.get("Authorization", "")
            ended = await run_in_threadpool(self._sign_ins.end_token, _asker(request), header)
        except AnubisError as error:
            details = problem_details(error)
            return ProblemAnswer(details, details["status"], headers=headers_of(error))
        return Answer({"ended": ended})

    def _limit(self, request: Request) -> None:
        address = request.client.host if request.client else ""
        if wait_s := self._rates.take(address):
            raise TooManyRequestsError(
                f"too many sign-ins from {address}", again_after_s=wait_s, remedy="wait a moment"
            )

    def _page(self, work: Callable[[Request, Mapping[str, str]], Response]) -> Any:
        """A route that answers with a page, also for an error."""

        async def answered(request: Request) -> Response:
            form: dict[str, str] = {}
            if request.method == "POST":
                form = {k: v for k, v in (await request.form()).items() if isinstance(v, str)}
            try:
                return await run_in_threadpool(work, request, form)
            except SignInError as error:
                return pages.message(
                    "Not signed in", error.message, error.status, remedy=error.remedy, again="/sign-in"
                )
            except TooManyRequestsError as error:
                page = pages.message("Too many requests", "Wait a moment, then try again.", 429)
                page.headers["Retry-After"] = str(math.ceil(error.again_after_s))
                return page
            except AnubisError as error:
                status = int(problem_details(error)["status"])
                if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
                    log.warning("a sign-in failed: %s", error)
                    return pages.message("Not signed in", "The service cannot do this now.", status)
                return pages.message("Not signed in", "The request was refused.", status, remedy=error.remedy)

        return answered


def _asker(request: Request, browser: str = "") -> Asker:
    return Asker(
        address=request.client.host if request.client else "",
        about=request.headers.get("User-Agent", ""),
        browser=browser,
    )


def _principal(request: Request, form: Mapping[str, str] | None = None) -> Principal:
    """The person who has signed in with the browser; without a name if there is none.

    Raises ForbiddenError for a request that changes something without the form token, except before a sign-in.
    """
    if not cookies.found(request, cookies.SIGN_IN) or request.headers.get("Authorization"):
        return _NOBODY
    try:
        given = None if form is None else form.get(cookies.FORM_FIELD, "")
        return asker_of(request.app.state.access, request, given)
    except UnauthorizedError:
        return _NOBODY


def _line(given: Mapping[str, str]) -> tuple[dict[str, str], str]:
    """The fields of the request of a command line, and where it listens on the machine of the browser; empty: nowhere."""
    port, challenge, state = (given.get(name, "") for name in ("port", "challenge", "state"))
    is_port = port.isascii() and port.isdecimal() and (port == "0" or 1024 <= int(port[:6]) <= 65535)
    if not (is_port and _STATE.fullmatch(challenge) and _STATE.fullmatch(state)):
        raise SignInError(400, "The address is not complete.", "Run anubis login again.")
    forms_to = "" if port == "0" else f"http://127.0.0.1:{int(port)}/"
    return {"port": port, "challenge": challenge, "state": state}, forms_to


def _back(request: Request) -> str:
    """Where the provider sends the browser."""
    return f"{request.url.scheme}://{request.url.netloc}/sign-in/return"


def _redirect(address: str) -> Response:
    return RedirectResponse(address, 303, headers={"Cache-Control": "no-store", **_QUIET})


#: The address of the page, which may have a state, is not sent to other sites.
_QUIET = {"Referrer-Policy": "no-referrer"}


def _problem(status: int, message: str, remedy: str) -> Response:
    details = {"type": BLANK, "title": message, "status": status, "detail": message, "remedy": remedy}
    return ProblemAnswer(details, status, headers={"Cache-Control": "no-store"})


async def _style(_request: Request) -> Response:
    return Response(
        pages.STYLE,
        media_type="text/css",
        headers={"Cache-Control": "max-age=3600", "X-Content-Type-Options": "nosniff"},
    )
