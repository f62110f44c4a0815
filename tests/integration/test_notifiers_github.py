"""The notifier ``github`` and the trusted step against a local server.

The server (support/forges.py) checks what GitHub's documentation requires of each request and answers in the form
it documents. It is not GitHub.
"""

import json

import pytest

from anubis.model.alert import AlertKind, AlertState
from anubis.model.errors import NotifyError
from anubis.model.verdict import Judgement
from anubis.notifiers import github
from anubis.notifiers.github import GitHub, GitHubSettings
from anubis.reporting import report_file
from support.alerts import NEW, OLD, a_report, a_row, a_verdict, an_alert
from support.forges import BOT, TOKEN, GitHubApi
from support.listener import Reply

GOOD = a_report(a_verdict(judgement=Judgement.UNCHANGED, effect=0.001))
BAD = a_report(a_verdict())
UNDECIDED = a_report(a_verdict(judgement=Judgement.UNDECIDED))
#: On the local server the host of repositories is its own.
LOCAL = an_alert(repository="http://127.0.0.1/org/model")


@pytest.fixture
def api():
    return GitHubApi()


@pytest.fixture
def server(api):
    with api.running() as running:
        yield running


@pytest.fixture
def actions(server, tmp_path):
    """The environment of a workflow for an event."""

    def actions(name, event, **more):
        (tmp_path / "event.json").write_text(json.dumps({"repository": {"full_name": "org/model"}, **event}))
        return {
            "GITHUB_EVENT_NAME": name,
            "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
            "GITHUB_API_URL": server.url,
            "GITHUB_TOKEN": TOKEN,
            **more,
        }

    return actions


def pull(number, commit, label="fork:topic", state="open"):
    return {"number": number, "state": state, "head": {"sha": commit, "label": label}}


def workflow_run(commit=NEW, owner="fork", branch="topic", event="pull_request"):
    """What GitHub sends for a pull request from a fork: its list of pull requests is empty."""
    head = {"owner": {"login": owner}}
    ended = {
        "event": event,
        "head_sha": commit,
        "head_branch": branch,
        "head_repository": head,
        "pull_requests": [],
    }
    return {"workflow_run": ended}


def notifier(server):
    return GitHub(GitHubSettings(token=TOKEN, api_url=server.url))


def told(server, to, **fields):
    notifier(server).notify(to, an_alert(**{"repository": LOCAL.repository, **fields}))


def test_a_check_run_is_created_once_and_follows_the_alert(api, server):
    told(server, "github:check")
    told(server, "github:check")
    assert [(check["head_sha"], check["conclusion"]) for check in api.checks] == [(NEW, "failure")]
    assert "-4.4 % [-5.8, -3.1]" in api.checks[0]["output"]["summary"]
    told(server, "github:check", state=AlertState.ACCEPTED, actor="alice", why="meant")
    assert [check["conclusion"] for check in api.checks] == ["success"]
    assert "accepted as the new baseline" in api.checks[0]["output"]["title"]


@pytest.mark.parametrize(
    ("fields", "conclusion"),
    [
        ({}, "failure"),
        ({"state": AlertState.ACKNOWLEDGED}, "failure"),
        ({"state": AlertState.MUTED}, "neutral"),
        ({"state": AlertState.RESOLVED}, "success"),
        ({"kind": AlertKind.IMPROVEMENT}, "neutral"),
        ({"kind": AlertKind.FAILURE, "rows": ()}, "failure"),
        ({"kind": AlertKind.RECOVERY}, "success"),
    ],
)
def test_the_conclusion_is_that_of_the_alert(api, server, fields, conclusion):
    told(server, "github:check", **fields)
    assert api.checks[0]["conclusion"] == conclusion


def test_alerts_of_other_benchmarks_have_check_runs_of_their_own(api, server):
    told(server, "github:check")
    told(server, "github:check", id="f" * 16, benchmark="other")
    assert {check["name"] for check in api.checks} == {"Anubis: resnet50-train", "Anubis: other"}


def test_one_comment_follows_the_alert(api, server):
    api.commits[NEW] = [pull(7, NEW, state="closed"), pull(9, OLD)]
    told(server, "github:comment")
    told(server, "github:comment")
    assert api.written() == [("POST", "/repos/org/model/issues/9/comments")]
    told(server, "github:comment", state=AlertState.RESOLVED, why="reverted")
    (comment,) = api.comments
    assert comment["body"].startswith("<!-- anubis:")
    assert "regression resolved" in comment["body"]
    assert "No action is needed." in comment["body"]


