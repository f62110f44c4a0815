"""Every command's help as a Markdown page: ``python -m anubis.cli.reference`` prints it."""

from collections.abc import Iterator

import click

from anubis.cli import exit_codes
from anubis.cli.app import SECTIONS, app
from anubis.cli.params import PROGRAM
from anubis.cli.shared_options import shared_options

_HEAD = """\
# The command line

This page is generated from the commands: `python -m anubis.cli.reference > docs/reference/cli.md`.

Name a run by its id, by a unique prefix of it, or by `@last`, `@last~1` and so on. Tables show ids as short as they are unique
among the stored runs.
`--json` prints JSON on standard output; errors are always on standard error, with `--json` as one JSON object. Progress
and warnings are on standard error too, so standard output contains only the result. Colour is only used on a
terminal, and never when `NO_COLOR` is set. Statuses are shown as words (queued, running, collecting ...); JSON contains their
[stable names](../concepts/lifecycle.md). `--json` exists on every command except `schema`, whose output is JSON, and `completion`,
whose output is a script for the shell.

Old spellings (`anubis --submit FILE`, `baictl run benchmark --descriptor=FILE` and the like) still work; each use prints
the new spelling.
"""


def markdown() -> str:
    """The whole page."""
    context = click.Context(app, info_name=PROGRAM, terminal_width=100, help_option_names=["-h", "--help"])
    parts = [_HEAD, *_shared(), *_commands(context), "## Exit status", "", *_exit_codes()]
    return "\n".join(parts) + "\n"


def _shared() -> Iterator[str]:
    yield from (
        "## Options of every command",
        "",
        "These options are accepted before and after the command.",
        "",
    )
    yield from ("| Option | Meaning |", "|---|---|")
    for option in shared_options():
        names = ", ".join(f"`{name}`" for name in option.opts)
        yield f"| {names}{f' {option.metavar}' if option.metavar else ''} | {option.help} |"
    yield ""


def _commands(context: click.Context) -> Iterator[str]:
    for heading, names in SECTIONS.items():
        yield from (f"## {heading}", "")
        for name in names:
            command = app.get_command(context, name)
            assert command is not None, name
            yield from _command(command, click.Context(command, info_name=name, parent=context))


def _command(command: click.Command, context: click.Context) -> Iterator[str]:
    yield from (f"### {context.command_path}", "", "```text", command.get_help(context), "```", "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            assert child is not None, name
            yield from _command(child, click.Context(child, info_name=name, parent=context))


def _exit_codes() -> Iterator[str]:
    yield "| Code | Meaning |"
    yield "|---|---|"
    for code, meaning in exit_codes.MEANINGS.items():
        yield f"| {code} | {meaning} |"


if __name__ == "__main__":
    print(markdown(), end="")
