"""Notifier ``gitlab``: one note on the merge request, updated in place.

API: https://docs.gitlab.com/api/notes/#merge-requests
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
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
from anubis.settings import load, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class GitLabSettings:
    """Settings of the notifier."""

    #: Project access token with scope `api` (the token of a CI pipeline may not write notes); text; none
    token: str = setting("GITLAB_TOKEN", default="", read=token, secret=True)
    #: `https://HOST/api/v4`; URL; `CI_API_V4_URL`, else `https://gitlab.com/api/v4`
    api_url: str = setting(
        "GITLAB_API_URL", "CI_API_V4_URL", default="https://gitlab.com/api/v4", read=service_url
    )

    @property
    def host(self) -> str:
        """The host of the repositories that this API serves."""
        return urlsplit(self.api_url).hostname or ""


def build(surroundings: Surroundings) -> "GitLab":
    """Build the notifier; its entry point names this function."""
    return GitLab(load(GitLabSettings, surroundings.environ))


def post(report: Report, environ: Mapping[str, str], *, name: str = "Anubis") -> list[str]:
    """Post the report of a gate to the merge request of this pipeline. Returns the addresses of the posts.

    Project and merge request come from the variables of GitLab CI, never from the report. Raises NotifyError.
    """
    project = forge.needed(environ, "CI_PROJECT_ID", "the project (GitLab's CI does)")
    number = forge.needed(
        environ, "CI_MERGE_REQUEST_IID", "the merge request: run in a merge request pipeline"
    )
    gitlab = GitLab(load(GitLabSettings, environ))
    note_id = gitlab.note(project, number, f"report {name}", reports.markdown(report), new=report.has_changes)
    project_url = environ.get("CI_PROJECT_URL", "")
    return [f"{project_url}/-/merge_requests/{number}#note_{note_id}"] if note_id else []


class GitLab:
    """Posts alerts to ``gitlab:note``."""

    def __init__(self, settings: GitLabSettings) -> None:
        self._settings = settings

    def notify(self, to: str, alert: Alert) -> None:
        if to != "gitlab:note":
            raise NotifyError(
                f"{one_line(to, 80)!r} is not a valid GitLab address",
                permanent=True,
                remedy="write gitlab:note",
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
        """Update the note with that name, or create it if ``new``. Returns its id, None without a note."""
        body = forge.marked(name, text)
        notes = f"/projects/{quote(project, safe='')}/merge_requests/{int(number)}/notes"
        with forge.expected_form("GitLab"):
            me = self._ask("GET", "/user").json()["id"]
            for one in self._pages(notes):
                # Any user can write the marker; only notes of this user can be updated.
                if one["author"]["id"] == me and one["body"].startswith(forge.marker(name)):
                    if one["body"].rstrip() != body.rstrip():
                        self._ask("PUT", f"{notes}/{one['id']}", {"body": body})
                    return int(one["id"])
            if not new:
                return None
            return int(self._ask("POST", notes, {"body": body}).json()["id"])

    def merge_request_with(self, project: str, commit: str) -> int | None:
        """The merge request that contains the commit, preferably an open one; None without a merge request."""
        path = f"/projects/{quote(project, safe='')}/repository/commits/{commit}/merge_requests"
        with forge.expected_form("GitLab"):
            found = self._ask("GET", path).json()
            ranked = sorted((one["state"] != "opened", int(one["iid"])) for one in found)
            return ranked[0][1] if ranked else None

    def _pages(self, path: str) -> Iterator[Any]:
        for page in range(1, forge.MAX_PAGES + 1):
            query = f"order_by=created_at&sort=asc&per_page={forge.PER_PAGE}&page={page}"
            found = self._ask("GET", f"{path}?{query}").json()
            yield from found
            if len(found) < forge.PER_PAGE:
                return

    def _ask(self, method: str, path: str, body: Any = None) -> Answer:
        if not self._settings.token:
            raise NotifyError(
                "cannot post to GitLab: no token is configured", permanent=True, remedy="set GITLAB_TOKEN"
            )
        return send(
            method, self._settings.api_url + path, body, headers={"PRIVATE-TOKEN": self._settings.token}
        )