def test_good_news_alone_write_no_comment(api, server):
    api.commits[NEW] = [pull(7, NEW)]
    told(server, "github:comment", state=AlertState.RESOLVED)
    assert api.written() == []


def test_a_commit_without_a_pull_request_needs_no_comment(api, server):
    told(server, "github:comment")
    assert api.written() == []


def test_our_comment_is_found_behind_hundreds_of_others(api, server):
    api.commits[NEW] = [pull(7, NEW)]
    for number in range(150):
        api.write(7, f"comment {number}", {"login": "alice", "type": "User"})
    told(server, "github:comment")
    told(server, "github:comment", state=AlertState.ACKNOWLEDGED)
    assert len(api.comments) == 151
    assert "acknowledged" in api.comments[-1]["body"]


def test_a_comment_that_only_pretends_to_be_ours_is_left_alone(api, server):
    api.commits[NEW] = [pull(7, NEW)]
    told(server, "github:comment")
    marker = api.comments[0]["body"].splitlines()[0]
    api.comments[:] = []
    api.write(7, f"{marker}\nall is well", {"login": "mallory", "type": "User"})
    told(server, "github:comment")
    assert [comment["user"]["login"] for comment in api.comments] == ["mallory", BOT["login"]]
    assert api.comments[0]["body"].endswith("all is well")


def test_with_a_persons_token_their_own_comment_is_updated(api, server):
    api.me = {"login": "carol", "type": "User"}
    api.commits[NEW] = [pull(7, NEW)]
    told(server, "github:comment")
    told(server, "github:comment", state=AlertState.RESOLVED)
    (comment,) = api.comments
    assert "resolved" in comment["body"]


def test_a_comment_of_a_deleted_account_is_not_ours(api, server):
    api.commits[NEW] = [pull(7, NEW)]
    told(server, "github:comment")
    api.comments[0]["user"] = None
    told(server, "github:comment")
    assert len(api.comments) == 2


@pytest.mark.parametrize(
    ("fields", "word"),
    [
        ({"repository": ""}, "has no repository on"),
        ({"repository": "https://gitlab.com/org/model"}, "has no repository on"),
        ({"repository": "http://127.0.0.1/org/model/../../user"}, "has no repository on"),
        ({"first_new": "v2.1"}, "is not a published commit"),
        ({"first_new": f"{NEW}-dirty"}, "is not a published commit"),
    ],
)
def test_what_cannot_be_found_is_refused_before_asking(api, server, fields, word):
    with pytest.raises(NotifyError, match=word) as refused:
        told(server, "github:check", **fields)
    assert refused.value.permanent
    assert api.requests == []


def test_an_unknown_place_and_a_missing_token_name_the_remedy(server):
    with pytest.raises(NotifyError, match="github:check or github:comment"):
        told(server, "github:issue")
    with pytest.raises(NotifyError, match="GITHUB_TOKEN"):
        GitHub(GitHubSettings(api_url=server.url)).notify("github:check", LOCAL)


def test_a_wrong_token_is_permanent_and_not_shown(server):
    wrong = GitHub(GitHubSettings(token="hunter2", api_url=server.url))
    with pytest.raises(NotifyError) as refused:
        wrong.notify("github:check", LOCAL)
    assert refused.value.permanent
    assert "hunter2" not in f"{refused.value}{wrong!r}{GitHubSettings(token='hunter2')!r}"


def test_a_limit_on_the_rate_says_when_to_try_again(api, server):
    api.instead = [Reply(403, {"message": "rate limit"}, {"Retry-After": "61", "X-RateLimit-Remaining": "0"})]
    with pytest.raises(NotifyError) as limited:
        told(server, "github:check")
    assert (limited.value.permanent, limited.value.again_after_s) == (False, 61)


@pytest.mark.parametrize("answer", [{}, [], {"check_runs": [{}]}, None, 7])
def test_an_answer_of_another_form_is_an_error_of_the_service(api, server, answer):
    api.instead = [Reply(200, answer)]
    with pytest.raises(NotifyError) as failed:
        told(server, "github:check")
    assert not failed.value.permanent


def test_a_pull_requests_own_step_posts_check_and_comment(api, actions):
    event = {"pull_request": pull(7, NEW)}
    event["pull_request"]["number"] = 7
    posted = github.post(BAD, actions("pull_request", event))
    assert posted == ["https://github.com/check", "https://github.com/comment/0"]
    assert (api.checks[0]["head_sha"], api.checks[0]["conclusion"]) == (NEW, "failure")
    assert api.comments[0]["number"] == 7


