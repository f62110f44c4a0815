import json
import signal

import pytest

METRIC = """
[[output.metrics]]
name = "answer"
units = "s"
pattern = 'answer=(\\S+)'
better = "lower"
"""
SWEEP = """
[matrix]
"env.vars.SIZE" = ["1", "2"]
"""


def test_one_command_measures_a_descriptor(anubis):
    file = anubis.write("hello.toml", "sh -c 'echo answer=0.0125'", more=METRIC)
    ended = anubis("run", file)
    assert ended.returncode == 0
    assert "answer     12.50  ms" in ended.stdout
    assert "hello" in ended.stdout
    assert "succeeded" in ended.stdout
    assert ended.stderr.count("\n") == 2, "one line when it starts, one when it is final"


def test_json_is_the_same_run(anubis):
    file = anubis.write("hello.toml", "sh -c 'echo answer=42'", more=METRIC)
    answer = anubis.json("run", file)
    (run,) = answer["runs"]
    assert run["metrics"]["answer"]["value"] == 42
    assert anubis.json("status", run["id"]) == run
    assert anubis.json("results", run["id"])["metrics"] == run["metrics"]


def test_a_benchmark_that_fails_is_explained(anubis):
    file = anubis.write("bad.toml", "sh -c 'echo started; echo no such model >&2; exit 3'")
    ended = anubis("run", file)
    assert ended.returncode == 1
    assert "exit code 3" in ended.stdout
    assert "> no such model" in ended.stdout
    assert "help: " in ended.stdout
    (run,) = anubis.json("history")
    assert (run["status"], run["cause"]) == ("failed", "user_error")


def test_a_metric_that_never_appeared_shows_the_closest_lines(anubis):
    file = anubis.write("typo.toml", "sh -c 'echo answr=42; echo unrelated'", more=METRIC)
    ended = anubis("run", file)
    assert ended.returncode == 1
    assert "answer" in ended.stdout
    assert "answr=42" in ended.stdout


def test_a_program_that_does_not_exist_fails_its_run(anubis):
    ended = anubis("run", anubis.write("gone.toml", "no-such-program --fast"))
    assert ended.returncode == 1
    assert anubis.json("status")["cause"] == "command_not_found"


def test_a_sweep_has_one_line_for_each_cell(anubis):
    file = anubis.write("sweep.toml", "sh -c 'echo answer=$SIZE'", more=METRIC + SWEEP)
    ended = anubis("run", file)
    assert ended.returncode == 0
    heading, *cells = ended.stdout.splitlines()
    assert heading.split() == ["RUN", "SIZE", "STATUS", "answer", "[s]"]
    assert [line.split()[1:] for line in cells] == [["1", "succeeded", "1"], ["2", "succeeded", "2"]]
    assert anubis("watch", "--family").stdout == ended.stdout


def test_two_files_end_in_a_verdict(anubis):
    files = [
        anubis.write(f"{name}.toml", f"sh -c 'echo answer={value}'", more=METRIC)
        for name, value in (("old", 1), ("new", 2))
    ]
    ended = anubis("run", *files, "--rounds", "3")
    assert ended.returncode == 0, "a run says whether it ran; compare says what it thinks of it"
    assert "1 -> 2" in ended.stdout.replace(".000", "")
    assert "REGRESSION" in ended.stdout
    assert anubis("run", anubis.write("other.toml", "true")).returncode == 0
    again = anubis("compare")
    assert again.returncode == 3
    assert "REGRESSION" in again.stdout
    runs = anubis.json("history", "--family", "@last~1")
    rounds = [anubis.json("show", run["id"])["events"][0]["data"]["cell"] for run in reversed(runs)]
    names = [cell["file"] for cell in rounds]
    assert names == ["old.toml", "new.toml", "new.toml", "old.toml", "old.toml", "new.toml"]


def test_without_a_comparison_that_can_be_judged_there_is_one_clear_error(anubis):
    assert anubis("run", anubis.write("alone.toml", "true"), "--rounds", 2).returncode == 0
    ended = anubis("compare")
    assert ended.returncode == 2
    assert "no comparison of two files is stored" in ended.stderr
    broken = [anubis.write(f"{name}.toml", command) for name, command in (("old", "false"), ("new", "true"))]
    assert anubis("run", *broken).returncode == 1
    ended = anubis("compare")
    assert ended.returncode == 2
    assert (
        "the last comparison, of old.toml and new.toml, has no successful runs on both sides" in ended.stderr
    )


def test_files_of_one_name_are_told_apart(anubis):
    for folder, value in (("a", 1), ("b", 1)):
        (anubis.folder / folder).mkdir()
        anubis.write(f"{folder}/same.toml", f"sh -c 'echo answer={value}'", more=METRIC)
    answer = anubis.json("run", "a/same.toml", "b/same.toml", "--rounds", "3")
    (comparison,) = answer["comparisons"]
    assert (len(comparison["baseline"]), len(comparison["contender"])) == (3, 3)
    assert comparison["verdicts"][0]["judgement"] == "unchanged"
    assert comparison["exit_code"] == 0


def test_a_field_is_overridden(anubis):
    file = anubis.write("hello.toml", "sh -c 'echo answer=1'", more=METRIC)
    answer = anubis.json("run", file, "--set", "measure.repeats=3", "--set", "info.name=other")
    (run,) = answer["runs"]
    assert (run["name"], run["metrics"]["answer"]["repeats"]) == ("other", 3)


