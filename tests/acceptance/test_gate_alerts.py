"""``anubis alerts``: from a level shift to what people decide about it."""

import pytest

from support.noisy import Noisy


@pytest.fixture
def bench(anubis):
    return Noisy(anubis)


@pytest.fixture
def shifted(bench):
    """A benchmark that became 30 % slower with version 2; the id of its alert."""
    bench.measure("1", 10, rounds=12)
    bench.measure("2", 13, rounds=6)
    (alert,) = bench.anubis.json("alerts")
    return alert["id"]


def test_the_life_of_an_alert(anubis, bench, shifted):
    listed = anubis("alerts")
    assert shifted in listed.stdout
    assert "confirmed" in listed.stdout
    (row, other) = anubis.json("alerts", "show", shifted)["rows"]
    assert {row["metric"], other["metric"]} == {"latency", "rate"}

    assert "acknowledged" in anubis("alerts", "ack", shifted[:6], "--why", "looking").stdout
    assert anubis("alerts", "mute", shifted, "--why", "release", "--until", "7d").returncode == 0
    assert anubis("alerts", "accept", shifted, "--why", "we trade speed for accuracy").returncode == 0
    assert anubis("alerts").stdout == "no open alerts\n"
    assert shifted in anubis("alerts", "list", "--all").stdout

    shown = anubis("alerts", "show", shifted).stdout
    for words in (
        "acknowledged: looking by ",
        "muted: release by ",
        "accepted: we trade speed for accuracy by ",
    ):
        assert words in shown
    trail = anubis.json("alerts", "show", shifted)["trail"]
    assert trail[0]["data"]["state"] == "confirmed"
    decided = [event for event in trail if event["actor"]]
    assert [event["data"]["state"] for event in decided] == ["acknowledged", "muted", "accepted"]
    assert decided == trail[-3:]

    bench.measure("3", 13, rounds=3)
    checked = anubis.json("check")
    judged = {verdict["metric"]: verdict for verdict in checked["weighings"][0]["verdicts"]}
    assert abs(judged["latency"]["baseline"] - 13) < 0.2, "the accepted level is the baseline"
    assert {verdict["judgement"] for verdict in judged.values()} <= {"unchanged", "undecided"}
    assert anubis.json("alerts") == []


def test_what_a_person_resolved_stays_resolved_until_it_is_reopened(anubis, bench, shifted):
    assert anubis("alerts", "resolve", shifted, "--why", "the machine was slow").returncode == 0
    bench.measure("3", 13)
    assert anubis.json("alerts") == []
    assert anubis("alerts", "reopen", shifted, "--why", "it was not").returncode == 0
    (alert,) = anubis.json("alerts", "--benchmark", "noisy")
    assert (alert["state"], alert["why"]) == ("confirmed", "it was not")
    assert anubis.json("alerts", "--benchmark", "other") == []


def test_a_level_that_comes_back_resolves_its_alert(anubis, bench, shifted):
    bench.measure("3", 10, rounds=12)
    assert [alert["kind"] for alert in anubis.json("alerts")] == []
    states = {alert["id"]: alert["state"] for alert in anubis.json("alerts", "--all")}
    assert states[shifted] == "resolved"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["show", "beef"], "no alert has the id"),
        (["ack", "beef", "--why", "x"], "no alert has the id"),
        (["ack", "beef"], "--why"),
        (["mute", "beef", "--why", "x"], "missing option '--for'"),
        (["mute", "beef", "--why", "x", "--until", "soon"], "not a time span"),
        (["frobnicate"], "frobnicate"),
    ],
)
def test_bad_input(anubis, words, sentence):
    ended = anubis("alerts", *words)
    assert ended.returncode == 2
    assert sentence in ended.stderr


def test_a_first_failure_opens_no_alert_and_says_why(anubis, bench):
    """A mistyped command raises no alert about the code under test; a failure after a success does."""
    typo = anubis.write(
        "typo.toml", "sh nosy.sh", more='[[notify]]\nto = "mailto:a@example.org"\non = ["failure"]\n'
    )
    assert anubis("run", typo).returncode == 1
    assert anubis.json("alerts", "--all") == []
    assert "no failure alert: no earlier run of this series succeeded" in anubis("show").stdout
    bench.measure("1", 10)
    bench.level("broken")
    assert anubis("run", bench.file("2")).returncode == 1
    (alert,) = anubis.json("alerts")
    assert (alert["kind"], alert["benchmark"], alert["state"]) == ("failure", "noisy", "confirmed")


def test_alerts_and_series_name_the_same_subjects(anubis, bench, shifted):
    alert = anubis.json("alerts", "show", shifted)
    row = alert["rows"][0]
    (change,) = anubis.json("series", "show", "noisy", "--metric", row["metric"])["changes"]
    names = ("last_old", "first_new", "earliest_old", "latest_new")
    assert [alert[name] for name in names] == [change[name] for name in names]
    assert (change["last_old"], change["first_new"]) == ("1", "2")


def test_nothing_happened(anubis):
    assert anubis("alerts").stdout == "no open alerts\n"
    assert anubis("alerts", "--all").stdout == "no alerts\n"
