"""One contract for every client: bisections of a repository on the machine of the client."""

import shutil
from dataclasses import replace

import pytest

from anubis.bisection import bisect_request
from anubis.contracts.runs import RunQuery
from anubis.model.errors import BadInputError, NotFoundError, UndecidedError
from anubis.model.verdict import Judgement
from support.git import git

COMMITS, CULPRIT = 6, 4


@pytest.fixture
def repository(tmp_path, bench):
    """Six commits; from the fourth on the score is lower. The descriptor is in a folder below the top."""
    folder = tmp_path / "repository"
    (folder / "below").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    shutil.move(bench("sh ./measure.sh", "better = 'higher'"), folder / "below" / "bench.toml")
    for number in range(1, COMMITS + 1):
        level = 80 if number >= CULPRIT else 100
        (folder / "below" / "measure.sh").write_text(f"echo score={level}\n# {number}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"change {number}", "--date", f"2026-01-{number:02} 12:00:00 +0000")
    return folder


def question(repository, good="HEAD~5", bad="HEAD", **more):
    return replace(
        bisect_request.from_file(repository / "below" / "bench.toml", good, bad, overrides={}), **more
    )


def test_the_first_bad_commit_is_found(client, embedded, repository):
    commits = git(repository, "rev-list", "--reverse", "HEAD").split()
    answers = []
    found = client.bisections.search(question(repository), answered=answers.append)
    assert found.suspects == (commits[CULPRIT - 1],)
    assert found.last_good == commits[CULPRIT - 2]
    assert found.verdict.judgement is Judgement.REGRESSED
    assert tuple(answers) == found.commits
    rows = embedded.runs.find(RunQuery(family_id=found.family_id))
    assert {row.subject for row in rows} <= {*commits}
    before = len(rows)
    assert client.bisections.search(question(repository)) == found, "stored runs are used"
    assert len(embedded.runs.find(RunQuery(family_id=found.family_id))) == before
    assert git(repository, "worktree", "list").count("\n") == 0
    if client.is_remote:
        assert embedded.runs.get(rows[0].id).folder is None, "the service needs no folder of the client"


def test_equal_commits_are_undecided(client, repository):
    with pytest.raises(UndecidedError):
        client.bisections.search(question(repository, good="HEAD~5", bad="HEAD~3"))


def test_a_metric_without_values_is_named(client, repository):
    with pytest.raises(BadInputError, match="cannot be measured") as caught:
        client.bisections.search(question(repository, metric="scoer"))
    assert "score" in caught.value.remedy


def test_the_range_of_an_unknown_alert_is_refused(client, repository):
    with pytest.raises(NotFoundError):
        client.bisections.question_of_alert("none", repository=repository)


def test_runs_of_commits_are_stored_once_and_checked(client, bench):
    if not client.is_remote:
        return
    connection = client._connection
    text, tree = bench().read_text(), {"commit": "0" * 40}
    body = {"text": text, "trees": [tree, {"commit": "1" * 40}]}
    first = connection.post("bisections/k/runs", body, key="bisection-1")
    assert connection.post("bisections/k/runs", body, key="bisection-1") == first
    listed = connection.get("bisections/k")
    assert [row["id"] for row in listed["runs"]] == [run["id"] for run in first["runs"]]
    client.runs.cancel([run["id"] for run in first["runs"]])
    matrix = f'{text}[matrix]\n"env.vars.X" = ["a", "b"]\n'
    for wrong in (
        {"trees": [tree]},
        {"text": text, "like": first["runs"][0]["id"], "trees": [tree]},
        {"text": matrix, "trees": [tree]},
        {"text": f'extends = "/etc/passwd"\n{text}', "trees": [tree]},
        {"text": text, "trees": [{**tree, "script": f"{'0' * 64}.tar"}]},
        {"text": text, "trees": [{"commit": "--upload-pack"}]},
    ):
        with pytest.raises(BadInputError):
            connection.post("bisections/k/runs", wrong)
    assert len(connection.get("bisections/k")["runs"]) == 2
