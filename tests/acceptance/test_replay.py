"""``anubis replay``: the same run again, or a reason why not."""

import json
import os
import subprocess

import pytest

METRIC = '[[output.metrics]]\nname = "size"\nunits = "s"\npattern = "size=(\\\\S+)"\n'
VARIABLE = '[env.vars]\nSIZE = "1"\n'
REPOSITORY = "[subject]\ncommit = 'auto'\n"


def git(folder, *words):
    identity = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a"}
    done = subprocess.run(
        ["git", "-C", folder, *words],
        env={**os.environ, **identity, "GIT_COMMITTER_EMAIL": "a@b"},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


@pytest.fixture
def committed(anubis):
    """A benchmark in a repository: its value is in the file ``size``."""
    git(anubis.folder, "init", "-q")
    anubis.write("bench.toml", "sh -c 'cat size'", more=METRIC + REPOSITORY)
    commit(anubis.folder, "size=1\n")
    assert anubis("run", "bench.toml").returncode == 0
    return anubis


def commit(folder, size):
    (folder / "size").write_text(size)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "size")
    return git(folder, "rev-parse", "HEAD")


def refused(anubis, *words):
    before = len(anubis.json("history"))
    ended = anubis("replay", *words)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("error: ") == 1
    assert len(anubis.json("history")) == before
    return ended.stderr


def test_a_replay_has_the_descriptor_the_overrides_and_the_series_of_its_run(anubis):
    file = anubis.write("bench.toml", "sh -c 'echo size=$SIZE'", more=VARIABLE + METRIC)
    anubis("run", file, "--set", "env.vars.SIZE=64", "--set", "measure.repeats=2")
    first = anubis.json("show", "@last")
    file.unlink()  # only what is stored counts
    ended = anubis("replay")
    assert ended.returncode == 0, ended.stderr
    assert f"replay of {first['id']}" in ended.stderr
    assert "the run has no commit" in ended.stderr
    again = anubis.json("show", "@last")
    assert again["id"] != first["id"]
    for same in ("digest", "series_key", "overrides", "name", "labels"):
        assert again[same] == first[same]
    assert again["metrics"]["size"] == first["metrics"]["size"]
    assert anubis("descriptor", again["id"]).stdout == anubis("descriptor", first["id"]).stdout
    (submitted,) = [event for event in again["events"] if event["kind"] == "submitted"]
    assert submitted["data"] == {"replay_of": first["id"]}


def test_further_overrides_are_added(anubis):
    file = anubis.write("bench.toml", "sh -c 'echo size=$SIZE'", more=VARIABLE + METRIC)
    anubis("run", file, "--set", "measure.repeats=2")
    answer = anubis.json("replay", "@last", "--set", "env.vars.SIZE=7")
    assert answer["run"]["overrides"] == {"measure.repeats": "2", "env.vars.SIZE": "7"}
    assert answer["run"]["metrics"]["size"]["value"] == 7
    assert answer["run"]["metrics"]["size"]["repeats"] == 2
    assert not answer["same_descriptor"]
    assert "measure.repeats" in refused(anubis, "@last", "--set", "measure.repeats=0")
    assert "matrix" in refused(anubis, "@last", "--set", "matrix.x=[1]")
    assert "did you mean" in refused(anubis, "@last", "--set", "measure.repeat=3")


def test_a_script_archive_is_used_again_with_its_modes(anubis):
    (anubis.folder / "code").mkdir()
    program = anubis.folder / "code" / "work.sh"
    program.write_text("#!/bin/sh\necho size=5\n")
    file = anubis.write("bench.toml", "${BAI_SCRIPTS_PATH}/code/work.sh", more=METRIC)
    assert anubis("run", file, "--script", "code").returncode == 0
    program.write_text("#!/bin/sh\necho size=6\n")
    answer = anubis.json("replay", "@last")
    assert answer["same_descriptor"]
    assert answer["run"]["metrics"]["size"]["value"] == 5
    for archive in (anubis.home / "objects").glob("*.tar"):
        archive.unlink()
    assert "the script archive" in refused(anubis, "@last")


def test_a_cell_of_a_sweep_is_replayed_alone(anubis):
    file = anubis.write(
        "bench.toml", "sh -c 'echo size=$SIZE'", more=METRIC + '[matrix]\n"env.vars.SIZE" = ["3", "4"]\n'
    )
    anubis("run", file)
    (cell,) = [row for row in anubis.json("history") if row["cell"] == {"env.vars.SIZE": "4"}]
    answer = anubis.json("replay", cell["id"])
    assert (answer["run"]["cell"], answer["run"]["family_id"]) == ({"env.vars.SIZE": "4"}, None)
    assert answer["run"]["metrics"]["size"]["value"] == 4
    lines = [line.split() for line in anubis("descriptor", "@last", "--resolved").stdout.splitlines()]
    assert ["SIZE", "=", '"4"', "#", "matrix"] in lines
    assert ["name", "=", '"bench"', "#", "line:3"] in lines
    assert ["execution_engine", "=", '"process"', "#", "submission"] in lines


