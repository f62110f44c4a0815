"""Options that every command accepts, before and after its name: ``--home``, ``--quiet``, ``--no-color``."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from anubis.cli import terminal


def _home(_ctx: click.Context, _param: click.Parameter, folder: Path | None) -> None:
    """Set the variable, because workers and plug-ins read their settings from the environment too."""
    if folder is not None:
        os.environ["ANUBIS_HOME"] = str(folder.expanduser().absolute())


def _quiet(_ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        terminal.preferences.quiet = True


def _no_colour(ctx: click.Context, _param: click.Parameter, value: bool) -> None:
    if value:
        terminal.preferences.colour = False
        for each in _with_parents(ctx):
            each.color = False


def _with_parents(ctx: click.Context | None) -> "list[click.Context]":
    return [] if ctx is None else [ctx, *_with_parents(ctx.parent)]


def shared_options(*, hidden: bool = False) -> list[click.Option]:
    """New instances of the options; they pass nothing to the command."""
    common: dict[str, Any] = {"expose_value": False, "is_eager": True, "hidden": hidden}
    return [
        click.Option(
            ["--home"],
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            callback=_home,
            help="Folder of all data of Anubis (default: ANUBIS_HOME, else ~/.anubis).",
            **common,
        ),
        click.Option(
            ["--quiet", "-q"],
            is_flag=True,
            callback=_quiet,
            help="Print only results, warnings and errors; for listings of runs, only the ids.",
            **common,
        ),
        click.Option(
            ["--no-color"],
            is_flag=True,
            callback=_no_colour,
            help="Do not use colours; setting NO_COLOR has the same effect.",
            **common,
        ),
    ]


def leading(args: Sequence[str]) -> int:
    """The number of words at the start of a command line that belong to these options."""
    values = {name: 0 if option.is_flag else 1 for option in shared_options() for name in option.opts}
    at = 0
    while at < len(args) and (name := args[at].partition("=")[0]) in values:
        at += 1 if "=" in args[at] else 1 + values[name]
    return min(at, len(args))


def add_to(command: click.Command) -> click.Command:
    """Add the options to a command and to those below it, unless they are there; the root's help describes them."""
    if not any("--home" in param.opts for param in command.params):
        command.params.extend(shared_options(hidden=True))
    if isinstance(command, click.Group):
        for child in command.commands.values():
            add_to(child)
    return command
