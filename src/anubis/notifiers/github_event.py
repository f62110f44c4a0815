"""Commit and pull request of a GitHub Actions workflow, from the event file.

GitHub writes the event file; it is the only source because the code of a pull request cannot change it.

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
    """The commit and pull request of a report."""

    #: ``owner/name``.
    repository: str
    commit: str
    #: Number of the pull request, if the event contains it.
    number: int | None = None
    #: ``owner:branch`` to look up the pull request if the event does not contain its number; empty: none.
    head: str = ""


def target(environ: Mapping[str, str]) -> Target:
    """The target of the event that started this workflow. Raises a permanent NotifyError if there is none."""
    name = needed(environ, "GITHUB_EVENT_NAME", "the event's name (GitHub Actions does)")
    path = needed(environ, "GITHUB_EVENT_PATH", "the event's file (GitHub Actions does)")
    try:
        event = json.loads(Path(path).read_bytes())
    except (OSError, ValueError):
        raise NotifyError(
            "the event of GitHub Actions cannot be read", permanent=True, remedy="check GITHUB_EVENT_PATH"
        ) from None
    with expected_form("GitHub Actions"):
        parsed = _target(name, event)
    is_valid = re.fullmatch(r"[\w.-]+/[\w.-]+", parsed.repository, re.ASCII)
    if not is_valid or not re.fullmatch(r"[0-9a-f]{40,64}", parsed.commit):
        raise NotifyError("the event of GitHub Actions has no commit", permanent=True)
    return parsed


def _target(name: str, event: Any) -> Target:
    repository = event["repository"]["full_name"]
    if name in ("pull_request", "pull_request_target"):
        pull = event["pull_request"]
        return Target(repository=repository, commit=pull["head"]["sha"], number=int(pull["number"]))
    if name == "workflow_run":
        ended = event["workflow_run"]
        by_pull = ended["event"] in ("pull_request", "pull_request_target")
        # workflow_run.pull_requests is empty for forks, so all pull requests are looked up by their head.
        head = f"{ended['head_repository']['owner']['login']}:{ended['head_branch']}" if by_pull else ""
        return Target(repository=repository, commit=ended["head_sha"], head=head)
    if name == "push":
        return Target(repository=repository, commit=event["after"])
    raise NotifyError(
        f"posting is not supported for the event {name!r}",
        permanent=True,
        remedy="post from a workflow on pull_request, push or workflow_run",
    )
