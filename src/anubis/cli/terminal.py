"""What the terminal can show."""

import os
import shutil
import sys
from pathlib import Path
from typing import IO

import click


def colour_wanted(environ: "os._Environ[str] | dict[str, str]" = os.environ) -> bool:
    """Whether colour is welcome where there is a terminal (no-color.org)."""
    return not environ.get("NO_COLOR") and environ.get("TERM") != "dumb"


def fill_closed_streams() -> None:
    """Whoever starts commands may have closed stdin and friends: they lead nowhere then, and no file takes their number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115  open for life


def interactive(stream: IO[str] | None = None) -> bool:
    """Whether a person watches this stream (standard output), on a terminal that can move its cursor."""
    return (stream or sys.stdout).isatty() and os.environ.get("TERM") != "dumb"


def width() -> int | None:
    """Columns to fill; None where the output is piped and nothing needs to be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def warn(text: str) -> None:
    """One line on standard error."""
    click.secho("warning: ", fg="yellow", err=True, nl=False, color=_err_colour())
    click.echo(text, err=True)


def note(text: str) -> None:
    """One line on standard error that nobody has to act on."""
    click.secho("note: ", fg="cyan", err=True, nl=False, color=_err_colour())
    click.echo(text, err=True)


def error(text: str) -> None:
    """The line that says what went wrong, on standard error."""
    click.secho("error: ", fg="red", bold=True, err=True, nl=False, color=_err_colour())
    click.echo(text, err=True)


def remedy(text: str, *, indent: str = "") -> None:
    """The line that says what to do about it, on standard error."""
    click.secho(f"{indent}help: ", fg="green", err=True, nl=False, color=_err_colour())
    click.echo(text, err=True)


def _err_colour() -> bool | None:
    return None if colour_wanted() else False


def can_ask() -> bool:
    """Whether a question would be seen and could be answered."""
    return sys.stdin.isatty() and sys.stderr.isatty()
