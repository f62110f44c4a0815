"""Local servers with the APIs of GitHub and GitLab: they check requests and send answers according to the documentation.
Behaviour that is not documented is not simulated.

GitHub: https://docs.github.com/en/rest/checks/runs, .../rest/issues/comments, .../rest/pulls, .../rest/commits
GitLab: https://docs.gitlab.com/api/notes, .../api/commits, .../api/users
"""

import itertools
import re
from contextlib import contextmanager
from urllib.parse import unquote

from support.listener import Reply, listening

TOKEN = "ghs_" + "t" * 36
BOT = {"login": "github-actions[bot]", "type": "Bot"}
CONCLUSIONS = {"action_required", "cancelled", "failure", "neutral", "success", "skipped", "timed_out"}
#: GitHub's limits, in characters.
MOST_BODY, MOST_SUMMARY, MOST_TITLE = 65_536, 65_535, 255


class Forge:
    """Routes: a list of (method, pattern, function); functions take the request and the pattern's groups."""

    def __init__(self):
        self.ids = itertools.count(1)
        self.routes = []
        self.requests = []
        #: Replies to send instead, in this order.
        self.instead = []

    def answer(self, request):
        self.requests.append(request)
        if self.instead:
            return self.instead.pop(0)
        if not self.is_authorised(request):
            return Reply(401, {"message": "Bad credentials"})
        for method, pattern, function in self.routes:
            match = re.fullmatch(pattern, request.path)
            if match and method == request.method:
                return function(request, *match.groups())
        return Reply(404, {"message": "Not Found"})

    @contextmanager
    def running(self):
        with listening(self.answer) as server:
            yield server

    def written(self):
        """Methods and paths of the requests that wrote something."""
        return [(request.method, request.path) for request in self.requests if request.method != "GET"]


def page_of(request, rows, *, most=100):
    size = min(most, int(request.query.get("per_page", ["30"])[0]))
    first = (int(request.query.get("page", ["1"])[0]) - 1) * size
    return Reply(200, rows[first : first + size])


class GitHubApi(Forge):
    def __init__(self):
        super().__init__()
        self.checks, self.comments, self.pulls, self.commits = [], [], [], {}
        self.me = BOT
        repository = r"/repos/([\w.-]+/[\w.-]+)"
        self.routes = [
            ("GET", rf"{repository}/commits/([0-9a-f]{{40}})/check-runs", self.list_checks),
            ("POST", rf"{repository}/check-runs", self.create_check),
            ("PATCH", rf"{repository}/check-runs/(\d+)", self.update_check),
            ("GET", rf"{repository}/issues/(\d+)/comments", self.list_comments),
            ("POST", rf"{repository}/issues/(\d+)/comments", self.create_comment),
            ("PATCH", rf"{repository}/issues/comments/(\d+)", self.update_comment),
            ("GET", rf"{repository}/pulls", self.list_pulls),
            ("GET", rf"{repository}/commits/([0-9a-f]{{40}})/pulls", self.pulls_of_commit),
            ("GET", "/user", self.user),
        ]

    def is_authorised(self, request):
        headers = request.headers
        assert headers["accept"] == "application/vnd.github+json"
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", headers["x-github-api-version"])
        assert headers["user-agent"], "GitHub refuses requests without a user agent"
        return headers["authorization"] == f"Bearer {TOKEN}"

    def user(self, request):
        if self.me["type"] == "Bot":
            return Reply(403, {"message": "Resource not accessible by integration"})
        return Reply(200, self.me)

    def list_checks(self, request, repository, commit):
        assert request.query["filter"] in (["all"], ["latest"])
        name = request.query["check_name"][0]
        found = [check for check in self.checks if check["head_sha"] == commit and check["name"] == name]
        return Reply(200, {"total_count": len(found), "check_runs": found})

    def create_check(self, request, repository):
        check = request.json()
        if not check.get("name") or not re.fullmatch("[0-9a-f]{40}", check.get("head_sha", "")):
            return Reply(422, {"message": "Validation Failed"})
        self.checks.append({"id": next(self.ids), **checked(check), "html_url": "https://github.com/check"})
        return Reply(201, self.checks[-1])

    def update_check(self, request, repository, number):
        changes = checked(request.json())
        assert "head_sha" not in changes, "a check run stays at its commit"
        check = next(one for one in self.checks if one["id"] == int(number))
        check.update(changes)
        return Reply(200, check)

    def list_comments(self, request, repository, number):
        return page_of(request, [one for one in self.comments if one["number"] == int(number)])

    def create_comment(self, request, repository, number):
        self.write(number, request.json()["body"], self.me)
        return Reply(201, self.comments[-1])

    def update_comment(self, request, repository, number):
        comment = next(one for one in self.comments if one["id"] == int(number))
        comment["body"] = body_of(request)
        return Reply(200, comment)

    def write(self, number, body, user):
        """Add a comment of any author."""
        assert len(body) <= MOST_BODY
        address = f"https://github.com/comment/{len(self.comments)}"
        comment = {
            "id": next(self.ids),
            "number": int(number),
            "body": body,
            "user": user,
            "html_url": address,
        }
        self.comments.append(comment)

    def list_pulls(self, request, repository):
        owner, _, branch = request.query["head"][0].partition(":")
        assert owner, "without an owner GitHub ignores the filter and answers with every pull request"
        assert branch
        found = [pull for pull in self.pulls if pull["head"]["label"] == f"{owner}:{branch}"]
        return page_of(request, [pull for pull in found if pull["state"] == request.query["state"][0]])

    def pulls_of_commit(self, request, repository, commit):
        return Reply(200, self.commits.get(commit, []))


