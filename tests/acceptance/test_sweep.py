"""``anubis sweep``: plan, run, follow, resume, repeat and export, as users do."""

import csv
import os
import random
import signal
from contextlib import suppress

import pytest

from support.processes import left_in, until

SPEED = """
[[output.metrics]]
name = "speed"
units = "1/s"
pattern = 'speed=(\\d+)'
better = "higher"
"""
MATRIX = """
[matrix]
"env.vars.A" = [1, 2, 3]
"env.vars.B" = [1, 2]
seeds = [0, 1]
exclude = [{ "env.vars.A" = 2, "env.vars.B" = 2 }]
"""
COMMAND = "sh -c 'echo speed=$((A * B + SEED))'"
#: Appends its cell to a file, so that the test sees what was executed.
COUNTED = "sh -c 'echo $N >> ran'"


def cells(count):
    return f'[matrix]\n"env.vars.N" = {{ from = 1, to = {count}, step = 1 }}\n'


def executed(anubis):
    file = anubis.folder / "ran"
    return file.read_text().split() if file.exists() else []


def test_a_plan_shows_every_cell_and_stores_nothing(anubis):
    file = anubis.write("grid.toml", COMMAND, more=SPEED + MATRIX)
    plan = anubis.json("sweep", "plan", file)
    assert (len(plan["cells"]), plan["excluded"], plan["included"]) == (10, 2, 0)
    assert plan["cells"][0]["cell"] == {"env.vars.A": "1", "env.vars.B": "1", "env.vars.SEED": "0"}
    assert {cell["engine"] for cell in plan["cells"]} == {"process"}
    assert anubis("sweep", "plan", file).stdout.endswith("10 cells, 2 excluded, 0 included\n")
    assert anubis.json("sweep", "status", "--all") == []


def test_a_sweep_has_means_and_intervals_over_its_seeds(anubis):
    file = anubis.write("grid.toml", COMMAND, more=SPEED + MATRIX)
    ended = anubis("sweep", "run", file)
    assert ended.returncode == 0, ended.stderr
    assert "10 of 10 cells ended" in ended.stdout
    assert "env.vars.B down, env.vars.A across" in ended.stdout
    turned = anubis("sweep", "status", "--rows", "a", "--columns", "env.vars.B").stdout
    assert "env.vars.A down, env.vars.B across" in turned
    unknown = anubis("sweep", "status", "--rows", "C")
    assert (unknown.returncode, "it has: env.vars.A" in unknown.stderr) == (2, True)
    assert "grid env.vars.A=3, env.vars.B=2, env.vars.SEED=1" in anubis("history").stdout
    assert "\u00b7" in ended.stdout  # the excluded combination is a gap
    found = anubis.json("sweep", "status")
    best = next(each for each in found["combinations"] if each["cell"]["env.vars.A"] == "3")
    speed = best["metrics"]["speed"]
    assert (speed["mean"], speed["count"], speed["over"]) == (3.5, 2, "seeds")
    assert speed["low"] == pytest.approx(3.5 - 6.353, abs=0.001)
    wide = list(csv.DictReader(anubis("sweep", "export", "--format", "wide").stdout.splitlines()))
    assert [row["speed_mean"] for row in wide] == ["1.5", "2.5", "2.5", "3.5", "6.5"]
    long = list(csv.DictReader(anubis("sweep", "export").stdout.splitlines()))
    assert sum(row["metric"] == "speed" for row in long) == 10
    assert len(anubis.json("sweep", "export")["runs"]) == 10