def test_a_script_comes_along(anubis):
    (anubis.folder / "code").mkdir()
    (anubis.folder / "code" / "main.sh").write_text("echo answer=7\n")
    file = anubis.write("scripted.toml", "sh -c 'sh $BAI_SCRIPTS_PATH/code/main.sh'", more=METRIC)
    before = file.read_bytes()
    answer = anubis.json("run", file, "--script", "code")
    assert answer["runs"][0]["metrics"]["answer"]["value"] == 7
    assert file.read_bytes() == before, "the old client edited the user's file"


def test_old_spellings_are_told_and_accepted(anubis):
    old = anubis.folder / "old.toml"
    old.write_text(
        'spec_version = "0.1.0"\n[info]\ntask_name = "old"\ndescription = "from before"\n[hardware]\ninstance_type = "local"\n'
        '[env]\ndocker_image = "a:b"\n[ml]\nbenchmark_code = "true"\n'
    )
    ended = anubis("run", old)
    assert ended.returncode == 0, ended.stderr
    assert "warning: " in ended.stderr


def test_ctrl_c_cancels_and_waits(anubis):
    process = started(anubis, "sh -c 'echo begun; sleep 600'")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 5, err
    assert b"cancelled" in out
    assert anubis.json("status")["status"] == "cancelled"


def test_a_second_ctrl_c_leaves_and_says_how_to_look_later(anubis):
    process = started(anubis, "sh -c 'trap \"\" TERM; echo begun; sleep 600 & wait'")
    process.send_signal(signal.SIGINT)
    while not any(event["kind"] == "cancel_requested" for event in anubis.json("show")["events"]):
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"being cancelled in the background: anubis watch" in err
    watched = anubis("watch")
    assert watched.returncode == 5, watched.stderr
    assert anubis.json("status")["status"] == "cancelled"


def started(anubis, command, more=""):
    """``anubis run`` of a command that has said something already."""
    process = anubis.start("run", anubis.write("long.toml", command, more=more))
    for line in process.stderr:
        if b" running" in line:
            break
    while "begun" not in anubis("logs").stdout:
        pass
    return process


def test_nothing_else_is_printed_where_json_is(anubis):
    file = anubis.write("hello.toml", "sh -c 'echo answer=1'", more=METRIC)
    assert json.loads(anubis("run", file, "--json").stdout)["comparisons"] == []


def test_a_killed_command_loses_nothing_and_starts_nothing_twice(anubis):
    gate = anubis.folder / "gate"
    command = (
        "sh -c 'echo begun >> started; echo begun; while [ ! -e gate ]; do sleep 0.05; done; echo answer=5'"
    )
    process = started(anubis, command, more=METRIC)
    process.kill()
    process.communicate()
    assert anubis.json("status")["status"] == "watch"
    gate.touch()
    watched = anubis("watch")
    assert watched.returncode == 0, watched.stderr
    assert anubis.json("status")["metrics"]["answer"]["value"] == 5
    assert (anubis.folder / "started").read_text() == "begun\n"


def test_ctrl_c_while_watching_leaves_and_lets_the_run_go_on(anubis):
    gate = anubis.folder / "gate"
    anubis("submit", anubis.write("long.toml", "sh -c 'while [ ! -e gate ]; do sleep 0.05; done'"))
    watching = anubis.start("watch")
    assert b"  running" in watching.stderr.readline()
    watching.send_signal(signal.SIGINT)
    _, err = watching.communicate(timeout=60)
    assert watching.returncode == 130
    assert b"continuing in the background" in err
    gate.touch()
    assert anubis("watch").returncode == 0


def test_a_first_descriptor_is_four_lines(anubis):
    (anubis.folder / "first.toml").write_text('[info]\nname = "first"\n[ml]\nbenchmark_code = "echo hello"\n')
    assert anubis("run", "first.toml").returncode == 0
    values = {each["path"]: each for each in anubis.json("validate", "first.toml", "--resolved")}
    assert values["hardware.instance_type"] == {
        "path": "hardware.instance_type",
        "value": "local",
        "origin": "default",
        "line": None,
    }
    assert (values["info.name"]["origin"], values["info.name"]["line"]) == ("file", 2)
    text = anubis("validate", "first.toml", "--resolved", "--set", "measure.repeats=3").stdout
    (repeats,) = [line.split() for line in text.splitlines() if line.startswith("repeats")]
    assert repeats == ["repeats", "=", "3", "#", "--set"]
    (anubis.folder / "whole.toml").write_text(text)
    assert anubis.json("validate", "whole.toml")[0]["valid"]
    assert anubis("validate", "first.toml", "--upgrade").stdout.startswith("[info]")


def test_an_invalid_file_is_not_printed_as_a_descriptor(anubis):
    (anubis.folder / "bad.toml").write_text('[info]\nname = "bad"\n[ml]\nbenchmark_cod = "true"\n')
    for words in ([], ["--resolved"], ["--json"]):
        ended = anubis("descriptor", "bad.toml", *words)
        assert (ended.returncode, ended.stdout) == (2, "")
        assert "did you mean `benchmark_code`" in ended.stderr
    (anubis.folder / "good.toml").write_text('[info]\nname = "good"\n[ml]\nbenchmark_code = "true"\n')
    assert anubis("descriptor", "good.toml").stdout == (anubis.folder / "good.toml").read_text()


@pytest.mark.parametrize("words", [["first.toml", "first.toml"], ["first.toml", "--plan"], ["bad.toml"]])
def test_resolved_is_refused_for_several_files_and_invalid_ones(anubis, words):
    (anubis.folder / "first.toml").write_text('[info]\nname = "first"\n[ml]\nbenchmark_code = "true"\n')
    (anubis.folder / "bad.toml").write_text("[info]\n")
    ended = anubis("validate", *words, "--resolved")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("error: ") == 1