def test_a_detached_replay_is_driven_by_a_worker(anubis):
    file = anubis.write("bench.toml", "echo size=2", more=METRIC)
    anubis("run", file)
    first = anubis.json("status", "@last")["id"]
    ended = anubis("replay", first, "--detach")
    run_id = ended.stdout.strip()
    assert anubis("watch", run_id).returncode == 0
    assert anubis.json("results", run_id)["metrics"]["size"]["value"] == 2
    answer = anubis.json("replay", first, "--detach")
    assert (answer["replay_of"], answer["same_descriptor"]) == (first, True)
    anubis("watch", answer["run"]["id"])


def test_the_same_commit_is_measured_again(committed):
    answer = committed.json("replay", "@last")
    assert answer["same_descriptor"]
    paths = {each["path"] for each in answer["differences"]}
    assert paths <= {"environment"}, "pytest sets a variable for each phase"


def test_another_commit_is_not_measured_under_the_name_of_the_old(committed, tmp_path):
    run = committed.json("status", "@last")
    new = commit(committed.folder, "size=2\n")
    said = refused(committed, run["id"])
    assert run["subject"][:12] in said
    assert new[:12] in said
    assert "git worktree add" in said

    git(committed.folder, "worktree", "add", tmp_path / "old", run["subject"])
    answer = committed.json("replay", run["id"], "--folder", tmp_path / "old")
    assert answer["same_descriptor"]
    assert answer["run"]["metrics"]["size"]["value"] == 1

    answer = committed.json("replay", run["id"], "--set", "subject.commit=auto")
    assert answer["run"]["metrics"]["size"]["value"] == 2
    assert (answer["run"]["subject"], answer["run"]["series_key"]) == (new, run["series_key"])
    points = committed.json("series", "show", "bench", "--metric", "size")
    assert json.dumps(points).count(new), "it is a point of the present commit"


def test_uncommitted_changes_are_not_what_was_measured(committed):
    (committed.folder / "size").write_text("size=9\n")
    assert "with uncommitted changes" in refused(committed, "@last")
    assert committed("run", "bench.toml").returncode == 0
    assert "uncommitted changes of" in refused(committed, "@last"), (
        "the same commit, but are they the same changes?"
    )
    answer = committed.json("replay", "@last", "--set", "subject.commit=auto")
    assert answer["run"]["subject"].endswith("-dirty")


def test_a_commit_that_is_gone_is_named(committed, tmp_path):
    git(tmp_path, "init", "-q", "other")
    commit(tmp_path / "other", "size=3\n")
    said = refused(committed, "@last", "--folder", tmp_path / "other")
    assert "its repository does not have the commit" in said


def test_a_folder_that_is_gone_is_named(anubis, tmp_path):
    (anubis.folder / "sub").mkdir()
    file = anubis.write("sub/bench.toml", "echo size=2", more=METRIC)
    anubis("run", file)
    (anubis.folder / "sub").rename(anubis.folder / "moved")
    assert "--folder" in refused(anubis, "@last")
    assert anubis("replay", "@last", "--folder", "moved").returncode == 0


def test_another_machine_is_named(anubis):
    file = anubis.write("bench.toml", "echo size=2", more=METRIC)
    anubis("run", file)
    (facts,) = anubis.home.glob("records/*/a1/benchmark/0/facts.json")
    content = json.loads(facts.read_text())
    content["fingerprint_inputs"]["cpu_model"] = "Another CPU"
    content["python"]["distributions_digest"] = "0" * 32
    facts.write_text(json.dumps(content))
    ended = anubis("replay", "@last")
    assert ended.returncode == 0
    assert "machine.cpu_model: cpu_model was Another CPU" in ended.stderr
    assert "its installed packages changed" in ended.stderr
    (machine,) = [
        each for each in anubis.json("replay", "@last~1")["differences"] if each["path"].startswith("machine")
    ]
    assert machine["severity"] == "warning"


def test_an_imported_run_cannot_be_replayed(anubis):
    (anubis.folder / "values.csv").write_text("benchmark,value,time_s\nfft,1.5,1700000000\n")
    anubis("import", "values.csv")
    assert "measured by another tool" in refused(anubis, "@last")


def test_the_environment_of_the_run_is_repeated_where_it_decides_what_is_measured(anubis, monkeypatch):
    file = anubis.write("bench.toml", "sh -c 'echo size=$OMP_NUM_THREADS'", more=METRIC)
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("FLAVOUR", "sweet")
    anubis("run", file)
    first = anubis.json("status", "@last")["id"]
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.setenv("FLAVOUR", "sour")
    answer = anubis.json("replay", first)
    assert answer["run"]["metrics"]["size"]["value"] == 3
    (named,) = [each["message"] for each in answer["differences"] if each["path"] == "environment"]
    assert named.endswith(": FLAVOUR")
