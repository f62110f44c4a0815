import json

import pytest

from anubis.cli import terminal
from anubis.cli.app import execute
from anubis.cli.shared_options import leading


@pytest.fixture(autouse=True)
def restored(monkeypatch):
    """The home that a command line selects is not that of later tests."""
    monkeypatch.setenv("ANUBIS_HOME", "/nowhere")
    yield
    terminal.preferences.reset()


@pytest.mark.parametrize(
    "words",
    [
        "--home {} history --json",
        "history --home {} --json",
        "history --home={} --json",
        "--home {} series list --json",
        "series --home {} list --json",
        "series --home {} --json",
        "series list --home {} --json",
        "-q alerts --no-color --json --home {}",
        "alerts -q --home {} --no-color list --json",
    ],
)
def test_the_options_are_accepted_before_and_after_every_command(words, tmp_path, capsys):
    home = tmp_path / "home"
    assert execute(words.format(home).split()) == 0
    assert json.loads(capsys.readouterr().out) == []
    assert (home / "anubis.db").exists()


def test_preferences_end_with_their_command(tmp_path):
    execute(["--home", str(tmp_path), "-q", "history", "--no-color"])
    assert (terminal.preferences.quiet, terminal.preferences.colour) == (True, False)
    execute(["--home", str(tmp_path), "history"])
    assert (terminal.preferences.quiet, terminal.preferences.colour) == (False, True)


def test_a_home_that_is_a_file_is_refused(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert execute(["--home", str(tmp_path / "file"), "history"]) == 2
    assert "--home" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("args", "count"),
    [
        ([], 0),
        (["list"], 0),
        (["--home"], 1),
        (["--home", "x"], 2),
        (["--home=x", "-q", "--no-color", "show"], 3),
        (["--all", "--quiet"], 0),
    ],
)
def test_leading_options_are_counted_with_their_values(args, count):
    assert leading(args) == count
