"""Looking at runs: status, watch, logs, results, show, descriptor, history, compare."""

import csv
import io
import re
import subprocess

import pytest

METRICS = """
[info.labels]
team = "{team}"
[[output.metrics]]
name = "rate"
units = "img/s"
pattern = 'rate=(\\S+)'
better = "higher"
"""


def measured(anubis, *values, name="bench", team="vision"):
    """Runs of one descriptor that print these values, oldest first; their ids."""
    ids = []
    for value in values:
        file = anubis.write(f"{name}.toml", f"sh -c 'echo rate={value}'", more=METRICS.format(team=team))
        (run,) = anubis.json("run", file)["runs"]
        ids.append(run["id"])
    return ids


def test_submit_returns_the_id_and_a_worker_carries_on(anubis):
    file = anubis.write("bench.toml", "sh -c 'echo rate=1'", more=METRICS.format(team="a"))
    submitted = anubis("submit", file)
    assert (submitted.returncode, submitted.stderr) == (0, "")
    run_id = submitted.stdout.strip()
    assert re.fullmatch(r"[0-9a-f-]{36}", run_id)
    assert anubis.json("status", run_id)["id"] == run_id, "known as soon as submit has returned"
    watched = anubis("watch", run_id)
    assert watched.returncode == 0, watched.stderr
    assert "succeeded" in watched.stdout


def test_a_run_has_many_names(anubis):
    first, second = measured(anubis, 1, 2)
    for ref, run_id in {"@last": second, "@last~1": first, first: first, first[:18]: first}.items():
        assert anubis.json("status", ref)["id"] == run_id


def test_logs_are_the_bytes_that_were_printed(anubis):
    script = anubis.folder / "noisy.py"
    script.write_text(
        "import sys\nsys.stdout.buffer.write(bytes(range(256)) * 3)\nprint('oops', file=sys.stderr)\n"
    )
    assert anubis("run", anubis.write("noisy.toml", "python3 noisy.py")).returncode == 0
    assert anubis("logs", "--stdout", "--raw", text=False).stdout == bytes(range(256)) * 3
    assert anubis("logs", "--stderr", text=False).stdout == b"oops\n"
    assert sorted(anubis("logs", "--raw", text=False).stdout) == sorted(bytes(range(256)) * 3 + b"oops\n")


def test_every_line_has_the_time_at_which_it_arrived(anubis):
    measured(anubis, 7)
    lines = anubis("logs", "--timestamps").stdout.splitlines()
    assert [re.sub(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z ", "", line) for line in lines] == ["rate=7"]


def test_logs_follow_a_run_to_its_end(anubis):
    gate = anubis.folder / "gate"
    command = "sh -c 'echo first; while [ ! -e gate ]; do sleep 0.05; done; echo last'"
    anubis("submit", anubis.write("slow.toml", command))
    following = anubis.start("logs", "--follow")
    assert following.stdout.readline() == b"first\n"
    gate.touch()
    rest, err = following.communicate(timeout=60)
    assert (rest, following.returncode) == (b"last\n", 0), err


def test_whoever_stops_reading_gets_no_message(anubis):
    anubis("run", anubis.write("long.toml", "sh -c 'seq 200000'"))
    process = anubis.start("logs")
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""
    process.stderr.close()


def test_results_come_as_table_csv_and_json(anubis):
    measured(anubis, 912.4)
    assert "rate       912.4  img/s" in anubis("results").stdout
    rows = list(csv.DictReader(io.StringIO(anubis("results", "--csv").stdout)))
    assert [float(row["value"]) for row in rows if row["metric"] == "rate"] == [912.4]
    (sample,) = anubis.json("results", "--samples", "rate")
    assert (sample["value"], sample["repeat"], sample["units"]) == (912.4, 0, "img/s")
    (row,) = csv.DictReader(io.StringIO(anubis("results", "--samples", "rate", "--csv").stdout))
    assert float(row["value"]) == 912.4
    assert "912.4" in anubis("results", "--samples", "rate").stdout


def test_a_metric_that_is_not_there_names_those_that_are(anubis):
    measured(anubis, 1)
    ended = anubis("results", "--samples", "speed")
    assert ended.returncode == 2
    assert "rate" in ended.stderr


def test_csv_and_json_exclude_one_another(anubis):
    assert anubis("results", "--csv", "--json").returncode == 2


def test_show_tells_the_whole_story(anubis):
    measured(anubis, 1)
    shown = anubis("show").stdout
    for word in ("submitted", "placed", "final", "timeline", "executions", "machine", "exit code 0"):
        assert word in shown
    told = anubis.json("show")
    assert told["events"][0]["kind"] == "submitted"
    assert told["machine"]["fingerprint"]
    assert told["exit"]["code"] == 0


def test_the_descriptor_comes_back_as_it_was_written(anubis):
    measured(anubis, 1)
    asked = anubis("descriptor")
    assert (asked.returncode, asked.stdout.rstrip("\n")) == (
        0,
        (anubis.folder / "bench.toml").read_text().rstrip("\n"),
    )


def test_history_is_narrowed(anubis):
    (first,) = measured(anubis, 1, name="one", team="vision")
    (second,) = measured(anubis, 2, name="two", team="speech")
    ids = lambda *words: [run["id"] for run in anubis.json("history", *words)]  # noqa: E731  shorter than a def here
    assert ids() == [second, first]
    assert ids("--label", "team=vision") == [first]
    assert ids("--name", "two") == [second]
    assert ids("--metric", "rate", "--limit", "1") == [second]
    assert ids("--after", "@last") == [first]
    assert ids("--after", first) == []
    assert ids("--metric", "speed") == []
    assert ids("--status", "failed") == []
    assert ids("--since", "1h") == [second, first]
    assert ids("--until", "1h") == []
    assert anubis("history", "--quiet").stdout.split() == [second, first]
    table = anubis("history", "--metric", "rate").stdout
    assert re.search(r"two .*succeeded.* 2  img/s", table)


def test_sets_of_runs_are_compared(anubis):
    old = measured(anubis, 100, 100.1, 99.9, team="old")
    new = measured(anubis, 90, 90.1, 89.9, team="new")
    by_id = anubis("compare", ",".join(old), ",".join(new))
    assert by_id.returncode == 3, by_id.stderr
    assert "REGRESSION" in by_id.stdout
    assert anubis("compare", "team=old", "team=new").stdout == by_id.stdout
    assert anubis("compare", "team=new", "team=old").returncode == 0
    (comparison,) = anubis.json("compare", "team=old", "team=new", "--min-effect", "20%", code=0)
    assert comparison["verdicts"][0]["judgement"] == "unchanged"
    assert anubis("compare", old[0], new[0]).returncode == 4, "one run a side decides nothing"
    assert anubis("compare", old[0], old[0]).returncode == 2


def test_a_plot_is_drawn_when_asked_for(anubis):
    old, new = measured(anubis, 100, 90)
    drawn = anubis("compare", old, new, "--plot").stdout
    assert re.search(r"baseline +\|", drawn)
    assert re.search(r"contender +\|", drawn)


@pytest.mark.parametrize("words", ["history", "status", "results", "show"])
def test_nothing_is_coloured_where_nobody_looks(anubis, words):
    measured(anubis, 1)
    assert (
        "\x1b"
        not in anubis(words, stderr=subprocess.STDOUT, stdout=subprocess.PIPE, capture_output=False).stdout
    )
