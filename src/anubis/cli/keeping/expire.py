"""``anubis expire``: deletes what the retention rules no longer keep."""

import click

from anubis.api.operations import expired_to_json
from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option
from anubis.cli.views import json_output, tables, units

_COLUMNS = (
    tables.Column(title="RUN"),
    tables.Column(title="NAME", cut=True),
    tables.Column(title="ENDED"),
    tables.Column(title="DELETED"),
)


@click.command()
@click.option("--dry-run", is_flag=True, help="Only print what would be deleted.")
@json_option
def expire(*, dry_run: bool, as_json: bool) -> None:
    """Delete what the rules in retention.toml no longer keep; anubis serve does so every six hours.

    Held runs remain with everything, and runs that open alerts, baselines or runs in progress refer to.
    """
    with open_client() as client:
        found = client.storage.expire(dry_run=dry_run)
    if as_json:
        json_output.show({"dry_run": dry_run, "expired": [expired_to_json(each) for each in found]})
        return
    if found:
        tables.show(
            _COLUMNS,
            [
                (each.run_id, each.name, units.exact_moment(each.ended_s), ", ".join(each.parts) or "run")
                for each in found
            ],
        )
    verb = "would be deleted" if dry_run else "deleted"
    whole = sum(not each.parts for each in found)
    runs, parts = units.counted(whole, "run"), units.counted(len(found) - whole, "run")
    terminal.line(f"{runs} {verb}, and parts of {parts}" if found else "nothing to delete")
