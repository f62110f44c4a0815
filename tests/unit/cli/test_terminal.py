"""Text that the command line prints cannot control a terminal."""

import json

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.cli import terminal
from anubis.cli.views import json_output, tables
from anubis.reporting.markup import visible, visible_json, visible_line

HOSTILE = "\x1b[2J\x9b31m\r\u202egnp.exe\u2066\x07\x7f\u200b\ud800\U000e0041"


def is_safe(text):
    return not any(
        char != "\n"
        and char != "\t"
        and (ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u202e\u2066\u200b")
        for char in text
    )


def test_control_characters_are_escaped(capsys):
    terminal.line(f"a{HOSTILE}b\tc")
    assert capsys.readouterr().out == (
        "a\\x1b[2J\\x9b31m\\r\\u202egnp.exe\\u2066\\x07\\x7f\\u200b\\ud800\\U000e0041b\tc\n"
    )


@given(text=st.text())
def test_nothing_unsafe_remains(text):
    assert is_safe(visible(text))
    assert visible(visible(text)) == visible(text)
    assert visible_line(text).splitlines() in ([visible_line(text)], [])
    assert json.loads(visible_json(json.dumps(text, ensure_ascii=False))) == text


def test_letters_of_every_script_and_emoji_stay():
    text = "Größe 測定 العربية नमस्ते 👩‍🔬 é"
    assert visible(text) == text


def test_own_styles_are_kept_and_those_of_others_are_not(capsys, monkeypatch):
    shown = []
    monkeypatch.setattr(click, "echo", lambda text, **_: shown.append(text))
    terminal.line(terminal.style("a\x1b[31mb", fg="red", bold=True) + "c\x1b[0m")
    assert shown == ["\x1b[31m\x1b[1ma\\x1b[31mb\x1b[0mc\\x1b[0m"]


def test_json_stays_json(capsys):
    json_output.show({"x": HOSTILE[:-2]})
    shown = capsys.readouterr().out
    assert is_safe(shown)
    assert json.loads(shown) == {"x": HOSTILE[:-2]}


def test_a_cell_is_one_line(capsys):
    tables.show([tables.Column(title="NAME"), tables.Column(title="N")], [["a\nerror: b", "1"]])
    assert capsys.readouterr().out.splitlines()[1:] == ["a\\nerror: b  1"]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_a_log_is_escaped_whatever_its_pieces(capsys, size):
    content = "ü\r\n\x1b[1mx\rü\t\n".encode() + b"\xff\xc3"
    escaped = terminal.Escaped()
    for start in range(0, len(content), size):
        escaped.write(content[start : start + size])
    escaped.finish()
    assert capsys.readouterr().out == "ü\n\\x1b[1mx\\rü\t\n\\xff\\xc3"
