"""``anubis check`` against a history of several sessions."""

import math

import pytest

DAY_S = 86_400
HEAD = "benchmark,metric,value,units,better,time_s,commit_s,commit,machine\n"
#: Deviations of 12 sessions, in standard deviations, and of the runs of each.
SESSIONS = (0.3, -1.1, 0.8, 1.3, -0.6, -0.2, 1.0, -1.4, 0.5, -0.9, 0.1, 0.2)
RUNS = (-1.0, 0.2, 0.9)
SESSION_SD, RUN_SD = 0.015, 0.003


def rows(day, level, commit):
    """Three runs of one commit in one session, a minute apart."""
    for number, deviation in enumerate(RUNS):
        value = level * math.exp(RUN_SD * deviation)
        time_s = 1_700_000_000 + day * DAY_S + 60 * number
        yield f"train,latency,{value!r},ms,lower,{time_s},{time_s - time_s % DAY_S},{commit},host\n"


@pytest.fixture
def check(anubis):
    """Imports the history and a contender of three runs in one session, and checks the contender."""

    def check(level, *words, **changes):
        commits = [f"{day + 1:07x}" for day in range(len(SESSIONS) + 1)]
        levels = [100 * math.exp(SESSION_SD * deviation) for deviation in SESSIONS]
        lines = [row for day, each in enumerate([*levels, level]) for row in rows(day, each, commits[day])]
        (anubis.folder / "history.csv").write_text(HEAD + "".join(lines))
        anubis("import", "history.csv")
        history = anubis.json("history", "-n", 100)
        ids = [run["id"] for run in history if run["subject"] == commits[-1]]
        assert len(ids) == len(RUNS)
        return anubis.json("check", *ids, *words, **changes)["weighings"][0]["verdicts"][0]

    return check


def test_three_runs_of_a_session_that_deviates_are_no_regression(check, anubis):
    verdict = check(103.5, "--fail-on", "undecided", code=4)
    assert (verdict["judgement"], verdict["sessions"]) == ("undecided", [12, 1])
    assert verdict["more_runs"] is None
    assert "more session" in verdict["text"]
    assert "of the contender decide" in verdict["next_step"]
    assert verdict["noise_between"] == pytest.approx(SESSION_SD, rel=0.5)
    assert verdict["noise_within"] == pytest.approx(RUN_SD, rel=0.7)
    shown = anubis("series", "show", "train").stdout
    assert "% between sessions" in shown


def test_a_shift_beyond_the_noise_of_sessions_is_a_regression(check):
    assert check(115.0, code=3)["judgement"] == "regressed"
