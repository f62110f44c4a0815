"""Shared code for GitHub and GitLab: repositories, commits, and comments with a marker."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from anubis.model.alert import Alert
from anubis.model.errors import NotifyError
from anubis.reporting.markup import one_line, short_subject

#: Maximum length of a comment; GitHub allows 65,536 characters, GitLab 1,000,000.
MAX_CHARACTERS = 60_000
PER_PAGE = 100
#: Maximum number of pages that are searched for an existing comment.
MAX_PAGES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository: host and path (``owner/name``, with further groups on GitLab)."""

    host: str
    path: str


def repository(address: str) -> Repository | None:
    """Parse ``https://host/owner/name``, ``git@host:owner/name.git`` or ``ssh://``; None if it is another form."""
    try:
        scp = re.fullmatch(r"[\w.-]+@([\w.-]+):([^:]+)", address)
        parts = urlsplit(f"ssh://{scp[1]}/{scp[2]}" if scp else address)
        host = (parts.hostname or "").lower()
    except ValueError:
        return None
    path = parts.path.strip("/").removesuffix(".git")
    pieces = path.split("/")
    if parts.scheme not in ("https", "http", "ssh") or not host or len(pieces) < 2:
        return None
    if not all(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", piece) for piece in pieces):
        return None
    return Repository(host=host, path=path)


def repository_of(alert: Alert, host: str) -> Repository:
    """The repository of the alert. Raises a permanent NotifyError if it is not on ``host``."""
    parsed = repository(alert.repository)
    if parsed is None or parsed.host != host:
        raise NotifyError(
            f"benchmark {one_line(alert.benchmark, 80)} has no repository on {host}",
            permanent=True,
            remedy=f"set subject.repository in the descriptor to https://{host}/OWNER/NAME",
        )
    return parsed


def commit_of(alert: Alert) -> str:
    """The first new commit of the alert. Raises a permanent NotifyError if its subject is not a commit."""
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", alert.first_new):
        raise NotifyError(
            f"the subject {short_subject(alert.first_new) or '(none)'} is not a published commit",
            permanent=True,
            remedy='set subject.commit = "auto" in the descriptor and commit before measuring',
        )
    return alert.first_new


def marker(name: str) -> str:
    """The invisible marker that identifies a comment: a digest, because a name could end the HTML comment."""
    return f"<!-- anubis:{hashlib.sha256(name.encode()).hexdigest()[:16]} -->"


def marked(name: str, text: str) -> str:
    """The text of a comment after its marker."""
    return f"{marker(name)}\n{text[:MAX_CHARACTERS]}"


@contextmanager
def expected_form(service: str) -> Iterator[None]:
    """Convert errors from an undocumented response format to a temporary NotifyError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise NotifyError(
            f"the response of {service} does not have the documented format",
            remedy="check the address of the API",
        ) from None


def needed(values: Mapping[str, str], name: str, meaning: str) -> str:
    """A required value. Raises a permanent NotifyError if it is not set."""
    if not values.get(name):
        raise NotifyError(f"{name} is not set", permanent=True, remedy=f"set it to {meaning}")
    return values[name]
