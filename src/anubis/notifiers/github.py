"""Notifier ``github``: a check run on the commit, one comment on the pull request, both updated in place.

API: https://docs.github.com/en/rest/checks/runs, https://docs.github.com/en/rest/issues/comments
"""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from anubis.contracts.world import Surroundings
from anubis.model.alert import Alert, AlertState
from anubis.model.errors import NotifyError
from anubis.notifiers import forge
from anubis.notifiers.exchange import Answer, send, service_url, token
from anubis.notifiers.github_event import Target, target
from anubis.reporting import alert_text
from anubis.reporting import gate_report as reports
from anubis.reporting.gate_report import Report
from anubis.reporting.markup import one_line

_API = "https://api.github.com"


@dataclass(frozen=True, slots=True, kw_only=True)
class GitHubSettings:
    """What an operator may set about GitHub; GitHub Actions sets the address itself."""

    #: ``GITHUB_TOKEN``: check runs need the token of an app, GitHub Actions' own or another (checks: write,
    #: pull-requests: write).
    token: str = field(default="", repr=False)
    #: ``GITHUB_API_URL``: another one for GitHub Enterprise Server (``https://HOST/api/v3``).
    api_url: str = _API

    @classmethod
    def from_env(cls, environ: Mapping[str, str]) -> Self:
        api_url = service_url(environ, "GITHUB_API_URL", _API)
        return cls(token=token(environ, "GITHUB_TOKEN"), api_url=api_url)

    @property
    def host(self) -> str:
        """The host of repositories whose API this is."""
        return (urlsplit(self.api_url).hostname or "").removeprefix("api.")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRun:
    """A check run as we want it to be."""

    name: str
    external_id: str
    #: success, failure or neutral.
    conclusion: str
    title: str
    summary: str


def build(surroundings: Surroundings) -> "GitHub":
    """The notifier as the entry point makes it."""
    del surroundings
    return GitHub(GitHubSettings.from_env(os.environ))


def post(
    report: Report,
    environ: Mapping[str, str],
    *,
    name: str = "Anubis",
    check: bool = True,
    comment: bool = True,
) -> list[str]:
    """Post a gate's report from inside GitHub Actions: the trusted step. The addresses of what was posted.

    Commit and pull request come from the event, never from the report. A comment appears only when something
    changed; one that is there is updated. ``name`` keeps several gates of one repository apart.
    Raises NotifyError.
    """
    where = target(environ)
    github = GitHub(GitHubSettings.from_env(environ))
    posted = []
    if check:
        conclusion = "failure" if report.is_bad else "neutral" if report.is_undecided else "success"
        wanted = CheckRun(
            name=name,
            external_id=f"anubis-report:{name}",
            conclusion=conclusion,
            title=reports.title(report),
            summary=reports.markdown(report),
        )
        posted.append(github.check(where.repository, where.commit, wanted))
    if comment and (number := github.pull_request(where)):
        text = reports.markdown(report)
        posted.append(
            github.comment(where.repository, number, f"report {name}", text, new=report.has_changes)
        )
    return [address for address in posted if address]


