"""The root of the command line, in this process."""

import re
import sys
from pathlib import Path

import pytest

from anubis.cli import main
from anubis.cli.app import SECTIONS, execute
from anubis.cli.exit_codes import MEANINGS
from anubis.cli.reference import markdown
from support.tree import ROOT

COMMANDS = [name for places in SECTIONS.values() for name in places]


@pytest.mark.parametrize(
    ("words", "mentioned"),
    [
        ("run", "missing argument"),
        ("run nowhere.toml", "nowhere.toml"),
        ("run .", "directory"),
        ("run x.toml --rounds 0", "--rounds"),
        ("run x.toml --set repeats", "a name and a value with = between them"),
        ("stats", "did you mean status"),
        ("status", "@last"),
        ("status @last~3", "@last~3"),
        ("status deadbeef", "deadbeef"),
        ("results no-such-run", "no-such-run"),
        ("history --since whenever", "2026-01-31"),
        ("history --status gone", "--status"),
        ("history --limit 0", "--limit"),
        ("compare a b --min-effect much", "share"),
        ("cancel", "--all"),
        ("purge", "missing argument"),
        ("record import nowhere.zst", "nowhere.zst"),
        ("validate", "missing argument"),
        ("validate a.toml b.toml --upgrade", "--upgrade"),
        ("completion tcsh", "tcsh"),
        ("gc --older-than soon", "span"),
        ("--register", "--register"),
        ("--nonsense", "--nonsense"),
    ],
)
def test_a_wrong_command_line_is_explained(words, mentioned, capsys):
    code = execute(words.split())
    told = capsys.readouterr()
    assert (code, told.out) == (2, "")
    assert told.err.startswith("error: ")
    assert told.err.count("\n") == 2, "one sentence for what happened, one for the remedy"
    assert mentioned in told.err


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(command, capsys):
    assert execute([command, "--help"]) == 0
    assert capsys.readouterr().out.startswith(f"Usage: anubis {command}")


def test_the_help_lists_every_command_and_exit_code(capsys):
    assert execute([]) == 0
    shown = capsys.readouterr().out
    assert all(re.search(rf"^  {name} ", shown, re.MULTILINE) for name in (*COMMANDS, *MEANINGS))


def test_the_version_is_told_without_loading_anything(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["anubis", "--version"])
    monkeypatch.setitem(sys.modules, "anubis.cli.app", None)
    main()
    assert capsys.readouterr().out.startswith("anubis ")


def test_the_reference_holds_every_command(capsys):
    page = markdown()
    assert all(f"### anubis {name}\n" in page for name in COMMANDS)
    assert "### anubis record export" in page
    assert (ROOT / "docs" / "reference" / "cli.md").read_text() == page, "make it anew as the page says"


def test_a_defect_ends_in_one_line_that_names_the_traceback(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr("anubis.cli.home.open_client", None)
    monkeypatch.setattr("anubis.cli.commands.status.open_client", None)
    assert execute(["status"]) == 70
    told = capsys.readouterr().err
    assert told.startswith("error: a defect in Anubis: TypeError")
    assert "Traceback" in Path(told.split("traceback in ")[1].strip()).read_text()
