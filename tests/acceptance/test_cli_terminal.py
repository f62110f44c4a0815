"""What a person sees on a terminal: the live view, colours, widths."""

import pytest

from support.terminal import Terminal, lines_of

METRIC = """
[[output.metrics]]
name = "answer"
units = "s"
pattern = 'answer=(\\S+)'
better = "lower"
"""


@pytest.mark.parametrize("columns", [80, 140])
def test_the_live_view_names_side_round_and_rest(anubis, columns):
    """The first run of the contender waits until the view has shown it."""
    old = anubis.write("old.toml", "sh -c 'echo answer=1'", more=METRIC)
    wait = "while [ ! -e shown ]; do sleep 0.05; done"
    new = anubis.write("new.toml", f"sh -c 'echo answer=2; {wait}'", more=METRIC)
    first_use = lines_of(Terminal(anubis, "history", columns=columns).read_all())
    assert first_use[0].startswith(f"note: created {anubis.home}")
    screen = Terminal(anubis, "run", old, new, "--rounds", 2, columns=columns)
    screen.read_until(b"contender, round 1 of 2")
    screen.read_until(b" left  Ctrl-C cancels")
    (anubis.folder / "shown").touch()
    lines = lines_of(screen.read_all())
    assert screen.process.returncode == 0, lines
    assert any("1 of 4 done  about " in line for line in lines), "baseline has ended once"
    assert any("running" in line for line in lines)
    assert max(map(len, lines)) <= columns


def test_quiet_shows_only_the_result(anubis):
    file = anubis.write("hello.toml", "sh -c 'echo answer=1'", more=METRIC)
    screen = Terminal(anubis, "run", file, "--quiet", columns=80)
    lines = lines_of(screen.read_all())
    assert lines[0].startswith("METRIC")
    piped = anubis("--quiet", "run", file)
    assert (piped.returncode, piped.stderr) == (0, "")


@pytest.mark.parametrize(
    ("words", "variables", "coloured"),
    [
        ("history", {}, True),
        ("history --no-color", {}, False),
        ("--no-color history", {}, False),
        ("alerts show beef --no-color", {}, False),
        ("history", {"NO_COLOR": "1"}, False),
        ("history", {"TERM": "dumb"}, False),
    ],
)
def test_colours_are_used_on_terminals_and_can_be_switched_off(anubis, words, variables, coloured):
    anubis("run", anubis.write("hello.toml", "true"))
    seen = Terminal(anubis, *words.split(), columns=80, variables=variables).read_all()
    assert (b"\x1b[" in seen) == coloured, seen