@pytest.mark.timeout(600)  # ten killed commands on a busy machine
def test_a_sweep_that_is_killed_again_and_again_executes_every_cell_once(anubis):
    count, seed = 24, random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    choice = random.Random(seed)
    words = ["run", anubis.write("counted.toml", COUNTED, more=cells(count))]
    for _ in range(10):
        so_far = len(executed(anubis))
        target = choice.randint(so_far, min(so_far + 4, count))
        process = anubis.start("sweep", *words)
        until(lambda t=target, p=process: len(executed(anubis)) >= t or p.poll() is not None, "cells ran")
        for _ in range(choice.randrange(300)):  # any point of the submission of the next cells
            process.poll()
        process.kill()
        process.communicate()
        if executed(anubis) or anubis.json("sweep", "status", "--all"):
            words = ["resume"]
    ended = anubis("sweep", *words)
    assert ended.returncode == 0, ended.stderr
    assert sorted(executed(anubis), key=int) == [str(number) for number in range(1, count + 1)]
    assert f"{count} of {count} cells ended" in anubis("sweep", "status").stdout


@pytest.mark.timeout(600)  # ten killed processes on a busy machine
def test_a_sweep_whose_processes_are_killed_at_random_measures_every_cell_once(anubis):
    """Its command, a worker, agents and what they execute: each cell has one run with one value, also after a lost attempt."""
    count, seed = 16, random.SystemRandom().randrange(1 << 32)
    print(f"seed {seed}")
    choice = random.Random(seed)
    more = (
        SPEED
        + cells(count)
        + '[limits]\nretries = 20\nretry_on = ["lost", "user_error"]\nretry_pause_s = 0\n'
    )
    file = anubis.write("killed.toml", "sh -c 'echo speed=$N; sleep 0.2'", more=more)
    commands = [anubis.start("sweep", "run", file)]
    until(lambda: anubis.json("sweep", "status", "--all"), "the sweep is stored")
    for _ in range(10):
        started = [words for words in (("sweep", "resume"), ("worker",)) if choice.randrange(2)]
        commands += [anubis.start(*words) for words in started]
        found = sorted(left_in(anubis.home))
        for pid in choice.sample(found, min(len(found), 1 + choice.randrange(3))):
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for _ in range(choice.randrange(300)):  # any point of what the others do then
            commands[-1].poll()
    ended = anubis("sweep", "resume")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    rows = anubis.json("history", "--limit", 1000)
    assert [row["status"] for row in rows] == ["succeeded"] * count
    found = [(int(row["cell"]["env.vars.N"]), row["metrics"]["speed"]["value"]) for row in rows]
    assert sorted(found) == [(number, number) for number in range(1, count + 1)]


def test_a_sweep_whose_first_cells_fail_alike_stops_and_continues_when_that_is_corrected(anubis):
    command = "sh -c 'test -e good && echo $N >> ran'"
    rules = "[sweep]\nstop_after = 3\nmax_parallel = 1\n"
    file = anubis.write("bad.toml", command, more=cells(8) + rules)
    ended = anubis("sweep", "run", file)
    assert ended.returncode == 1
    assert "phase   stopped" in ended.stdout
    assert "the first 3 cells failed with cause user_error" in ended.stdout
    found = anubis.json("sweep", "status")
    assert sum(cell["status"] == "missing" for cell in found["runs"]) == 5
    (anubis.folder / "good").touch()
    ended = anubis("sweep", "resume")
    assert ended.returncode == 0, ended.stderr
    assert sorted(executed(anubis)) == list("12345678")


def test_failed_cells_are_repeated_by_cause(anubis):
    file = anubis.write("some.toml", "sh -c 'test $N != 2 -o -e good'", more=cells(3))
    assert anubis("sweep", "run", file).returncode == 1
    ended = anubis("sweep", "retry")
    assert ended.returncode == 2
    assert "cells failed with: user_error" in ended.stderr
    (anubis.folder / "good").touch()
    assert anubis("sweep", "retry", "--cause", "user_error").returncode == 0
    found = anubis.json("sweep", "status")
    assert [cell["status"] for cell in found["runs"]] == ["succeeded"] * 3
    assert len(anubis.json("history")) == 4


