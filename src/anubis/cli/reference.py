"""Every command's help as a Markdown page: ``python -m anubis.cli.reference`` prints it."""

from collections.abc import Iterator

import click

from anubis.cli import exit_codes
from anubis.cli.app import SECTIONS, app
from anubis.cli.params import PROGRAM


def markdown() -> str:
    """The body of the page, from second-level headings down."""
    context = click.Context(app, info_name=PROGRAM, max_content_width=100, terminal_width=100)
    parts = [*_commands(context), "## Exit status", "", *_exit_codes()]
    return "\n".join(parts) + "\n"


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
