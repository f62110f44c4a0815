"""``anubis gc``: deletes files without an owner and compresses old records."""

import time

import click

from anubis.api.operations import garbage_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import SPAN, json_option
from anubis.cli.views import json_output, units

GARBAGE_AGE_S = 86_400
PACK_AGE_S = 30 * 86_400


@click.command()
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted or compressed.")
@click.option(
    "--older-than",
    type=SPAN,
    metavar="SPAN",
    help="Keep files and records younger than this: 12h, 30d.  [default: 1d; with --pack, 30d since a run's end]",
)
@click.option("--pack", is_flag=True, help="Compress the records of runs that ended long ago instead.")
@json_option
def gc(*, dry_run: bool, older_than: float | None, pack: bool, as_json: bool) -> None:
    """Delete files without an owner, or compress old records.

    Deletes records without a run, unfinished files, and scripts of purged runs; records and scripts also in the bucket.

    A compressed record is decompressed automatically when it is read.
    """
    age_s = older_than if older_than is not None else PACK_AGE_S if pack else GARBAGE_AGE_S
    before_s = time.time() - age_s
    with open_client() as client:
        handle = client.storage.pack if pack else client.storage.collect
        done = handle(before_s=before_s, dry_run=dry_run)
    total = sum(each.size_bytes for each in done)
    if as_json:
        json_output.show(
            {"dry_run": dry_run, "size_bytes": total, "found": [garbage_to_json(each) for each in done]}
        )
        return
    for each in done:
        terminal.line(f"{units.size(each.size_bytes):>10}  {each.kind}  {each.path}")
    verb = "to compress" if dry_run and pack else "would be freed" if dry_run else "freed"
    terminal.line(f"{units.size(total)} {verb}" if done else "nothing to do")
