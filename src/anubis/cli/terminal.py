"""The terminal: its size, colours, and all text that the command line prints."""

import codecs
import io
import logging
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO

import click

from anubis.model.errors import AnubisError
from anubis.reporting.markup import visible

#: Begins a style. It has a random part, so that no text from outside can contain it.
_MARK = f"\x1b[{int.from_bytes(os.urandom(8), sys.byteorder)};"
_SHOWN_MARK = visible(_MARK)


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


def style(text: str, *, fg: str | None = None, bold: bool | None = None, dim: bool | None = None) -> str:
    """The text with a style, for ``line``."""
    before, _, after = click.style("\0", fg=fg, bold=bold, dim=dim).replace("\x1b[", _MARK).partition("\0")
    return f"{before}{text}{after}"


def line(text: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Print text, with its styles only where colours are wanted; characters that control a terminal are escaped."""
    shown = visible(str(text)).replace(_SHOWN_MARK, "\x1b[")
    click.echo(shown, err=err, nl=nl, color=_err_colour() if err else None)


def warn(text: str) -> None:
    """Print a warning, one line on standard error."""
    line(style("warning: ", fg="yellow") + text, err=True)


def note(text: str) -> None:
    """Print a note, one line on standard error, that requires no action."""
    if not preferences.quiet:
        line(style("note: ", fg="cyan") + text, err=True)


def no_match(error: AnubisError | None) -> None:
    """Print why a listing is empty, if one of its conditions can match nothing."""
    if error is not None:
        note(f"{error.message}: {error.remedy}")


def progress(text: str) -> None:
    """Print a line about progress on standard error."""
    if not preferences.quiet:
        line(text, err=True)


def error(text: str) -> None:
    """Print an error message on standard error."""
    line(style("error: ", fg="red", bold=True) + text, err=True)


def remedy(text: str, *, indent: str = "") -> None:
    """Print the remedy of an error on standard error."""
    line(style(f"{indent}help: ", fg="green") + text, err=True)


class Log(logging.Handler):
    """Prints log records on standard error."""

    def emit(self, record: logging.LogRecord) -> None:
        line(self.format(record), err=True)


class Escaped(io.RawIOBase):
    """A stream that prints UTF-8 on standard output; other bytes and control characters are escaped."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")
        #: A carriage return at the end of the data so far: a line feed may follow.
        self._pending = ""

    def writable(self) -> bool:
        """Always."""
        return True

    def write(self, data: Any) -> int:
        """Print all complete characters."""
        self._print(self._decoder.decode(data))
        return len(data)

    def finish(self) -> None:
        """Print an incomplete character at the end."""
        self._print(self._decoder.decode(b"", final=True), final=True)

    def _print(self, text: str, *, final: bool = False) -> None:
        text = self._pending + text
        self._pending = "\r" if text.endswith("\r") and not final else ""
        line(text.removesuffix(self._pending).replace("\r\n", "\n"), nl=False)


def raw() -> BinaryIO:
    """Standard output for bytes: archives, exports and the unchanged output of benchmarks."""
    return sys.stdout.buffer


def _err_colour() -> bool | None:
    return None if colour_wanted() else False


def can_ask() -> bool:
    """Whether the command can ask the user a question."""
    return sys.stdin.isatty() and sys.stderr.isatty()
