"""Notifier ``gitlab``: one note on the merge request, updated in place.

API: https://docs.gitlab.com/api/notes/#merge-requests
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import quote, urlsplit

from anubis.contracts.world import Surroundings
from anubis.model.alert import Alert
from anubis.model.errors import NotifyError
from anubis.notifiers import forge
from anubis.notifiers.exchange import Answer, send, service_url, token
from anubis.reporting import alert_text
from anubis.reporting import gate_report as reports
from anubis.reporting.gate_report import Report
from anubis.reporting.markup import one_line


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLabSettings:
    """What an operator may set about GitLab."""

    #: ``GITLAB_TOKEN``: a project access token with scope ``api`` (the token of a CI job may not write notes).
    token: str = field(default="", repr=False)
    #: ``GITLAB_API_URL``, else ``CI_API_V4_URL``, which GitLab's CI sets.
    api_url: str = "https://gitlab.com/api/v4"

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        default = service_url(environ, "CI_API_V4_URL", "https://gitlab.com/api/v4")
        return cls(
            token=token(environ, "GITLAB_TOKEN"), api_url=service_url(environ, "GITLAB_API_URL", default)
        )

    @property
    def host(self) -> str:
        """The host of repositories whose API this is."""
        return urlsplit(self.api_url).hostname or ""


def build(surroundings: Surroundings) -> "GitLab":
    """The notifier as the entry point makes it."""
    del surroundings
    return GitLab(GitLabSettings.from_env(os.environ))


def post(report: Report, environ: Mapping[str, str], *, name: str = "Anubis") -> list[str]:
    """Write a gate's report to the merge request whose pipeline this is. The addresses of what was posted.

    Project and merge request come from the variables of GitLab's CI, never from the report. Raises NotifyError.
    """
    project = forge.needed(environ, "CI_PROJECT_ID", "the project (GitLab's CI does)")
    number = forge.needed(
        environ, "CI_MERGE_REQUEST_IID", "the merge request: run in a merge request pipeline"
    )
    gitlab = GitLab(GitLabSettings.from_env(environ))
    told = gitlab.note(project, number, f"report {name}", reports.markdown(report), new=report.has_changes)
    project_url = environ.get("CI_PROJECT_URL", "")
    return [f"{project_url}/-/merge_requests/{number}#note_{told}"] if told else []


class GitLab:
    """Tells alerts to ``gitlab:note``."""

    schemes = frozenset({"gitlab"})

    def __init__(self, settings: GitLabSettings) -> None:
        self._settings = settings

    def notify(self, to: str, alert: Alert) -> None:
        if to != "gitlab:note":
            raise NotifyError(
                f"{one_line(to, 80)!r} is nothing GitLab knows", permanent=True, remedy="write gitlab:note"
            )
        project = forge.repository_of(alert, self._settings.host).path
        number = self.merge_request_with(project, forge.commit_of(alert))
        if number is not None:
            self.note(
                project,
                number,
                f"alert {alert.id}",
                alert_text.markdown(alert),
                new=alert_text.is_open(alert),
            )

    def note(self, project: str, number: int | str, name: str, text: str, *, new: bool) -> int | None:
        """Update our note of that name; without one, write it if ``new``. Its id, None when there is none."""
        body = forge.marked(name, text)
        notes = f"/projects/{quote(project, safe='')}/merge_requests/{int(number)}/notes"
        with forge.expected_form("GitLab"):
            me = self._ask("GET", "/user").json()["id"]
            for one in self._pages(notes):
                # Anybody can write our marker; only our own notes can be updated.
                if one["author"]["id"] == me and one["body"].startswith(forge.marker(name)):
                    if one["body"].rstrip() != body.rstrip():
                        self._ask("PUT", f"{notes}/{one['id']}", {"body": body})
                    return int(one["id"])
            if not new:
                return None
            return int(self._ask("POST", notes, {"body": body}).json()["id"])

    def merge_request_with(self, project: str, commit: str) -> int | None:
        """The merge request that brought the commit, an open one first; None when it came another way."""
        path = f"/projects/{quote(project, safe='')}/repository/commits/{commit}/merge_requests"
        with forge.expected_form("GitLab"):
            found = self._ask("GET", path).json()
            ranked = sorted((one["state"] != "opened", int(one["iid"])) for one in found)
            return ranked[0][1] if ranked else None

    def _pages(self, path: str) -> Iterator[Any]:
        for page in range(1, forge.MOST_PAGES + 1):
            query = f"order_by=created_at&sort=asc&per_page={forge.PER_PAGE}&page={page}"
            found = self._ask("GET", f"{path}?{query}").json()
            yield from found
            if len(found) < forge.PER_PAGE:
                return

    def _ask(self, method: str, path: str, body: Any = None) -> Answer:
        if not self._settings.token:
            raise NotifyError("no token for GitLab is known", permanent=True, remedy="set GITLAB_TOKEN")
        return send(
            method, self._settings.api_url + path, body, headers={"PRIVATE-TOKEN": self._settings.token}
        )
