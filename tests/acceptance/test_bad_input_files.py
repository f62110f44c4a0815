"""Files that cannot be measured: one clear error with a place and a remedy, exit code 2, and nothing stored, half or whole.

The bad files of each kind are in test_cli_bad_input.py; these are further cases.
"""

import subprocess

import pytest

from support.command import BIN
from support.gated import stored

NEW = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
"""
OLD = """spec_version = "0.1.0"
[info]
task_name = "hello"
description = "says hello"
[hardware]
instance_type = "t3.small"
[env]
docker_image = "user/hello:1"
[ml]
benchmark_code = "true"
"""
#: Field of an old file -> the line without which it has none.
REQUIRED_OF_OLD = {
    "spec_version": 'spec_version = "0.1.0"\n',
    "info.description": 'description = "says hello"\n',
    "hardware.instance_type": 'instance_type = "t3.small"\n',
}
#: The one sample of the old system that its own reader refused.
SAGEMAKER_SAMPLE = OLD.replace('spec_version = "0.1.0"\n', "").replace('description = "says hello"\n', "")

NEAR_MISSES = """spec-version = "1.0"
[info]
nme = "hello"
[harware]
instance_type = "local"
[ml]
benchmark_cmd = "true"
[output]
metric = []
"""

PATTERNS = ["([", "*loss", "loss=(?P<value", "(?P<1>x)", "x{2,1}", "(?<=a+)b", "(" * 4000]

NOT_HERE = {
    "hardware.max_cost": "25 USD",
    "measure.isolate": "place",
    "env.privileged": "true",
}

DATA = '[[data.sources]]\nsrc = "gopher://bucket/imagenet"\npath = "/data"\n'


def refused(anubis, content, *words, verb="run"):
    """What the command said of a file with this content."""
    (anubis.folder / "bad.toml").write_text(content)
    return check_refused(anubis, anubis(verb, "bad.toml", *words))


def check_refused(anubis, ended):
    assert (ended.returncode, ended.stdout) == (2, ""), ended.stderr
    assert ended.stderr.count("error: ") == 1, "one error, whatever is below it"
    assert "help: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (anubis.home / "records").exists()
    assert stored(anubis.home) == []
    return ended.stderr


@pytest.mark.parametrize("path", ["nowhere.toml", ".", "nowhere/else.toml"])
def test_no_file(anubis, path):
    assert path in check_refused(anubis, anubis("run", path))


def test_a_file_without_end(anubis):
    """A device, or a data set given by mistake, is not read to its end."""
    check_refused(anubis, anubis("run", "/dev/zero"))


def test_five_megabytes_of_valid_toml(anubis):
    said = refused(anubis, NEW + "".join(f'[env.vars.v{i}]\na = "{"x" * 80}"\n' for i in range(50_000)))
    assert "bytes" in said


def test_near_misses_are_answered_with_what_was_meant(anubis):
    said = refused(anubis, NEAR_MISSES)
    for meant in ("spec_version", "name", "hardware", "benchmark_code", "metrics"):
        assert f"did you mean `{meant}`?" in said or f"did you mean [{meant}]?" in said


@pytest.mark.parametrize("field", REQUIRED_OF_OLD)
def test_an_old_file_without_a_required_field(anubis, field):
    said = refused(anubis, OLD.replace(REQUIRED_OF_OLD[field], ""))
    assert f"`{field.rpartition('.')[2]}` is missing" in said


def test_all_missing_fields_are_named_at_once(anubis):
    said = refused(anubis, SAGEMAKER_SAMPLE)
    assert "`spec_version` is missing" in said
    assert "`description` is missing" in said


def test_patterns_that_do_not_compile_are_all_told_where_they_stand(anubis):
    metric = "[[output.metrics]]\nname = 'm{}'\nunits = 'none'\npattern = '''{}'''\n"
    said = refused(anubis, NEW + "".join(metric.format(*one) for one in enumerate(PATTERNS)))
    for number in range(len(PATTERNS)):
        assert f"bad.toml:{11 + 4 * number}:1: output.metrics[{number}].pattern: " in said


@pytest.mark.parametrize("command", ["sh -c 'echo", 'echo "', "echo \\"])
def test_unbalanced_quotes(anubis, command):
    said = refused(anubis, NEW.replace('"true"', f"'''{command}'''"))
    assert "bad.toml:7:1: ml.benchmark_code" in said


@pytest.mark.parametrize("verb", ["run", "submit"])
def test_what_this_engine_cannot_do_is_refused_in_one_sentence_each(anubis, verb):
    words = [word for path, value in NOT_HERE.items() for word in ("--set", f"{path}={value}")]
    said = refused(anubis, NEW + DATA, *words, verb=verb).splitlines()
    for path in NOT_HERE:
        [sentence] = [line for line in said if line.strip().startswith(f"{path}: ")]
        assert any(
            words in sentence for words in ("not available", "not known here", "does not have", "no price")
        )
    assert "data.sources[0].src: no installed source reads `gopher:`" in [line.strip() for line in said]


def test_one_bad_cell_refuses_the_whole_sweep(anubis):
    assert "repeats" in refused(anubis, NEW + '[matrix]\n"measure.repeats" = [1, 2, 0]\n')


@pytest.mark.parametrize(
    "words",
    [
        ("run",),
        ("run", "good.toml", "--rounds", "0"),
        ("run", "good.toml", "--set", "measure.repeats"),
        ("run", "good.toml", "--set", "measure.repeats=many"),
        ("run", "good.toml", "--set", "nowhere=1"),
        ("run", "good.toml", "--script", "nowhere"),
        ("run", "good.toml", "--no-such-option"),
        ("rum", "good.toml"),
    ],
)
def test_a_command_line_that_cannot_be_meant(anubis, words):
    (anubis.folder / "good.toml").write_text(NEW)
    check_refused(anubis, anubis(*words))


def test_a_file_may_come_through_a_pipe(anubis):
    """No bad input: what a program writes is as good as what a person does, and its benchmark begins here."""
    piped = NEW.replace('"true"', '"ls"')
    ended = subprocess.run(
        ["bash", "-c", f"{BIN}/anubis run <(cat)"],
        cwd=anubis.folder,
        env=anubis.environment(),
        input=piped.encode(),
        capture_output=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    (anubis.folder / "here").touch()
    assert anubis("run", "/dev/stdin", input=piped, stdin=None).returncode == 0
    assert anubis("logs").stdout == "here\n"
