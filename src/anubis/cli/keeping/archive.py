"""``anubis archive``: data sets of each day."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.settings import Settings, archive_place

if TYPE_CHECKING:
    from anubis.store.bucket import archives
    from anubis.transfer.daily import archive as daily
else:  # --help does not need them
    archives = late("anubis.store.bucket.archives")
    daily = late("anubis.transfer.daily.archive")

_PLACE = click.argument("place", required=False)
_COLUMNS = (
    tables.Column(title="DAY"),
    tables.Column(title="STATE"),
    tables.Column(title="EVENTS", right=True),
    tables.Column(title="RUNS", right=True),
    tables.Column(title="SAMPLES", right=True),
    tables.Column(title="LINES", right=True),
    tables.Column(title="SIZE", right=True),
)


@click.group()
def archive() -> None:
    """Write events, runs, points, samples and log lines of each UTC day as Parquet files.

    PLACE is a folder, or s3://BUCKET/PREFIX; by default ANUBIS_ARCHIVE, to which anubis serve writes after the end of each day.
    """


@archive.command()
@_PLACE
@click.option("--today", is_flag=True, help="Also the day that has not ended; its manifest is not complete.")
@json_option
def write(*, place: str | None, today: bool, as_json: bool) -> None:
    """Write the days that have ended, and late events of days that are written already."""
    with open_client() as client:
        written = client.storage.archive(_place(place), today=today)
    _show(written, as_json=as_json, empty="nothing new")


@archive.command(name="list")
@_PLACE
@json_option
def listed(*, place: str | None, as_json: bool) -> None:
    """List the days of an archive, from their manifests."""
    endpoint = Settings.from_env(os.environ).bucket_endpoint
    found = daily.Archive(archives.place_of(_place(place), endpoint).objects)
    manifests = [found.manifest(day) for day in found.index().days]
    _show(manifests, as_json=as_json, empty="no days")


def _place(place: str | None) -> Path | str:
    try:
        found = archive_place(place) if place else Settings.from_env(os.environ).archive
    except ValueError as error:
        raise BadInputError(f"{place} is not {error}", remedy=f"name a folder, or {error}") from error
    if found is None:
        raise BadInputError("no archive is named", remedy="name a folder, or set ANUBIS_ARCHIVE")
    if isinstance(found, Path) and found.exists() and not found.is_dir():
        raise BadInputError(f"{found} is not a folder", remedy="name a folder")
    return found


def _show(manifests: Any, *, as_json: bool, empty: str) -> None:
    if as_json:
        json_output.show_list(manifests)
        return
    rows = []
    for manifest in manifests:
        files = manifest["files"]
        counts = [
            str(sum(file["rows"] for file in files if file["table"] == table))
            for table in ("events", "runs", "samples", "lines")
        ]
        size = units.size(sum(file["size_bytes"] for file in files))
        rows.append((manifest["day"], "complete" if manifest["complete"] else "open", *counts, size))
    if rows:
        tables.show(_COLUMNS, rows)
    else:
        terminal.line(empty)
