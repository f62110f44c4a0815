"""What cannot be accepted ends in one clear error and exit code 2, and leaves nothing behind."""

import json

import pytest

GOOD = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
"""

BAD = {
    "empty": ("", "benchmark_code"),
    "not TOML": ("this is no TOML = = =", "1:"),
    "binary": (b"\x00\xff\xfe\x80" * 100, ""),
    "of another tool": ('[build-system]\nrequires = ["hatchling"]\n[project]\nname = "x"\n', ""),
    "too large": ("# padding\n" * 500_000, ""),
    "unknown key": (GOOD.replace("benchmark_code", "benchmark_cod"), "benchmark_code"),
    "unknown section": (GOOD + "[hardwar]\n", "hardwar"),
    "missing field": (GOOD.replace('name = "hello"', ""), "name"),
    "bad pattern": (GOOD + "[[output.metrics]]\nname = \"a\"\npattern = '(['\n", "pattern"),
    "unbalanced quotes": (GOOD.replace('"true"', '"sh -c \'true"'), "benchmark_code"),
    "no such engine": (
        GOOD.replace("[hardware]", 'execution_engine = "warp"\n[env]\ndocker_image = "a:b"\n[hardware]'),
        "warp",
    ),
    "not available here": (GOOD + '\n[measure]\nisolate = "place"\n', "measure.isolate"),
}


@pytest.mark.parametrize("verb", ["run", "submit"])
@pytest.mark.parametrize("name", BAD)
def test_a_bad_descriptor_is_refused(anubis, name, verb):
    content, mentioned = BAD[name]
    file = anubis.folder / "bad.toml"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    ended = anubis(verb, file)
    assert ended.returncode == 2, ended.stderr
    assert ended.stdout == ""
    assert ended.stderr.startswith("error: ")
    assert "help: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert mentioned in ended.stderr
    assert not list(anubis.home.glob("records/*"))


def test_nothing_is_stored_when_one_of_several_files_is_bad(anubis):
    good, bad = anubis.folder / "good.toml", anubis.folder / "bad.toml"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("benchmark_code", "code"))
    assert anubis("submit", good, bad).returncode == 2
    assert anubis.json("history") == []


def test_all_problems_come_at_once_where_an_editor_finds_them(anubis):
    file = anubis.folder / "bad.toml"
    file.write_text(GOOD.replace("instance_type", "instance_typ").replace("benchmark_code", "benchmark_cod"))
    ended = anubis("run", "bad.toml")
    assert "bad.toml:5:1: hardware.instance_typ: " in ended.stderr
    assert "bad.toml:7:1: ml.benchmark_cod: " in ended.stderr


def test_with_json_the_error_is_json_too(anubis):
    ended = anubis("run", "nowhere.toml", "--json")
    assert (ended.returncode, ended.stdout) == (2, "")
    told = json.loads(ended.stderr)
    assert told["exit_code"] == 2
    assert "nowhere.toml" in told["error"]
    assert told["remedy"]


def test_settings_that_cannot_be_accepted_are_told(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_LEASE_S", "many")
    ended = anubis("history")
    assert ended.returncode == 2
    assert "ANUBIS_LEASE_S" in ended.stderr


def test_settings_of_an_engine_matter_when_it_is_used(anubis, monkeypatch):
    file = anubis.write("hello.toml", "true")
    monkeypatch.setenv("ANUBIS_PROCESS_SLOTS", "many")
    ended = anubis("run", file)
    assert ended.returncode == 2
    assert "ANUBIS_PROCESS_SLOTS" in ended.stderr
    assert "whole number of at least 1" in ended.stderr
    assert anubis("history").returncode == 0


def test_a_home_that_cannot_be_made_is_told(anubis):
    anubis.home.write_text("a file")
    ended = anubis("history")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: ")
    assert "ANUBIS_HOME" in ended.stderr


def test_a_home_that_cannot_be_made_is_bad_input(anubis):
    ended = anubis("history", "--home", "/proc/nope")
    assert ended.returncode == 2
    assert ended.stderr.startswith("error: the home folder /proc/nope cannot be made")
    assert "--home" in ended.stderr.splitlines()[1]


@pytest.mark.parametrize("verb", ["check", "compare"])
def test_a_file_where_a_run_is_expected_is_named(anubis, verb):
    (anubis.folder / "notes.txt").write_text(GOOD)
    ended = anubis(verb, "bench.tml", "@last")
    assert ended.returncode == 2
    assert "there is no file bench.tml" in ended.stderr
    (anubis.folder / "bench.toml").write_text(GOOD)
    ended = anubis("compare", "bench.toml", "bench.toml")
    assert ended.returncode == 2
    assert "bench.toml is a file, not a run" in ended.stderr
    assert "anubis run A B" in ended.stderr


def test_a_file_that_is_missing_does_not_hide_the_others(anubis):
    (anubis.folder / "good.toml").write_text(GOOD)
    ended = anubis("validate", "good.toml", "missing.toml")
    assert ended.returncode == 2
    assert "good.toml" in ended.stdout
    assert "missing.toml: No such file or directory" in ended.stderr
    assert [each["valid"] for each in anubis.json("validate", "good.toml", "missing.toml", code=2)] == [
        True,
        False,
    ]
    assert "No such file" in anubis("validate", "missing.toml", "--resolved").stderr


def test_a_wrong_override_is_not_blamed_on_the_file(anubis):
    (anubis.folder / "good.toml").write_text(GOOD)
    for command in (["validate", "--resolved"], ["run"], ["check"]):
        ended = anubis(*command, "good.toml", "--set", "measure.repeat=3")
        assert ended.returncode == 2
        assert "the overrides are not valid for good.toml" in ended.stderr
        assert "not a valid descriptor" not in ended.stderr
        assert "measure.repeat" in ended.stderr
    assert "a name and a value with = between them" in anubis("run", "good.toml", "--set", "x").stderr


def test_shell_syntax_without_a_shell_is_explained(anubis):
    ended = anubis("run", "--", "echo a | wc")
    assert ended.returncode == 1
    assert "shell syntax need sh -c" in ended.stdout
    ended = anubis("run", "--", "sh", "-c", "kill -9 $$")
    assert "anubis logs" in ended.stdout
    assert "memory_gb" in ended.stdout