def test_the_trusted_step_finds_the_pull_request_of_a_fork_by_its_head(api, actions):
    api.pulls = [pull(3, OLD), pull(4, NEW, label="other:topic"), pull(5, NEW), pull(2, NEW, state="closed")]
    github.post(BAD, actions("workflow_run", workflow_run()))
    assert api.comments[0]["number"] == 5
    assert api.checks[0]["head_sha"] == NEW


def test_a_pull_request_that_moved_on_is_not_commented(api, actions):
    api.pulls = [pull(5, OLD)]
    github.post(BAD, actions("workflow_run", workflow_run()))
    assert api.comments == []
    assert len(api.checks) == 1


def test_the_untrusted_file_cannot_say_where_it_is_posted(api, actions, tmp_path):
    api.pulls = [pull(5, NEW)]
    report_file.write(
        a_report(a_verdict(), contender="f" * 40, benchmark="#1 org/secret @admin"), tmp_path / "r.json"
    )
    github.post(report_file.read(tmp_path / "r.json"), actions("workflow_run", workflow_run()))
    assert {path.split("/check-runs")[0].split("/issues")[0] for _, path in api.written()} == {
        "/repos/org/model"
    }
    assert api.comments[0]["number"] == 5
    assert "`#1 org/secret @admin`" in api.comments[0]["body"]


def test_a_push_has_a_check_and_no_comment(api, actions):
    github.post(BAD, actions("push", {"after": NEW}))
    github.post(BAD, actions("workflow_run", workflow_run(event="push")))
    assert len(api.checks) == 1
    assert api.comments == []


def test_quiet_when_nothing_happened_and_fine_again_when_it_did(api, actions):
    environ = actions("pull_request", {"pull_request": pull(7, NEW)})
    github.post(GOOD, environ)
    assert api.comments == []
    assert api.checks[0]["conclusion"] == "success"
    github.post(BAD, environ)
    assert "1 regression" in api.comments[0]["body"]
    github.post(UNDECIDED, environ)
    assert api.checks[0]["conclusion"] == "neutral"
    github.post(GOOD, environ)
    (comment,) = api.comments
    assert "1 no change" in comment["body"]
    assert "regression" not in comment["body"]


def test_what_says_the_same_is_not_written_again(api, actions):
    environ = actions("pull_request", {"pull_request": pull(7, NEW)})
    github.post(BAD, environ, check=False)
    github.post(BAD, environ, check=False)
    assert [method for method, _ in api.written()] == ["POST"]


def test_two_gates_of_one_repository_stay_apart(api, actions):
    environ = actions("pull_request", {"pull_request": pull(7, NEW)})
    for name in ("fast", "slow", "fast"):
        github.post(BAD, environ, name=name)
    assert [check["name"] for check in api.checks] == ["fast", "slow"]
    assert len(api.comments) == 2


@pytest.mark.parametrize("size", [1, 3000])
def test_a_report_of_any_size_fits(api, actions, size):
    long = a_report(*(a_verdict(metric="&" * 500, units="`" * 500) for _ in range(size)), benchmark="|" * 500)
    github.post(long, actions("pull_request", {"pull_request": pull(7, NEW)}))
    assert len(api.comments[0]["body"]) < 10_000


def test_an_alert_of_many_rows_fits(api, server):
    api.commits[NEW] = [pull(7, NEW)]
    rows = tuple(a_row(metric="&" * 500, note="`" * 500) for _ in range(3000))
    told(server, "github:comment", rows=rows)
    assert "and 2990 more" in api.comments[0]["body"]


@pytest.mark.parametrize(
    ("name", "event"),
    [
        ("schedule", {}),
        ("pull_request", {}),
        ("pull_request", {"pull_request": {"number": "x", "head": {"sha": NEW}}}),
        ("push", {"after": "main"}),
        ("push", {"after": NEW, "repository": {"full_name": "org/model/../../user"}}),
        ("push", {"after": NEW, "repository": {"full_name": "org"}}),
        ("workflow_run", {"workflow_run": []}),
    ],
)
def test_an_event_that_says_nothing_usable_is_refused(api, actions, name, event):
    with pytest.raises(NotifyError):
        github.post(BAD, actions(name, event))
    assert api.requests == []


def test_outside_github_actions_the_remedy_is_named():
    with pytest.raises(NotifyError, match="GITHUB_EVENT_NAME"):
        github.post(BAD, {})
    with pytest.raises(NotifyError, match="GITHUB_EVENT_PATH"):
        github.post(BAD, {"GITHUB_EVENT_NAME": "push", "GITHUB_EVENT_PATH": "/nowhere"})
