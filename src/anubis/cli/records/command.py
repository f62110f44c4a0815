"""``anubis record``: the record of a run as a folder and as an archive."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from anubis.api.runs import run_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import REF, json_option, ref_argument
from anubis.cli.records import trust
from anubis.cli.select.refs import LAST
from anubis.cli.views import json_output, units
from anubis.model.errors import BadInputError

SUFFIX = ".anubis.tar.zst"


@click.group()
def record() -> None:
    """Locate, export or import the record of a run, sign and verify it, or read its samples again."""


@record.command()
@ref_argument
@json_option
def path(*, ref: str, as_json: bool) -> None:
    """Print the folder of a run's record."""
    with open_client() as client:
        folder = client.records.folder(ref)
    if as_json:
        json_output.show({"path": str(folder)})
    else:
        terminal.line(str(folder))


@record.command()
@ref_argument
@json_option
def extract(*, ref: str, as_json: bool) -> None:
    """Read the samples of a final run from its record again, in place of the stored ones.

    Restores samples that are damaged in the database. Prints the names of the metrics.
    """
    with open_client() as client:
        metrics = client.records.extract(ref)
    if as_json:
        json_output.show({"metrics": metrics})
    else:
        terminal.line("\n".join(metrics))


@record.command()
@click.argument("refs", type=REF, nargs=-1, metavar="[RUN...]")
@json_option
def index(*, refs: tuple[str, ...], as_json: bool) -> None:
    """Index the output of final runs again, by default of the last run, for anubis search.

    A service indexes the output of each run when it ends. A search finds the same lines without an index, but takes
    longer. Prints the number of bytes of each run.
    """
    with open_client() as client:
        done = {}
        for ref in refs or (LAST,):
            run = client.runs.get(ref)
            done[run.id] = client.records.index(run.id)
            if not as_json:
                terminal.line(f"{run.id}  {units.size(done[run.id])}")
    if as_json:
        json_output.show_list({"run_id": run_id, "bytes": size} for run_id, size in done.items())


@record.command()
@ref_argument
@click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help=f"Default: RUN-ID{SUFFIX} in the current folder; - is standard output.",
)
@json_option
def export(*, ref: str, output: Path | None, as_json: bool) -> None:
    """Write a run with its record, values, timeline and script as one file.

    The same run always produces the same bytes. Prints the name of the file.
    """
    to_stdout = output is not None and str(output) == "-"
    if to_stdout and as_json:
        raise BadInputError("--json and --output - cannot be combined", remedy="give a file as --output")
    with open_client() as client:
        if to_stdout:
            client.records.export(ref, terminal.raw())
            return
        target = output or Path(f"{client.runs.get(ref).id}{SUFFIX}")
        try:
            file = target.open("xb")
        except FileExistsError as error:
            raise BadInputError(
                f"{target} already exists", remedy="give another --output, or remove it"
            ) from error
        except OSError as error:
            raise BadInputError(f"{target}: {error.strerror}", remedy="give another --output") from error
        with file, _removed_on_error(target):
            client.records.export(ref, file)
    if as_json:
        json_output.show({"path": str(target)})
    else:
        terminal.line(str(target))


@contextlib.contextmanager
def _removed_on_error(target: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        target.unlink(missing_ok=True)
        raise


@record.command(name="import")
@click.argument("files", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="FILE...")
@json_option
def import_(*, files: tuple[Path, ...], as_json: bool) -> None:
    """Import exported runs into this home folder and print their ids.

    A damaged file, or a run that is already stored, is refused; nothing of it is stored.
    """
    with open_client() as client:
        runs = []
        for file in files:
            runs.append(client.records.bring_in(file))
            if not as_json:
                terminal.line(runs[-1].id)
    if as_json:
        json_output.show_list(run_to_json(run) for run in runs)


for command in (trust.sign, trust.verify, trust.seal):
    record.add_command(command)
