"""``anubis data``: the datasets in the cache."""

import time
from pathlib import Path

import click

from anubis.api.datasets import dataset_to_json
from anubis.cli import exit_codes, terminal
from anubis.cli.home import open_client
from anubis.cli.listing import ListGroup
from anubis.cli.params import SIZE, SPAN, json_option
from anubis.cli.views import datasets_view, json_output, units
from anubis.model.errors import BadInputError

_DATASET = click.argument("ref", metavar="DATASET")


class _DataGroup(ListGroup):
    listing = "ls"


@click.group(cls=_DataGroup)
def data() -> None:
    """Show, verify, delete or copy the datasets that runs have fetched.

    DATASET is a digest, its first digits, or an address. Without a command: list the datasets.
    """


@data.command(name="ls")
@json_option
def listed(*, as_json: bool) -> None:
    """List the datasets, the last used first, and those that are being fetched."""
    with open_client() as client:
        found = client.datasets.find()
    if as_json:
        json_output.show_list(dataset_to_json(stored) for stored in found)
    elif found:
        datasets_view.show(found)
    else:
        terminal.line("no datasets")


@data.command()
@_DATASET
@json_option
def show(*, ref: str, as_json: bool) -> None:
    """Show a dataset and its files."""
    with open_client() as client:
        stored = client.datasets.get(ref)
    if as_json:
        json_output.show(dataset_to_json(stored, with_files=True))
    else:
        datasets_view.show_one(stored)


@data.command()
@click.argument("refs", metavar="[DATASET]...", nargs=-1)
@json_option
def verify(*, refs: tuple[str, ...], as_json: bool) -> int:
    """Read datasets and compare their digests; all datasets if none is named.

    Damaged files are deleted, so that the next run fetches them again. The exit status is then 1.
    """
    with open_client() as client:
        digests = [client.datasets.get(ref).dataset for ref in refs] or [
            stored.dataset for stored in client.datasets.find()
        ]
        names = dict.fromkeys(dataset.digest for dataset in digests if dataset)
        damaged = {name: list(client.datasets.verify(name)) for name in names}
    if as_json:
        json_output.show(
            {"datasets": [{"digest": name, "damaged": paths} for name, paths in damaged.items()]}
        )
    else:
        datasets_view.show_verified(damaged)
    return exit_codes.FAILED if any(damaged.values()) else exit_codes.OK


@data.command()
@click.option(
    "--older-than",
    type=SPAN,
    metavar="SPAN",
    help="Delete datasets that were not used for so long: 12h, 30d.",
)
@click.option(
    "--keep", type=SIZE, metavar="SIZE", help="Delete the least recently used ones above this size: 50GB."
)
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted.")
@json_option
def prune(*, older_than: float | None, keep: int | None, dry_run: bool, as_json: bool) -> None:
    """Delete datasets; those of runs that have not ended are kept."""
    if older_than is None and keep is None:
        raise BadInputError("nothing to delete is named", remedy="add --older-than SPAN, --keep SIZE or both")
    before_s = 0.0 if older_than is None else time.time() - older_than
    with open_client() as client:
        removed = client.datasets.prune(before_s=before_s, most_bytes=keep, dry_run=dry_run)
    if as_json:
        json_output.show({"dry_run": dry_run, "removed": [dataset_to_json(stored) for stored in removed]})
        return
    if removed:
        datasets_view.show(removed)
    total = sum(stored.dataset.size_bytes for stored in removed if stored.dataset)
    verb = "would be deleted" if dry_run else "deleted"
    terminal.line(f"{units.counted(len(removed), 'dataset')}, {units.size(total)} {verb}")


@data.command()
@_DATASET
@click.argument("path", metavar="PATH", type=click.Path(path_type=Path))
@json_option
def export(*, ref: str, path: Path, as_json: bool) -> None:
    """Copy a dataset to PATH, which must not exist yet."""
    with open_client() as client:
        client.datasets.export(ref, path)
    if as_json:
        json_output.show({"path": str(path)})
    else:
        terminal.line(str(path))