class GitHub:
    """Tells alerts to ``github:check`` and ``github:comment``."""

    schemes = frozenset({"github"})

    def __init__(self, settings: GitHubSettings) -> None:
        self._settings = settings
        #: The user of our token; empty for an app's, None before it was asked for.
        self._login: str | None = None

    def notify(self, to: str, alert: Alert) -> None:
        repository = forge.repository_of(alert, self._settings.host).path
        commit = forge.commit_of(alert)
        if to == "github:check":
            self.check(repository, commit, _check_run(alert))
        elif to == "github:comment":
            number = self.pull_request_with(repository, commit)
            if number is not None:
                text = alert_text.markdown(alert)
                self.comment(repository, number, f"alert {alert.id}", text, new=alert_text.is_open(alert))
        else:
            raise NotifyError(
                f"{one_line(to, 80)!r} is nothing GitHub knows",
                permanent=True,
                remedy="write github:check or github:comment",
            )

    def check(self, repository: str, commit: str, wanted: CheckRun) -> str:
        """Create the check run, or update the one with the same ``external_id``; its address."""
        body = {
            "name": wanted.name,
            "external_id": wanted.external_id,
            "status": "completed",
            "conclusion": wanted.conclusion,
            "output": {"title": wanted.title, "summary": wanted.summary[: forge.MOST_CHARACTERS]},
        }
        query = urlencode({"check_name": wanted.name, "filter": "all", "per_page": forge.PER_PAGE})
        with forge.expected_form("GitHub"):
            found = self._ask("GET", f"/repos/{repository}/commits/{commit}/check-runs?{query}").json()
            ours = [run["id"] for run in found["check_runs"] if run["external_id"] == wanted.external_id]
            if ours:
                answer = self._ask("PATCH", f"/repos/{repository}/check-runs/{max(ours)}", body)
            else:
                answer = self._ask("POST", f"/repos/{repository}/check-runs", {**body, "head_sha": commit})
            return str(answer.json()["html_url"])

    def comment(self, repository: str, number: int, name: str, text: str, *, new: bool) -> str:
        """Update our comment of that name; without one, write it if ``new``. Its address, empty when there is none."""
        body = forge.marked(name, text)
        with forge.expected_form("GitHub"):
            for one in self._pages(f"/repos/{repository}/issues/{number}/comments"):
                if (one["body"] or "").startswith(forge.marker(name)) and self._is_ours(one):
                    if one["body"].replace("\r\n", "\n").rstrip() != body.rstrip():
                        self._ask("PATCH", f"/repos/{repository}/issues/comments/{one['id']}", {"body": body})
                    return str(one["html_url"])
            if not new:
                return ""
            answer = self._ask("POST", f"/repos/{repository}/issues/{number}/comments", {"body": body})
            return str(answer.json()["html_url"])

    def pull_request(self, where: Target) -> int | None:
        """The open pull request whose head still is the target's commit; None: there is none (any more)."""
        if where.number is not None or not where.head:
            return where.number
        query = urlencode({"state": "open", "head": where.head, "per_page": forge.PER_PAGE})
        with forge.expected_form("GitHub"):
            pulls = self._ask("GET", f"/repos/{where.repository}/pulls?{query}").json()
            numbers = [int(pull["number"]) for pull in pulls if pull["head"]["sha"] == where.commit]
            return min(numbers, default=None)

    def pull_request_with(self, repository: str, commit: str) -> int | None:
        """The pull request that brought the commit, an open one first; None when it came another way."""
        with forge.expected_form("GitHub"):
            pulls = self._ask("GET", f"/repos/{repository}/commits/{commit}/pulls").json()
            ranked = sorted((pull["state"] != "open", int(pull["number"])) for pull in pulls)
            return ranked[0][1] if ranked else None

    def _is_ours(self, comment: Any) -> bool:
        """Written by an app, as tokens of GitHub Actions are, or by the very user of our token.

        Anybody can write our marker, and this token may edit anybody's comment.
        """
        author = comment["user"] or {}
        if author.get("type") == "Bot":
            return True
        if self._login is None:
            me = self._ask("GET", "/user", accept=(401, 403, 404))
            self._login = str(me.json()["login"]) if me.status == 200 else ""
        return bool(self._login and self._login == author.get("login"))

    def _pages(self, path: str) -> Iterator[Any]:
        for page in range(1, forge.MOST_PAGES + 1):
            found = self._ask("GET", f"{path}?per_page={forge.PER_PAGE}&page={page}").json()
            yield from found
            if len(found) < forge.PER_PAGE:
                return

    def _ask(self, method: str, path: str, body: Any = None, *, accept: tuple[int, ...] = ()) -> Answer:
        if not self._settings.token:
            raise NotifyError("no token for GitHub is known", permanent=True, remedy="set GITHUB_TOKEN")
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self._settings.token}",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return send(method, self._settings.api_url + path, body, headers=headers, accept=accept)


def _check_run(alert: Alert) -> CheckRun:
    conclusion = "failure" if alert_text.is_bad(alert) else "success"
    if alert.state is AlertState.MUTED or (alert_text.is_open(alert) and not alert_text.is_bad(alert)):
        conclusion = "neutral"
    return CheckRun(
        name=f"Anubis: {one_line(alert.benchmark, 80)}",
        external_id=f"anubis-alert:{alert.id}",
        conclusion=conclusion,
        title=alert_text.title(alert),
        summary=alert_text.markdown(alert),
    )