def test_ctrl_c_pauses_a_sweep(anubis):
    command = "sh -c 'echo $N >> ran; while [ ! -e gate ]; do sleep 0.05; done'"
    process = anubis.start("sweep", "run", anubis.write("long.toml", command, more=cells(5)))
    until(lambda: executed(anubis), "the first cell runs")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert process.returncode == 130
    assert b"the sweep is paused: anubis sweep resume" in err
    assert anubis.json("sweep", "status")["phase"] == "paused"
    (anubis.folder / "gate").touch()
    assert anubis("sweep", "resume").returncode == 0
    assert sorted(executed(anubis)) == list("12345")


def test_a_cancelled_sweep_starts_no_further_cell(anubis):
    command = "sh -c 'echo $N >> ran; while [ ! -e gate ]; do sleep 0.05; done'"
    process = anubis.start("sweep", "run", anubis.write("long.toml", command, more=cells(5)))
    until(lambda: executed(anubis), "the first cell runs")
    assert anubis.json("sweep", "cancel")["phase"] == "cancelled"
    process.communicate()
    assert process.returncode == 5
    assert executed(anubis) == ["1"]


def test_runs_of_a_sweep_file_warn_that_its_rules_do_not_apply(anubis):
    file = anubis.write("short.toml", "true", more=cells(2) + "[sweep]\nstop_after = 1\n")
    ended = anubis("run", file)
    assert (ended.returncode, ended.stderr.count("apply only to sweeps")) == (0, 1)
    assert "apply only" not in anubis("sweep", "run", file).stderr


def test_a_sweep_that_has_ended_is_not_cancelled(anubis):
    file = anubis.write("short.toml", "true", more=cells(2))
    assert anubis("sweep", "run", file).returncode == 0
    for _ in range(2):
        cancelled = anubis("sweep", "cancel")
        assert (cancelled.returncode, cancelled.stdout.endswith("has already ended\n")) == (0, True)
    shown = anubis("sweep", "status").stdout
    assert "phase   ended" in shown
    assert "resume" not in shown


def test_a_plan_with_a_script_has_the_digests_of_the_run_and_stores_nothing(anubis):
    (anubis.folder / "code.py").write_text("print(1)\n")
    file = anubis.write("short.toml", "true", more=cells(2))
    planned = anubis.json("sweep", "plan", file, "--script", "code.py")
    assert not [path for path in (anubis.home / "objects").rglob("*.tar*") if path.is_file()]
    assert anubis("sweep", "run", file, "--script", "code.py").returncode == 0
    runs = anubis.json("history")
    digests = {anubis.json("show", run["id"])["digest"] for run in runs}
    assert digests == {cell["digest"] for cell in planned["cells"]}


def test_halving_leaves_out_what_cannot_be_best_and_says_why(anubis):
    rules = '[sweep.halving]\nmetric = "speed"\n'
    ended = anubis("sweep", "run", anubis.write("grid.toml", COMMAND, more=SPEED + MATRIX + rules))
    assert ended.returncode == 0, ended.stderr
    assert "9 of 10 cells ended, 1 cut" in ended.stdout
    assert "cut  env.vars.A=1, env.vars.B=1: rank 5 of 5 after rung 1 (0), of which 4 remain" in ended.stdout
    rows = list(csv.DictReader(anubis("sweep", "export").stdout.splitlines()))
    assert sum(row["status"] == "cut" for row in rows) == 1


BAD = [
    (["plan", "hello.toml"], "describes one run, not a sweep"),
    (["status", "nothing"], "no sweep has the id nothing"),
    (["resume"], "there is no sweep"),
    (["retry", "--all", "--cause", "lost"], "cannot be combined"),
    ([], "anubis sweep needs a command"),
    (["plan", "hello.toml", "--script", "absent"], "no file or folder absent"),
]


@pytest.mark.parametrize(("words", "message"), BAD, ids=[row[1] for row in BAD])
def test_bad_input_is_refused_with_a_remedy(anubis, words, message):
    anubis.write("hello.toml", "true")
    ended = anubis("sweep", *words)
    assert ended.returncode == 2
    assert message in ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert "help: " in ended.stderr
