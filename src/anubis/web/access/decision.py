"""Decides about every request: who asks, what the route needs, and which projects exist for the request."""

import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from anubis.model.access import sign_ins
from anubis.model.access.roles import (
    DEFAULT_PROJECT,
    UNRESTRICTED,
    Decision,
    Permission,
    Principal,
)
from anubis.model.errors import (
    AnubisError,
    BadInputError,
    ForbiddenError,
    NotFoundError,
    TooManyRequestsError,
    UnauthorizedError,
)
from anubis.web.access import cookies
from anubis.web.access.login import Login
from anubis.web.access.policy import POLICY, Rule, route_name
from anubis.web.access.trail import Trail

#: Header with the project of new objects.
PROJECT = "Anubis-Project"
#: A project that no object can have.
_NONE = "?"
#: Methods that change nothing.
_SAFE = frozenset({"GET", "HEAD"})
#: A stream ends when its token is no longer valid; it is verified so often, seconds.
VERIFY_EVERY_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """What a request may do."""

    principal: Principal
    #: Names of the projects that exist for the request; None: all.
    projects: frozenset[str] | None = None
    #: Project of new objects; empty: as the installation says.
    project: str = ""


#: The decision where no login is needed.
EVERYTHING = Allowed(principal=UNRESTRICTED)


@dataclass(frozen=True, slots=True)
class Access:
    """The parts of a service that decide about rights."""

    login: Login
    trail: Trail


async def decided(request: Request) -> Allowed:
    """What the request may do; every route depends on it. Raises UnauthorizedError, ForbiddenError and others."""
    access: Access = request.app.state.access
    if access.login.is_fresh and not access.login.is_needed():
        return EVERYTHING
    form_token = await _form_token(request)
    return await run_in_threadpool(_decided, access, request, form_token)


#: Parameter of a route: what the request may do.
Decided = Annotated[Allowed, Depends(decided)]


async def _form_token(request: Request) -> str:
    """The form token of a request that changes something for a person who has signed in; of pages also in a form."""
    if request.method in _SAFE or not cookies.found(request, cookies.SIGN_IN):
        return ""
    if found := request.headers.get(cookies.FORM_HEADER):
        return found
    kind = request.headers.get("Content-Type", "").partition(";")[0]
    if kind != "application/x-www-form-urlencoded" or request.url.path.startswith("/api/"):
        return ""
    field = (await request.form()).get(cookies.FORM_FIELD)
    return field if isinstance(field, str) else ""


def asker(access: Access, request: Request, form_token: str | None = "") -> Principal:
    """Who sends a request: the owner of its token, else the person who has signed in.

    A request that changes something needs the form token, which a page of another site cannot know (None: this one
    does not). Raises UnauthorizedError, ForbiddenError and TooManyRequestsError.
    """
    authorization, address = request.headers.get("Authorization", ""), _address(request)
    cookie = cookies.found(request, cookies.SIGN_IN)
    if authorization or not cookie:
        return access.login.principal(authorization, address)
    principal = access.login.signed_in(cookie, address)
    if principal is UNRESTRICTED:
        return principal
    request.state.form_token = sign_ins.form_token(cookie)
    is_asked = form_token is not None and request.method not in _SAFE
    if is_asked and not hmac.compare_digest((form_token or "").encode(), request.state.form_token.encode()):
        raise ForbiddenError(
            "the request does not come from a page of the service",
            remedy="load the page again, then repeat it",
        )
    return principal


def _decided(access: Access, request: Request, form_token: str) -> Allowed:
    rule = POLICY.get(route_of(request))
    if rule is not None and rule.permission is None:
        return EVERYTHING
    principal = Principal(name="")
    try:
        principal = asker(access, request, form_token)
        if principal is UNRESTRICTED:
            return EVERYTHING
        if rule is None:  # a defect: a test lists all routes
            raise ForbiddenError("the route has no rule", remedy="report it")
        allowed = _allowed(rule, principal, request)
    except TooManyRequestsError:  # not stored: there may be any number of them
        raise
    except AnubisError as error:
        if not isinstance(error, UnauthorizedError) or _is_tried(request):
            access.trail.note(_decision(request, principal, error.message, allowed=False), is_read=False)
        raise
    access.trail.note(_decision(request, principal, "", allowed=True), is_read=request.method == "GET")
    request.state.principal, request.state.allowed = principal, allowed
    return allowed


