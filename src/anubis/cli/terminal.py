"""The terminal: its size, colours, and lines on standard error."""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import click

from anubis.model.errors import AnubisError


@dataclass(slots=True)
class Preferences:
    """What the options of the command line say about its output."""

    #: Print neither progress nor notes.
    quiet: bool = False
    #: Colours are allowed.
    colour: bool = True

    def reset(self) -> None:
        self.quiet, self.colour = False, True


#: Those of the running command.
preferences = Preferences()


def colour_wanted(environ: "os._Environ[str] | dict[str, str]" = os.environ) -> bool:
    """Whether to colour output on a terminal (no-color.org)."""
    return preferences.colour and not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def fill_closed_streams() -> None:
    """Open closed standard streams on the null device, so that no other file gets their numbers."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  open until the process ends


def interactive(stream: IO[str] | None = None) -> bool:
    """Whether this stream (default: standard output) is a terminal that can move its cursor."""
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """Columns of the terminal; None if the output is piped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def warn(text: str) -> None:
    """Print a warning, one line on standard error."""
    click.secho("warning: ", fg="yellow", err=True, nl=False, color=_err_colour())
    click.echo(text, err=True)


def note(text: str) -> None:
    """Print a note, one line on standard error, that requires no action."""
    if preferences.quiet:
        return
    click.secho("note: ", fg="cyan", err=True, nl=False, color=_err_colour())
    click.echo(text, err=True)


def no_match(error: AnubisError | None) -> None:
    """Print why a listing is empty, if one of its conditions can match nothing."""
    if error is not None:
        note(f"{error.message}: {error.remedy}")


def progress(text: str) -> None:
    """Print a line about progress on standard error."""
    if not preferences.quiet:
        click.echo(text, err=True)


def error(text: str) -> None:
    """Print an error message on standard error."""
    click.secho("error: ", fg="red", bold=True, err=True, nl=False, color=_err_colour())
    click.echo(text, err=True)


def remedy(text: str, *, indent: str = "") -> None:
    """Print the remedy of an error on standard error."""
    click.secho(f"{indent}help: ", fg="green", err=True, nl=False, color=_err_colour())
    click.echo(text, err=True)


def _err_colour() -> bool | None:
    return None if colour_wanted() else False


def can_ask() -> bool:
    """Whether the command can ask the user a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()
