"""What GitHub and GitLab have in common: repositories, commits, and one comment that is found again."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from urllib.parse import urlsplit

from anubis.model.alert import Alert
from anubis.model.errors import NotifyError
from anubis.reporting.markup import one_line, short_subject

#: GitHub takes 65,536 characters of a comment and GitLab 1,000,000; ours are far below, and stay so.
MOST_CHARACTERS = 60_000
PER_PAGE = 100
#: Comments beyond these pages are not searched for ours.
MOST_PAGES = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """Where code lives: the host, and the path there (``owner/name``, more groups on GitLab)."""

    host: str
    path: str


def repository(address: str) -> Repository | None:
    """Read ``https://host/owner/name``, ``git@host:owner/name.git`` or ``ssh://``; None when it is none of them."""
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
    """The alert's repository; a permanent NotifyError unless it lives on ``host``."""
    found = repository(alert.repository)
    if found is None or found.host != host:
        raise NotifyError(
            f"{one_line(alert.benchmark, 80)} names no repository on {host}",
            permanent=True,
            remedy=f"set subject.repository in the descriptor to https://{host}/OWNER/NAME",
        )
    return found


def commit_of(alert: Alert) -> str:
    """The alert's first new commit; a permanent NotifyError when its subject is none."""
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", alert.first_new):
        raise NotifyError(
            f"the subject {short_subject(alert.first_new) or '(none)'} is no commit that others could know",
            permanent=True,
            remedy='set subject.commit in the descriptor to "auto" and commit before you measure',
        )
    return alert.first_new


def marker(name: str) -> str:
    """What a comment is found by; nobody sees it. A digest, because a name could end the HTML comment."""
    return f"<!-- anubis:{hashlib.sha256(name.encode()).hexdigest()[:16]} -->"


def marked(name: str, text: str) -> str:
    """A comment's text behind its marker."""
    return f"{marker(name)}\n{text[:MOST_CHARACTERS]}"


@contextmanager
def expected_form(service: str) -> Iterator[None]:
    """An answer of another form than the API documents becomes a temporary NotifyError."""
    try:
        yield
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise NotifyError(
            f"{service} answered in a form that its API does not document",
            remedy="check the address of the API",
        ) from None


def needed(values: Mapping[str, str], name: str, place: str) -> str:
    """A value that must be there; a permanent NotifyError otherwise."""
    if not values.get(name):
        raise NotifyError(f"{name} is not set", permanent=True, remedy=f"set it to {place}")
    return values[name]
