"""The notifier ``gitlab`` against a local server.

The server (support/forges.py) checks what GitLab's documentation requires of each request and answers in the form
it documents. It is not GitLab.
"""

import pytest

from anubis.model.alert import AlertState
from anubis.model.errors import NotifyError
from anubis.model.verdict import Judgement
from anubis.notifiers import gitlab
from anubis.notifiers.gitlab import GitLab, GitLabSettings
from support.alerts import NEW, a_report, a_verdict, an_alert
from support.forges import TOKEN, GitLabApi

PROJECT = "group/sub/model"
BAD = a_report(a_verdict())
GOOD = a_report(a_verdict(judgement=Judgement.UNCHANGED))


@pytest.fixture
def api():
    api = GitLabApi()
    api.commits[NEW] = [{"iid": 3, "state": "merged"}, {"iid": 8, "state": "opened"}]
    return api


@pytest.fixture
def server(api):
    with api.running() as running:
        yield running


def told(server, to="gitlab:note", **fields):
    fields = {"repository": f"http://127.0.0.1/{PROJECT}.git", **fields}
    GitLab(GitLabSettings(token=TOKEN, api_url=f"{server.url}/api/v4")).notify(to, an_alert(**fields))


def environment(server, **more):
    return {
        "GITLAB_TOKEN": TOKEN,
        "CI_API_V4_URL": f"{server.url}/api/v4",
        "CI_PROJECT_ID": "7",
        "CI_PROJECT_URL": "https://gitlab.example/group/model",
        "CI_MERGE_REQUEST_IID": "8",
        **more,
    }


def test_one_note_on_the_open_merge_request_follows_the_alert(api, server):
    told(server)
    told(server)
    assert len(api.written()) == 1
    told(server, state=AlertState.RESOLVED, why="reverted")
    (note,) = api.notes
    assert note["place"] == (PROJECT, 8)
    assert "regression resolved" in note["body"]


def test_good_news_alone_write_no_note(api, server):
    told(server, state=AlertState.RESOLVED)
    assert api.written() == []


def test_a_commit_that_came_another_way_needs_no_note(api, server):
    api.commits.clear()
    told(server)
    assert api.written() == []


def test_our_note_is_found_behind_hundreds_and_not_mistaken(api, server):
    told(server)
    forged = api.notes.pop()
    api.write(PROJECT, 8, forged["body"], {"id": 666})
    for number in range(150):
        api.write(PROJECT, 8, f"note {number}", {"id": 1})
    told(server)
    told(server, state=AlertState.ACKNOWLEDGED)
    assert len(api.notes) == 152
    assert "acknowledged" in api.notes[-1]["body"]
    assert api.notes[0]["body"] == forged["body"]


def test_a_merge_request_pipeline_posts_its_report(api, server):
    environ = environment(server)
    assert gitlab.post(GOOD, environ) == []
    (address,) = gitlab.post(BAD, environ)
    assert address == f"https://gitlab.example/group/model/-/merge_requests/8#note_{api.notes[0]['id']}"
    assert gitlab.post(BAD, environ) == [address]
    assert len(api.written()) == 1
    gitlab.post(GOOD, environ)
    assert "1 no change" in api.notes[0]["body"]


@pytest.mark.parametrize("missing", ["CI_PROJECT_ID", "CI_MERGE_REQUEST_IID", "GITLAB_TOKEN"])
def test_what_is_missing_is_named(server, missing):
    with pytest.raises(NotifyError, match=missing) as refused:
        gitlab.post(BAD, environment(server, **{missing: ""}))
    assert refused.value.permanent


def test_a_wrong_token_is_permanent_and_not_shown(server):
    wrong = GitLab(GitLabSettings(token="hunter2", api_url=f"{server.url}/api/v4"))
    with pytest.raises(NotifyError) as refused:
        wrong.notify("gitlab:note", an_alert(repository=f"http://127.0.0.1/{PROJECT}"))
    assert refused.value.permanent
    assert "hunter2" not in f"{refused.value}{GitLabSettings(token='hunter2')!r}"


@pytest.mark.parametrize(
    "repository", ["", "https://github.com/org/model", "http://127.0.0.1/a/../b", "http://127.0.0.1/a"]
)
def test_another_repository_is_refused_before_asking(api, server, repository):
    with pytest.raises(NotifyError, match="has no repository on"):
        told(server, repository=repository)
    assert api.requests == []


def test_an_unknown_place_names_the_remedy(server):
    with pytest.raises(NotifyError, match="write gitlab:note"):
        told(server, to="gitlab:issue")
