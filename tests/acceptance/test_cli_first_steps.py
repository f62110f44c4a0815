"""First use: a bare command is measured, a first descriptor is written and runs."""

import os
import re
import subprocess

import pytest


def test_a_bare_command_is_measured_and_judged(anubis):
    answer = anubis.json("run", "--repeat", 3, "--rounds", 2, "--", "sh", "-c", "exit 0")
    assert [run["name"] for run in answer["runs"]] == ["sh", "sh"]
    for run in answer["runs"]:
        assert run["metrics"]["wall_time"]["repeats"] == 3
        assert {"wall_time", "cpu_time"} <= set(run["metrics"])
    assert anubis("series", "show", "sh", "--metric", "wall_time").returncode == 0, "its points are a series"


def test_the_words_after_the_dashes_belong_to_the_command(anubis):
    words = [
        "--json",
        "--",
        "--rounds",
        "a b",
        "${HOME}",
        "$(HOME)",
        "$$",
        "it's",
        'q"q',
        "back\\slash",
        "é",
        "",
    ]
    script = anubis.folder / "print.sh"
    script.write_text('for word in "$@"; do printf "%s\\n" "$word"; done\n')
    ended = anubis("run", "--", "sh", "print.sh", *words)
    assert ended.returncode == 0, ended.stderr
    assert "{" not in ended.stdout, "--json was an argument of the command"
    assert anubis("logs").stdout.split("\n")[:-1] == words
    assert anubis.json("history")[0]["name"] == "print"


def test_the_descriptor_of_a_command_measures_the_same(anubis):
    anubis("run", "--repeat", 2, "--", "sh", "-c", "echo ${NAME-none}")
    text = anubis("descriptor").stdout
    (anubis.folder / "again.toml").write_text(text)
    assert anubis("run", "again.toml").returncode == 0
    first, second = anubis.json("history")
    assert (
        anubis.json("status", first["id"])["series_key"] == anubis.json("status", second["id"])["series_key"]
    )
    assert anubis("logs").stdout == "none\nnone\n"


def test_a_command_is_submitted_too(anubis):
    run_id = anubis("submit", "--", "sh", "-c", "echo hi").stdout.strip()
    assert anubis("watch", run_id).returncode == 0
    assert anubis("logs", run_id).stdout == "hi\n"


@pytest.mark.parametrize(
    ("words", "mentioned"),
    [
        (["run", "a.toml", "--", "true"], "files and a command"),
        (["run", "--repeat", "3", "a.toml"], "--set measure.repeats=N"),
        (["run", "--"], "missing argument FILE... (or a command after --)"),
        (["submit"], "missing argument"),
        (["run", "--repeat", "0", "--", "true"], "--repeat"),
        (["run", "--", "sh", "-c", os.fsdecode(b"\xff")], "not UTF-8"),
        (["init", "no-such-script.py"], "not a file"),
        (["init", "data.txt"], "anubis init -- PROGRAM data.txt"),
        (["init", "data.txt", "--", "true"], "cannot be combined"),
        (["init", "-o", "no/folder/x.toml"], "--output"),
    ],
)
def test_what_cannot_be_measured_is_explained_and_leaves_nothing(anubis, words, mentioned):
    (anubis.folder / "data.txt").write_text("1 2 3")
    ended = anubis(*words)
    assert ended.returncode == 2
    assert mentioned in ended.stderr
    assert anubis.json("history") == []
    assert list(anubis.folder.glob("*.toml")) == []


def test_a_first_descriptor_validates_and_runs_and_is_not_replaced(anubis):
    written = anubis("init")
    assert (written.returncode, written.stdout) == (0, "benchmark.toml\n")
    assert "anubis run benchmark.toml" in written.stderr
    before = (anubis.folder / "benchmark.toml").read_text()
    again = anubis("init")
    assert again.returncode == 2
    assert "already exists" in again.stderr
    assert (anubis.folder / "benchmark.toml").read_text() == before
    assert anubis("validate", "benchmark.toml").stderr == "", "no warning either"
    (run,) = anubis.json("run", "benchmark.toml")["runs"]
    assert run["metrics"]["accuracy"]["value"] == 0.93
    uncommented = re.sub("^# (?=[a-z\\[]+.* ?[=\\]])", "", before, flags=re.MULTILINE)
    (anubis.folder / "all.toml").write_text(uncommented.replace('commit = "auto"', ""))
    assert anubis("validate", "all.toml").returncode == 0, "what is commented is valid as well"


@pytest.mark.parametrize(
    ("name", "content", "mode", "command"),
    [
        ("train.py", "print('loss=1')", 0o644, "python3 train.py"),
        ("bench.sh", "echo loss=1", 0o644, "sh bench.sh"),
        ("tool", "#!/bin/sh\necho loss=1", 0o755, "./tool"),
        ("-dash.py", "print('loss=1')", 0o644, "python3 ./-dash.py"),
        ("sub/deep.py", "print('loss=1')", 0o644, "python3 sub/deep.py"),
    ],
)
def test_a_descriptor_for_a_script(anubis, name, content, mode, command):
    script = anubis.folder / name
    script.parent.mkdir(exist_ok=True)
    script.write_text(content)
    script.chmod(mode)
    written = anubis.json("init", f"./{name}", "-o", "first.toml")
    assert written == {"path": "first.toml", "name": name.rpartition("/")[2].partition(".")[0].lstrip("-")}
    assert f'benchmark_code = "{command}"' in (anubis.folder / "first.toml").read_text()
    assert anubis("run", "first.toml").returncode == 0
    assert anubis("logs").stdout == 3 * "loss=1\n"


def test_a_descriptor_elsewhere_runs_the_script_from_there(anubis):
    (anubis.folder / "conf").mkdir()
    (anubis.folder / "work.py").write_text("print('loss=1')")
    assert anubis("init", "work.py", "-o", "conf/work.toml").returncode == 0
    assert anubis("run", "conf/work.toml").returncode == 0
    assert anubis("logs").stdout == 3 * "loss=1\n"


def test_a_descriptor_in_a_repository_records_the_commit(anubis):
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    (anubis.folder / "work.py").write_text("print('loss=1')")
    for words in (["init", "-q"], ["add", "work.py"], ["commit", "-qm", "First"]):
        subprocess.run([*git, *words], cwd=anubis.folder, check=True)
    assert anubis("init", "work.py").returncode == 0
    assert anubis("run", "work.toml").returncode == 0
    head = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=anubis.folder, capture_output=True, text=True, check=True
    )
    (run,) = anubis.json("history", "--commit", head.stdout[:10])
    assert run["subject"] == head.stdout.strip()
    assert anubis.json("history", "--commit", "beef") == []
