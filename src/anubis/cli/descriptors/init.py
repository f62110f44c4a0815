"""``anubis init``: writes a first descriptor."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from anubis.cli import terminal
from anubis.cli.params import json_option
from anubis.cli.submissions import CommandAfterDashes
from anubis.cli.views import json_output
from anubis.late import late
from anubis.model.descriptor import Subject
from anubis.model.errors import BadInputError

if TYPE_CHECKING:
    from anubis import describe
    from anubis.describe import drafting
    from anubis.submission import subject
else:  # --help does not need them
    describe = late("anubis.describe")
    drafting = late("anubis.describe.drafting")
    subject = late("anubis.submission.subject")


@click.command(cls=CommandAfterDashes)
@click.argument("script", type=click.Path(path_type=Path), required=False, metavar="[SCRIPT]")
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Default: NAME.toml in the current folder, with the name of the benchmark.",
)
@json_option
def init(*, script: Path | None, command: tuple[str, ...], output: Path | None, as_json: bool) -> None:
    """Write a first descriptor: for a script, for a command after --, or a commented example.

    An existing file is not replaced. The file is ready for "anubis run".
    """
    if script is not None and command:
        raise BadInputError(
            "a script and a command cannot be combined", remedy="name the script in the command after --"
        )
    folder = output.parent if output else Path()
    words = drafting.script_command(script, folder) if script else list(command)
    name = drafting.name_of(words, folder) if words else drafting.FALLBACK_NAME
    text = drafting.first(words, folder, commit=_has_commit(folder))
    reading = describe.read(text)
    if reading.descriptor is None:  # for example a command that is too long
        raise BadInputError("no descriptor can be written for this command", problems=reading.problems)
    file = output or folder / f"{name}.toml"
    _write(file, text)
    if as_json:
        json_output.show({"path": str(file), "name": name})
        return
    terminal.line(str(file))
    terminal.note(f"measure it with: anubis run {file}")


def _has_commit(folder: Path) -> bool:
    """Whether ``commit = "auto"`` can be resolved in a folder."""
    try:
        subject.resolve(Subject(commit=subject.AUTO), folder)
    except BadInputError:
        return False
    return True


def _write(file: Path, text: str) -> None:
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError as error:
        raise BadInputError(
            f"{file} already exists", remedy="name another file with --output, or remove it"
        ) from error
    except OSError as error:
        raise BadInputError(
            f"{file}: {error.strerror}", remedy="name a file in a writable folder with --output"
        ) from error
