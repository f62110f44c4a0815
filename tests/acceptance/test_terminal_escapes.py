"""Text of guests cannot control the terminal: every command shows it with escapes, also into a pipe."""

import json

import pytest

from support.terminal import Terminal

EVIL = "x\x1b]0;owned\x07\x9b31m\r\u202eexe\u2066"
#: Bytes that must not reach an output: ESC, BEL, CR, C1 and bidirectional controls in UTF-8.
UNSAFE = [b"\x1b", b"\x07", b"\r", "\x9b".encode(), "\u202e".encode(), "\u2066".encode()]


@pytest.fixture
def imported(anubis):
    """A home with an imported history of which every text is hostile."""
    rows = [
        {
            "benchmark": EVIL,
            "metric": EVIL,
            "value": str(value),
            "units": "s",
            "time_s": str(1_700_000_000 + at),
        }
        | {"version": f"{EVIL}{at}", "machine": EVIL}
        for at, value in enumerate((1.0, 1.1, 5.0))
    ]
    quote = '"{}"'.format
    lines = [",".join(rows[0]), *(",".join(map(quote, row.values())) for row in rows)]
    path = anubis.folder / "history.csv"
    path.write_text("\n".join(lines), newline="")
    ended = anubis("import", path, text=False)
    assert ended.returncode == 0, ended.stderr
    return anubis


def is_safe(output):
    return not any(unsafe in output for unsafe in UNSAFE)


def test_imported_rows(imported):
    for words in (
        "history",
        "series list",
        "show @last",
        "results @last",
        "descriptor @last",
        "status @last",
    ):
        for more in ((), ("--json",)):
            ended = imported(*words.split(), *more, text=False)
            assert is_safe(ended.stdout), (words, more, ended.stdout)
            assert is_safe(ended.stderr), (words, more, ended.stderr)
            if more:
                json.loads(ended.stdout)
    assert b"\\x1b]0;owned" in imported("history", text=False).stdout


def test_errors_that_repeat_the_input(anubis):
    (anubis.folder / "evil.toml").write_text(
        f'spec_version = "1.0"\n[info]\nname = "{EVIL[:1]}"\n"\\u001b[2J" = 1\n'
    )
    for words in (["validate", "evil.toml"], ["status", EVIL], ["run", f"{EVIL}.toml"], ["import", EVIL]):
        for more in ([], ["--json"]):
            ended = anubis(*words, *more, text=False)
            assert ended.returncode == 2
            assert is_safe(ended.stdout + ended.stderr), ended


def test_logs(anubis):
    (anubis.folder / "evil.py").write_text(
        f"import sys; sys.stdout.buffer.write({EVIL.encode()!r} + b'\\n\\xff')"
    )
    assert anubis("run", anubis.write("evil.toml", "python3 evil.py")).returncode == 0
    assert anubis("logs", "--raw", text=False).stdout == EVIL.encode() + b"\n\xff"
    shown = anubis("logs", text=False).stdout
    assert shown == b"x\\x1b]0;owned\\x07\\x9b31m\\r\\u202eexe\\u2066\n\\xff"
    (first, _) = (json.loads(line) for line in anubis("logs", "--json").stdout.splitlines())
    assert first["line"] == EVIL
    assert is_safe(anubis("logs", "-t", text=False).stdout)
    assert anubis("logs", "--raw", "--json").returncode == 2


def test_a_terminal_sees_only_own_colours(imported):
    seen = Terminal(imported, "history", columns=200).read_all()
    assert b"\x1b[" in seen, "the head of the table is bold"
    assert b"\x1b]" not in seen
    assert "\u202e".encode() not in seen
