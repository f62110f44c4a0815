"""Two descriptors alternate until they are decided, whatever interrupts the command."""

import signal
from collections import Counter

import pytest

from support.gated import stored
from support.processes import until

LATENCY = """
[[output.metrics]]
name = "latency"
units = "ms"
pattern = 'latency=(\\S+)'
better = "lower"
"""


@pytest.fixture
def pair(anubis):
    """Writes two descriptors that print these values."""

    def write(old, new):
        return [
            anubis.write(name, f"echo latency={value}", more=LATENCY)
            for name, value in (("old.toml", old), ("new.toml", new))
        ]

    return write


def rounds_of(anubis):
    """Round -> the files that were measured in it, in order."""
    rounds = {}
    for row in sorted(stored(anubis.home), key=lambda row: row.placed_s):
        rounds.setdefault(row.cell["round"], []).append(row.cell["file"])
    return rounds


def test_a_regression_is_decided_and_fails(anubis, pair):
    ended = anubis("ab", *pair(100, 120), "--rounds", 6)
    assert ended.returncode == 3, ended.stderr
    assert "+20.0 % [+20.0, +20.0]" in ended.stdout
    assert "REGRESSION" in ended.stdout
    assert "round 6 of 6  latency  +20.0 %" in ended.stderr
    assert {number: sorted(files) for number, files in rounds_of(anubis).items()} == {
        number: ["new.toml", "old.toml"] for number in range(6)
    }
    assert rounds_of(anubis)[0] == ["old.toml", "new.toml"]
    assert "REGRESSION" in anubis("compare").stdout, "the runs are an ordinary comparison of two files"


def test_equal_code_is_unchanged(anubis, pair):
    report = anubis.json("ab", *pair(100, 100), "--rounds", 6)
    (verdict,) = report["verdicts"]
    assert (report["end"], report["rounds"], verdict["judgement"]) == ("decided", 6, "unchanged")


def test_it_ends_with_its_budget_and_says_what_would_decide(anubis, pair):
    ended = anubis("ab", *pair(100, 120), "--max-time", "0s", "--fail-on", "undecided")
    assert ended.returncode == 4, ended.stderr
    assert "About 6 rounds decide this: begin again with a longer --max-time." in ended.stdout
    assert "2 of at most 60 rounds: the time is spent." in ended.stdout


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_it_continues_after_an_interruption_and_measures_no_round_twice(anubis, pair, number):
    process = anubis.start("ab", *pair(100, 120), "--rounds", 6)
    until(lambda: len(stored(anubis.home)) > 4, "the second pair of rounds is stored")
    process.send_signal(number)
    process.communicate()
    report = anubis.json("ab", "--resume", "@last", code=3)
    assert (report["end"], report["rounds"]) == ("decided", 6)
    assert Counter(len(files) for files in rounds_of(anubis).values()) == {2: 6}
    assert anubis.json("ab", "--resume", "@last", code=3) == report
    assert len(stored(anubis.home)) == 12


def test_a_failing_side_ends_it(anubis, pair):
    old, _ = pair(100, 120)
    bad = anubis.write("new.toml", "false", more=LATENCY)
    ended = anubis("ab", old, bad)
    assert ended.returncode == 1
    assert "0 of at most 60 rounds: run " in ended.stdout
    assert len(stored(anubis.home)) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "an alternation compares two descriptor files, and 0 were named"),
        (["old.toml"], "and 1 were named"),
        (["old.toml", "new.toml", "--rounds", "7"], "--rounds is 7, which is not even"),
        (["old.toml", "new.toml", "--resume", "@last"], "--resume continues an alternation as it was begun"),
        (["old.toml", "matrix.toml"], "these make 3 runs"),
        (
            ["old.toml", "new.toml", "--metric", "rate", "--rounds", "6"],
            "the runs of old.toml have no value of metric 'rate'",
        ),
    ],
)
def test_bad_input_is_one_error(anubis, pair, words, message):
    pair(100, 100)
    anubis.write("matrix.toml", "echo latency=$N", more=LATENCY + '[matrix]\n"env.vars.N" = [1, 2]\n')
    ended = anubis("ab", *words)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert "help: " in ended.stderr


def test_sides_without_a_common_metric_are_refused_after_the_first_rounds(anubis, pair):
    old, _ = pair(100, 100)
    other = anubis.write("new.toml", "echo latency=1", more=LATENCY.replace('"latency"', '"delay"'))
    ended = anubis("ab", old, other, "--rounds", 6)
    assert ended.returncode == 2
    assert (
        "the two sides have no declared metric in common: new.toml has delay, and old.toml has latency"
        in ended.stderr
    )
    assert "--metric wall_time" in ended.stderr
    assert len(stored(anubis.home)) == 4
    report = anubis.json("ab", old, other, "--rounds", 6, "--metric", "wall_time", "--min-effect", "900%")
    assert report["rounds"] == 6


def test_only_an_alternation_can_be_continued(anubis, pair):
    anubis("run", *pair(100, 100), "--rounds", 2)
    ended = anubis("ab", "--resume", "@last")
    assert ended.returncode == 2
    assert "were not submitted by anubis ab" in ended.stderr