def checked(check):
    """Check the fields of a check run against GitHub's documentation."""
    assert check["conclusion"] in CONCLUSIONS
    assert check["status"] == "completed"
    assert 0 < len(check["output"]["title"]) <= MOST_TITLE
    assert 0 < len(check["output"]["summary"]) <= MOST_SUMMARY
    return check


def body_of(request):
    body = request.json()["body"]
    assert 0 < len(body) <= MOST_BODY
    return body


class GitLabApi(Forge):
    def __init__(self):
        super().__init__()
        self.notes, self.commits = [], {}
        self.me = {"id": 42, "username": "project_7_bot"}
        #: GitLab takes a project's number, or its path with the slashes encoded.
        project = r"/api/v4/projects/(\d+|[\w.-]+(?:%2F[\w.-]+)+)"
        self.routes = [
            ("GET", "/api/v4/user", lambda request: Reply(200, self.me)),
            ("GET", rf"{project}/merge_requests/(\d+)/notes", self.list_notes),
            ("POST", rf"{project}/merge_requests/(\d+)/notes", self.create_note),
            ("PUT", rf"{project}/merge_requests/(\d+)/notes/(\d+)", self.update_note),
            (
                "GET",
                rf"{project}/repository/commits/([0-9a-f]{{40}})/merge_requests",
                self.requests_of_commit,
            ),
        ]

    def is_authorised(self, request):
        return request.headers.get("private-token") == TOKEN

    def list_notes(self, request, project, number):
        assert request.query["sort"] == ["asc"]
        place = (unquote(project), int(number))
        return page_of(request, [note for note in self.notes if note["place"] == place])

    def create_note(self, request, project, number):
        self.write(unquote(project), number, request.json()["body"], self.me)
        return Reply(201, self.notes[-1])

    def update_note(self, request, project, number, note_id):
        note = next(one for one in self.notes if one["id"] == int(note_id))
        if note["author"] != self.me:
            return Reply(403, {"message": "403 Forbidden"})
        note["body"] = request.json()["body"].rstrip()
        return Reply(200, note)

    def write(self, project, number, body, author):
        """Add a note of any author; GitLab strips white space at its end."""
        assert not re.search(r"(?m)^/\w", body), "a line that begins with a slash is a command to GitLab"
        place = (project, int(number))
        self.notes.append({"id": next(self.ids), "place": place, "body": body.rstrip(), "author": author})

    def requests_of_commit(self, request, project, commit):
        return Reply(200, self.commits.get(commit, []))
