"""Errors as JSON: the object that ``--json`` prints on standard error, and problem details (RFC 9457) of HTTP."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from anubis.api.json_values import Json
from anubis.api.problems import problem_from_json, problem_to_json
from anubis.model.cause import Cause
from anubis.model.errors import (
    AnubisError,
    BadInputError,
    CancelledError,
    ConflictError,
    DamagedDatabaseError,
    DamagedSamplesError,
    ElsewhereError,
    ForbiddenError,
    FullError,
    LeaseLostError,
    NoCapacityError,
    NotFoundError,
    NotifyError,
    NotReadyError,
    PlugInError,
    QuotaError,
    ReadOnlyError,
    RevokedError,
    SourceError,
    StageError,
    StoreError,
    TooManyRequestsError,
    UnauthorizedError,
    UndecidedError,
)
from anubis.model.problem import Problem

#: The page that describes every type of error; a type is an anchor on it.
PAGE = "https://github.com/anubis-bench/anubis/blob/main/docs/reference/errors.md"
#: RFC 9457: the type of a problem that has no meaning beyond its HTTP status.
BLANK = "about:blank"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorType:
    """How one class of errors is represented."""

    error: type[AnubisError]
    name: str
    #: HTTP status.
    status: int
    title: str
    #: Attributes of the error that are members of the JSON object.
    members: tuple[str, ...] = ()

    @property
    def uri(self) -> str:
        return f"{PAGE}#{self.name}"


TYPES = (
    ErrorType(
        error=BadInputError,
        name="bad-input",
        status=400,
        title="The input cannot be accepted",
        members=("problems", "file"),
    ),
    ErrorType(error=NotFoundError, name="not-found", status=404, title="The name or id is unknown"),
    ErrorType(error=UnauthorizedError, name="unauthorized", status=401, title="A valid token is needed"),
    ErrorType(error=ForbiddenError, name="forbidden", status=403, title="The right to do this is missing"),
    ErrorType(
        error=QuotaError,
        name="quota",
        status=429,
        title="The quota of the project is used up",
        members=("again_after_s",),
    ),
    ErrorType(
        error=TooManyRequestsError,
        name="too-many-requests",
        status=429,
        title="Too many requests",
        members=("again_after_s",),
    ),
    ErrorType(error=PlugInError, name="plug-in", status=501, title="A plug-in is missing or broken"),
    ErrorType(error=CancelledError, name="cancelled", status=409, title="Runs of the command were cancelled"),
    ErrorType(error=UndecidedError, name="undecided", status=409, title="The runs do not allow a decision"),
    ErrorType(error=ConflictError, name="conflict", status=409, title="Another writer changed it first"),
    ErrorType(error=LeaseLostError, name="lease-lost", status=409, title="Another reconciler has the lease"),
    ErrorType(
        error=ElsewhereError,
        name="elsewhere",
        status=409,
        title="The placement or record is on another machine",
    ),
    ErrorType(
        error=NoCapacityError,
        name="no-capacity",
        status=503,
        title="The engine has no capacity now",
        members=("again_after_s",),
    ),
    ErrorType(
        error=NotReadyError,
        name="not-ready",
        status=503,
        title="The engine cannot place the run yet",
        members=("again_after_s",),
    ),
    ErrorType(
        error=RevokedError, name="revoked", status=409, title="The attempt was revoked before it started"
    ),
    ErrorType(
        error=SourceError,
        name="source",
        status=502,
        title="Data cannot be fetched",
        members=("cause", "temporary", "again_after_s"),
    ),
    ErrorType(
        error=StageError, name="stage", status=500, title="A stage cannot continue", members=("cause",)
    ),
    ErrorType(
        error=NotifyError,
        name="notify",
        status=502,
        title="A notice cannot be delivered",
        members=("again_after_s", "permanent"),
    ),
    ErrorType(error=FullError, name="full", status=507, title="The disk or the quota is full"),
    ErrorType(
        error=DamagedDatabaseError, name="damaged-database", status=500, title="The database is damaged"
    ),
    ErrorType(
        error=DamagedSamplesError,
        name="damaged-samples",
        status=500,
        title="Stored samples of a run are damaged",
    ),
    ErrorType(error=ReadOnlyError, name="read-only", status=503, title="The store cannot be written"),
    ErrorType(error=StoreError, name="store", status=503, title="The database cannot be used now"),
    ErrorType(error=AnubisError, name="error", status=500, title="The request failed"),
)
_BY_URI = {each.uri: each for each in TYPES}


def error_to_json(
    message: str, remedy: str, exit_code: int, *, file: str = "", problems: Sequence[Problem] = ()
) -> Json:
    """The object that a command with ``--json`` prints on standard error."""
    return {
        "error": message,
        "remedy": remedy,
        "exit_code": exit_code,
        "file": file,
        "problems": [problem_to_json(problem) for problem in problems],
    }


def problem_details(error: Exception) -> Json:
    """The error as problem details, without the message of an error that is not an ``AnubisError``."""
    if not isinstance(error, AnubisError):
        return {"type": BLANK, "title": "Internal Server Error", "status": 500, "detail": ""}
    kind = next(each for each in TYPES if isinstance(error, each.error))
    return {
        "type": kind.uri,
        "title": kind.title,
        "status": kind.status,
        "detail": error.message,
        "remedy": error.remedy,
        **{name: _member_to_json(getattr(error, name)) for name in kind.members},
    }


def error_of(details: Mapping[str, Any]) -> AnubisError:
    """The error of problem details; an ``AnubisError`` for a type that this version does not know."""
    message = str(details.get("detail") or details.get("title") or f"HTTP status {details.get('status')}")
    remedy = str(details.get("remedy", ""))
    kind = _BY_URI.get(str(details.get("type")))
    if kind is None:
        return AnubisError(message, remedy=remedy)
    try:
        members = {name: _READERS[name](details[name]) for name in kind.members}
    except (LookupError, TypeError, ValueError):  # another version wrote it
        return AnubisError(message, remedy=remedy)
    return kind.error(message, remedy=remedy, **members)


def reference() -> str:
    """Every type as a Markdown section."""
    parts = []
    for each in TYPES:
        members = ", ".join(f"`{name}`" for name in each.members)
        extra = f" Additional members: {members}." if members else ""
        parts.append(
            f"## {each.name}\n\n{each.title} (`{each.error.__name__}`). HTTP status {each.status}.{extra}"
        )
    return "\n\n".join(parts)


def _member_to_json(value: Any) -> Any:
    if isinstance(value, tuple):
        return [problem_to_json(problem) for problem in value]
    return value


#: Member -> the attribute that it is read as.
_READERS: Mapping[str, Any] = {
    "problems": lambda items: tuple(map(problem_from_json, items)),
    "file": str,
    "again_after_s": lambda value: value,
    "cause": Cause,
    "permanent": bool,
    "temporary": bool,
}
