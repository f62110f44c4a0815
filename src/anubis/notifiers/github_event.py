"""Where GitHub Actions says that it runs. GitHub writes the event's file; nothing of it comes from a pull request's
code, so commit and pull request are taken from here and from nowhere else.

Events: https://docs.github.com/en/actions/reference/workflows-and-actions/events-that-trigger-workflows
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anubis.model.errors import NotifyError
from anubis.notifiers.forge import expected_form, needed


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """What a report is about."""

    #: ``owner/name``.
    repository: str
    commit: str
    #: Number of the pull request when the event says it.
    number: int | None = None
    #: ``owner:branch`` by which the pull request can be looked up when the event does not; empty: there is none.
    head: str = ""


def target(environ: Mapping[str, str]) -> Target:
    """The target of the event that started this workflow; a permanent NotifyError when it has none."""
    name = needed(environ, "GITHUB_EVENT_NAME", "the event's name (GitHub Actions does)")
    path = needed(environ, "GITHUB_EVENT_PATH", "the event's file (GitHub Actions does)")
    try:
        event = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        raise NotifyError(
            "the event of GitHub Actions cannot be read", permanent=True, remedy="check GITHUB_EVENT_PATH"
        ) from None
    with expected_form("GitHub Actions"):
        found = _target(name, event)
    legal = re.fullmatch(r"[\w.-]+/[\w.-]+", found.repository, re.ASCII)
    if not legal or not re.fullmatch(r"[0-9a-f]{40,64}", found.commit):
        raise NotifyError("the event of GitHub Actions names no commit", permanent=True)
    return found


def _target(name: str, event: Any) -> Target:
    repository = event["repository"]["full_name"]
    if name in ("pull_request", "pull_request_target"):
        pull = event["pull_request"]
        return Target(repository=repository, commit=pull["head"]["sha"], number=int(pull["number"]))
    if name == "workflow_run":
        ended = event["workflow_run"]
        by_pull = ended["event"] in ("pull_request", "pull_request_target")
        # workflow_run.pull_requests is empty for pull requests from forks, so they are all looked up by their head.
        head = f"{ended['head_repository']['owner']['login']}:{ended['head_branch']}" if by_pull else ""
        return Target(repository=repository, commit=ended["head_sha"], head=head)
    if name == "push":
        return Target(repository=repository, commit=event["after"])
    raise NotifyError(
        f"nothing can be posted for the event {name!r}",
        permanent=True,
        remedy="post from a workflow on pull_request, push or workflow_run",
    )
