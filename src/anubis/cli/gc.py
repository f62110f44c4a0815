"""``anubis gc``: what nothing refers to any more is removed."""

import time

import click

from anubis.cli import plain, units
from anubis.cli.home import open_client
from anubis.cli.leftovers import Leftover, leftovers, remove
from anubis.cli.params import SPAN, json_option


@click.command()
@click.option("--dry-run", "-n", is_flag=True, help="Only say what would be removed.")
@click.option(
    "--older-than",
    type=SPAN,
    default="1d",
    show_default=True,
    metavar="SPAN",
    help="Leave alone what was touched since: 12h, 30d.",
)
@json_option
def gc(*, dry_run: bool, older_than: float, as_json: bool) -> None:
    """Remove what nothing refers to: records without a run, unfinished files, scripts of purged runs."""
    with open_client() as client:
        found = list(leftovers(client, before_s=time.time() - older_than))
    if not dry_run:
        for leftover in found:
            remove(leftover)
    total = sum(leftover.size_bytes for leftover in found)
    if as_json:
        plain.show(
            {"removed": not dry_run, "size_bytes": total, "leftovers": [_json(each) for each in found]}
        )
        return
    for leftover in found:
        click.echo(f"{units.size(leftover.size_bytes):>10}  {leftover.kind}  {leftover.path}")
    done = "would be freed" if dry_run else "freed"
    click.echo(f"{units.size(total)} {done}" if found else "nothing to remove")


def _json(leftover: Leftover) -> dict[str, object]:
    return {"kind": leftover.kind, "path": str(leftover.path), "size_bytes": leftover.size_bytes}