def further(request: Request, route: str) -> Allowed:
    """What a request may do as a request to another route; for one whose parts need different rights.

    Raises ForbiddenError and others.
    """
    principal: Principal | None = getattr(request.state, "principal", None)
    if principal is None:  # no login is needed
        return EVERYTHING
    access: Access = request.app.state.access
    action = f"{route_of(request)} as {route}"
    try:
        allowed = _allowed(POLICY[route], principal, request)
    except AnubisError as error:
        access.trail.note(
            _decision(request, principal, error.message, allowed=False, action=action), is_read=False
        )
        raise
    is_read = route.startswith("GET ")
    access.trail.note(_decision(request, principal, "", allowed=True, action=action), is_read=is_read)
    return allowed


def _allowed(rule: Rule, principal: Principal, request: Request) -> Allowed:
    assert rule.permission is not None
    if rule.any_token:
        return Allowed(principal=principal, projects=principal.projects(Permission.READ))
    projects = principal.projects(rule.permission)
    if (rule.everywhere and projects is not None) or (projects is not None and not projects):
        where = "in all projects" if rule.everywhere else "in a project"
        raise _missing(rule.permission, where)
    if named := request.path_params.get("project"):
        _check_project(rule.permission, principal, str(named))
    project = _target(rule, principal, request.headers.get(PROJECT, ""))
    return Allowed(principal=principal, projects=projects, project=project)


def _check_project(permission: Permission, principal: Principal, project: str) -> None:
    if principal.may(permission, project):
        return
    if principal.may(Permission.READ, project):
        raise _missing(permission, f"in the project {project!r}")
    raise NotFoundError(f"there is no project {project!r}", remedy="anubis project list shows them")


def _target(rule: Rule, principal: Principal, named: str) -> str:
    """The project of new objects."""
    assert rule.permission is not None
    if not rule.creates:
        return _NONE
    if named:
        _check_project(rule.permission, principal, named)
        return named
    found = principal.projects(rule.permission)
    if found is None or DEFAULT_PROJECT in found:
        return DEFAULT_PROJECT
    if len(found) == 1:
        return next(iter(found))
    raise BadInputError(
        f"it is not clear which project is meant: {', '.join(sorted(found))}",
        remedy="name it with ANUBIS_PROJECT",
    )


def _missing(permission: Permission, where: str) -> ForbiddenError:
    return ForbiddenError(
        f"the token does not give the permission {permission.value!r} {where}",
        remedy="anubis whoami shows its roles; an administrator can grant another one",
    )


def route_of(request: Request) -> str:
    """The name of the route of a request in the policy."""
    return route_name(request.method, getattr(request.scope.get("route"), "path", ""))


def _is_tried(request: Request) -> bool:
    """Whether a request has a token or a sign-in."""
    return bool(request.headers.get("Authorization") or cookies.found(request, cookies.SIGN_IN))


def _address(request: Request) -> str:
    return request.client.host if request.client else ""


def _decision(
    request: Request, principal: Principal, reason: str, *, allowed: bool, action: str = ""
) -> Decision:
    now_s = time.time()
    return Decision(
        time_s=now_s,
        last_s=now_s,
        actor=principal.name,
        token=principal.token,
        address=_address(request),
        action=action or route_of(request),
        target=" ".join(str(value) for value in request.path_params.values()),
        allowed=allowed,
        reason=reason,
    )


async def note_hidden(request: Request) -> None:
    """Store that an object does not exist for a principal who does not see all projects."""
    principal: Principal | None = getattr(request.state, "principal", None)
    if principal is not None and principal.projects(Permission.READ) is not None:
        access: Access = request.app.state.access
        decision = _decision(request, principal, "unknown, or of another project", allowed=False)
        await run_in_threadpool(access.trail.note, decision, is_read=False)


def still_valid(request: Request) -> Callable[[], bool]:
    """Whether a request would still be answered as at its start, for a stream that lasts."""
    access: Access = request.app.state.access
    rule, first = POLICY.get(route_of(request)), getattr(request.state, "allowed", None)

    def check() -> bool:
        try:
            principal = asker(access, request, getattr(request.state, "form_token", ""))
            if principal is UNRESTRICTED or first is None:
                return principal is UNRESTRICTED
            return rule is not None and _allowed(rule, principal, request).projects == first.projects
        except AnubisError:
            return False

    return check
