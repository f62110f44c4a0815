import base64

import pytest

from anubis.model.errors import BadInputError
from anubis.transfer.histories import Findings, import_files, read
from support.mlflow_server import MlflowServer, serving

AT_ONCE = {"Retry-After": "0"}


@pytest.fixture
def server(monkeypatch):
    for name in ("TOKEN", "USERNAME", "PASSWORD"):
        monkeypatch.delenv(f"MLFLOW_TRACKING_{name}", raising=False)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with serving(MlflowServer()) as running:
        yield running


def measured(server, page=""):
    findings = Findings()
    return list(read(server.address + page, findings, format_name="mlflow")), findings


def test_every_page_of_every_experiment_is_read(server):
    for number in range(5):
        server.add(f"train-{number % 3}", f"run{number}", {"loss": number / 4, "accuracy": 0.5})
    rows, findings = measured(server)
    assert sorted((row.benchmark, row.run, row.metric, row.value) for row in rows) == sorted(
        (f"train-{number % 3}", f"run{number}", metric, value)
        for number in range(5)
        for metric, value in (("loss", number / 4), ("accuracy", 0.5))
    )
    assert findings.problems == ()
    assert len(server.requests) == 5, "two pages of experiments, three of runs"


def test_a_run_has_its_parameters_its_commit_and_its_time(server):
    tags = {
        "mlflow.source.git.commit": "c0ffee1",
        "mlflow.source.git.repoURL": "https://x/y",
        "mlflow.user": "me",
    }
    server.add("train", "run1", {"loss": 1.5, "system/cpu": 7.0}, params={"lr": "0.1"}, tags=tags)
    ((row,), _) = measured(server)
    assert (row.parameters, row.commit, row.repository) == ({"lr": "0.1"}, "c0ffee1", "https://x/y")
    assert (row.metric, row.time_s) == ("loss", 1_700_000_000.0)


def test_a_server_and_its_database_give_the_same_runs(server, mlflow_db):
    by_file = import_files([str(mlflow_db)], owner="me", format_name="mlflow").history
    rows = {}
    for row in read(mlflow_db, Findings(), format_name="mlflow"):
        rows.setdefault(row.run, []).append(row)
    for run_id, (first, *_) in rows.items():
        tags = {"mlflow.source.git.commit": first.commit, "mlflow.source.git.repoURL": first.repository}
        metrics = {row.metric: row.value for row in rows[run_id]}
        start_ms = round(first.time_s * 1000)
        server.add(first.benchmark, run_id, metrics, params=first.parameters, tags=tags, start_time=start_ms)
    by_server = import_files([server.address], owner="me", format_name="mlflow").history
    assert {run.id for run, _ in by_server.runs} == {run.id for run, _ in by_file.runs}
    assert sorted(by_server.points, key=str) == sorted(by_file.points, key=str)


def test_unfinished_runs_and_missing_values_are_counted(server):
    server.add("train", "run1", {"loss": "NaN", "accuracy": 0.5, "rate": "Infinity"})
    server.add("train", "run2", {"loss": 1.0}, status="RUNNING")
    server.add("train", "run3", {"loss": 1.0}, status="FAILED")
    rows, findings = measured(server)
    assert [row.metric for row in rows] == ["accuracy"]
    assert findings.missing == 2
    (problem,) = findings.problems
    assert "2 runs that failed" in problem.message


def test_the_address_of_an_experiments_page_selects_it(server):
    server.add("one", "run1", {"loss": 1.0})
    server.add("two", "run2", {"loss": 2.0})
    rows, _ = measured(server, "/#/experiments/1?tab=runs")
    assert [row.run for row in rows] == ["run2"]
    with pytest.raises(BadInputError, match="no active experiment 7"):
        measured(server, "/#/experiments/7")


@pytest.mark.parametrize(
    ("variables", "header"),
    [
        ({}, None),
        ({"TOKEN": "t0ken", "USERNAME": "me"}, "Bearer t0ken"),
        ({"USERNAME": "me", "PASSWORD": "s3cret"}, f"Basic {base64.b64encode(b'me:s3cret').decode()}"),
    ],
)
def test_credentials_come_from_the_variables_of_mlflow(server, monkeypatch, variables, header):
    for name, value in variables.items():
        monkeypatch.setenv(f"MLFLOW_TRACKING_{name}", value)
    measured(server)
    assert {headers.get("Authorization") for _, headers, _ in server.requests} == {header}


def test_a_secret_that_is_not_valid_is_not_shown(server, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", "s3cret\nvalue")
    with pytest.raises(BadInputError, match="not allowed") as caught:
        measured(server)
    assert "s3cret" not in str(caught.value)


def test_a_server_that_is_busy_is_asked_again(server):
    server.add("train", "run1", {"loss": 1.0})
    server.answers += [(503, AT_ONCE, b"busy"), (429, AT_ONCE, b"")]
    assert len(measured(server)[0]) == 1
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    ("answers", "message", "remedy"),
    [
        ([(503, AT_ONCE, b"")] * 5, "answered 503", "later"),
        ([(401, {}, b"{}")], "access is denied", "MLFLOW_TRACKING_TOKEN"),
        ([(404, {}, b"{}")], "does not answer like the MLflow", "without the path"),
        ([(200, {}, b"<html>")], "does not answer like the MLflow", "without the path"),
        ([(200, {}, b"[]")], "does not answer like the MLflow", "without the path"),
        ([(200, {}, {"next_page_token": "1"})] * 2, "repeats a page", "update"),
    ],
)
def test_a_server_that_does_not_answer_is_one_error(server, answers, message, remedy):
    server.answers += answers
    with pytest.raises(BadInputError, match=message) as caught:
        measured(server)
    assert remedy in caught.value.remedy
    assert server.answers == []


@pytest.mark.parametrize(
    "answer",
    [
        {"experiments": 5},
        {"experiments": [3, None, {}]},
        {"experiments": [{"experiment_id": "0", "name": None}]},
    ],
)
def test_strange_experiments_give_no_values(server, answer):
    server.answers.append((200, {}, answer))
    assert measured(server)[0] == []


def test_strange_runs_give_no_values(server):
    server.add("train", "run1", {"loss": "fast"}, start_time=None)
    server.add("train", "run2", {"loss": "fast"})
    server.runs += [
        {"info": {**server.runs[0]["info"], "start_time": 1}, "data": data} for data in (3, {"metrics": 3})
    ]
    rows, findings = measured(server)
    assert rows == []
    assert findings.refused
    assert len(findings.problems) == 2


def test_a_server_that_is_not_there():
    with pytest.raises(BadInputError, match="could not be reached: Connection refused"):
        list(read("http://127.0.0.1:9", Findings(), format_name="mlflow"))
