"""What a report says was changed. Reports contain much more, and their forms grow: only what is needed is read."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any

from anubis.contracts.service.triggers import ChangeKind, Trigger, TriggerKind
from anubis.model.errors import BadInputError

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_NAME = re.compile(r"[\w./:@+-]{1,300}")
_HEADS, _TAGS = "refs/heads/", "refs/tags/"
#: Longest id of a delivery; longer ones are replaced by their digest.
_LONGEST = 200
#: Most changes of one report.
_MOST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change that a report describes; ``kind`` None: one that starts nothing, for ``reason``."""

    delivery: str
    kind: ChangeKind | None
    repository: str = ""
    #: Branch or tag.
    name: str = ""
    commit: str = ""
    #: When the commit was made, UTC seconds; None: unknown.
    time_s: float | None = None
    #: Name of the image with its digest, or with its tag if the digest is unknown.
    image: str = ""
    reason: str = ""

    def __str__(self) -> str:
        parts = (
            self.kind.value if self.kind else "",
            self.repository,
            self.name,
            self.image or self.commit[:12],
        )
        return " ".join(filter(None, parts))


def read(kind: TriggerKind, headers: Mapping[str, str], body: bytes) -> list[Change]:
    """The changes of a report whose signature was checked. Raises BadInputError if it is not one of this kind."""
    try:
        plain = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise BadInputError("the report is not JSON", remedy="send it as application/json") from error
    if not isinstance(plain, dict):
        raise BadInputError("the report is not a JSON object", remedy="send it as application/json")
    if kind is TriggerKind.GITHUB:
        return [_github(headers, plain, body)]
    if kind is TriggerKind.GITLAB:
        return [_gitlab(headers, plain, body)]
    return _registry(plain, body)


def why_not(trigger: Trigger, change: Change) -> str:
    """Why the trigger does not start its descriptors for a change; empty: it does."""
    if change.kind is None:
        return change.reason
    if change.kind not in trigger.changes:
        return f"the trigger is not for {change.kind.value}"
    if not any(fnmatchcase(change.name, pattern) for pattern in trigger.patterns):
        return f"{change.name!r} matches none of its patterns"
    if not any(fnmatchcase(change.repository, pattern) for pattern in trigger.repositories):
        return f"{change.repository!r} is not one of its repositories"
    return ""


def _github(headers: Mapping[str, str], plain: Mapping[str, Any], body: bytes) -> Change:
    delivery = _delivery(headers.get("x-github-delivery", ""), body)
    event = headers.get("x-github-event", "")
    if event != "push":
        return Change(delivery=delivery, kind=None, reason=f"events of type {event[:50]!r} start nothing")
    head = _part(plain, "head_commit")
    return _pushed(
        delivery,
        ref=_text(plain, "ref"),
        commit=_text(head, "id") or _text(plain, "after"),
        repository=_text(_part(plain, "repository"), "full_name"),
        is_deleted=plain.get("deleted") is True,
        time=_text(head, "timestamp"),
    )


def _gitlab(headers: Mapping[str, str], plain: Mapping[str, Any], body: bytes) -> Change:
    number = headers.get("webhook-id") or headers.get("idempotency-key") or headers.get("x-gitlab-event-uuid")
    delivery = _delivery(number or "", body)
    event = _text(plain, "object_kind")
    if event not in {"push", "tag_push"}:
        return Change(delivery=delivery, kind=None, reason=f"events of type {event[:50]!r} start nothing")
    commit = _text(plain, "checkout_sha")
    commits = plain.get("commits")
    times = {
        _text(each, "id"): _text(each, "timestamp")
        for each in (commits[:1000] if isinstance(commits, list) else ())
        if isinstance(each, dict)
    }
    return _pushed(
        delivery,
        ref=_text(plain, "ref"),
        commit=commit,
        repository=_text(_part(plain, "project"), "path_with_namespace"),
        is_deleted=not commit,
        time=times.get(commit, ""),
    )


def _pushed(delivery: str, *, ref: str, commit: str, repository: str, is_deleted: bool, time: str) -> Change:
    if is_deleted:
        return Change(delivery=delivery, kind=None, reason=f"{ref[:100]!r} was deleted")
    is_tag = ref.startswith(_TAGS)
    name = ref.removeprefix(_TAGS if is_tag else _HEADS)
    if not _COMMIT.fullmatch(commit) or name == ref or not _NAME.fullmatch(name):
        raise BadInputError(
            "the report names no commit of a branch or tag", remedy="send events of type push"
        )
    kind = ChangeKind.TAG if is_tag else ChangeKind.PUSH
    return Change(
        delivery=delivery,
        kind=kind,
        repository=repository,
        name=name,
        commit=commit,
        time_s=_seconds(time),
    )


def _registry(plain: Mapping[str, Any], body: bytes) -> list[Change]:
    """Notifications of an OCI registry, or the report of Docker Hub."""
    events = plain.get("events")
    if isinstance(events, list):
        found = [
            _notification(event, f"{number}", body)
            for number, event in enumerate(events[:_MOST])
            if isinstance(event, dict)
        ]
        return found or [Change(delivery=_delivery("", body), kind=None, reason="it contains no events")]
    repository, tag = _text(_part(plain, "repository"), "repo_name"), _text(_part(plain, "push_data"), "tag")
    image = f"{repository}:{tag}"
    if not repository or not tag or not _NAME.fullmatch(image):
        raise BadInputError("the report names no image", remedy="send the notifications of a registry")
    return [
        Change(
            delivery=_delivery("", body), kind=ChangeKind.IMAGE, repository=repository, name=tag, image=image
        )
    ]


def _notification(event: Mapping[str, Any], number: str, body: bytes) -> Change:
    delivery = _delivery(_text(event, "id"), number.encode() + body)
    target = _part(event, "target")
    repository, tag, digest = (_text(target, name) for name in ("repository", "tag", "digest"))
    if event.get("action") != "push" or not tag:
        return Change(delivery=delivery, kind=None, reason="only a push of a tag starts runs")
    host = _text(_part(event, "request"), "host")
    image = f"{host}/{repository}@{digest}" if host else f"{repository}@{digest}"
    if not _DIGEST.fullmatch(digest) or not _NAME.fullmatch(image) or not _NAME.fullmatch(tag):
        return Change(delivery=delivery, kind=None, reason="it names no image with a digest")
    return Change(delivery=delivery, kind=ChangeKind.IMAGE, repository=repository, name=tag, image=image)


def _delivery(number: str, body: bytes) -> str:
    """The id of a delivery; the digest of the report if the sender gives none."""
    if number and len(number) <= _LONGEST and number.isprintable():
        return number
    return hashlib.sha256(number.encode("utf-8", "replace") + b"\0" + body).hexdigest()


def _text(plain: Mapping[str, Any], name: str) -> str:
    value = plain.get(name)
    return value if isinstance(value, str) else ""


def _part(plain: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = plain.get(name)
    return value if isinstance(value, dict) else {}


def _seconds(text: str) -> float | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.timestamp() if moment.tzinfo else None
    except (ValueError, OverflowError):
        return None
