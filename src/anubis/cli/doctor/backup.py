"""``anubis backup``."""

import os
import time
from pathlib import Path

import click

from anubis.cli import terminal
from anubis.cli.params import json_option
from anubis.cli.views import json_output, units
from anubis.model.errors import BadInputError
from anubis.pipeline.lease_owner import described, is_dead
from anubis.pipeline.worker import only_worker
from anubis.settings import Settings
from anubis.store.backups import whole
from anubis.store.sql import sqlite_backups as backups


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--full", is_flag=True, help="Write the whole installation to a new folder FILE.")
@click.option(
    "--restore",
    is_flag=True,
    help="Replace the database with this backup; the database is kept under a new name.",
)
@json_option
def backup(*, file: Path, full: bool, restore: bool, as_json: bool) -> None:
    """Write a copy of the database, or restore one.

    Commands, workers and services may be active during a backup, and must have ended before a restore. Records are files:
    --full also copies the records, the script archives, the chain and the prices, from SQLite and PostgreSQL. A full backup
    is restored by anubis restore.
    """
    settings = Settings.from_env(os.environ)
    if full:
        if restore:
            raise BadInputError(
                "--full and --restore exclude one another", remedy="use anubis restore FOLDER"
            )
        _full(settings, file, as_json=as_json)
        return
    database = backups.path_of(settings.database_url)
    if not restore:
        backups.backup(database, file)
        size_bytes = file.stat().st_size
        if as_json:
            json_output.show({"backup": str(file), "size_bytes": size_bytes})
        else:
            terminal.line(f"{file} ({units.size(size_bytes)})")
        return
    settings.home.mkdir(parents=True, exist_ok=True)
    with only_worker(settings.home) as lock:
        if lock is None:
            raise BadInputError("a worker is active", remedy="wait for it, or stop it, then try again")
        _check_drivers(database)
        kept = backups.restore(database, file)
    if as_json:
        json_output.show({"restored": str(database), "replaced": str(kept) if kept else None})
    else:
        terminal.line(f"restored {database}")
        if kept:
            terminal.line(f"the replaced database is {kept}")


def _full(settings: Settings, folder: Path, *, as_json: bool) -> None:
    written = whole.back_up(settings, folder, now_s=time.time())
    if as_json:
        json_output.show(
            {
                "backup": str(folder),
                "size_bytes": written.size_bytes,
                "runs": written.runs,
                "without_record": written.without_record,
            }
        )
        return
    left = f", {written.without_record} of them without a record here" if written.without_record else ""
    terminal.line(f"{folder} ({units.size(written.size_bytes)}): {written.runs} final runs{left}")


def _check_drivers(database: Path) -> None:
    """Raises BadInputError if a process drives runs of this database: it would continue with the replaced one."""
    owners = backups.lease_owners(database, time.time())
    if living := [described(owner) for owner in owners if not is_dead(owner)]:
        raise BadInputError(
            f"runs of this database are in progress: they are driven by {', '.join(living)}",
            remedy="wait until they are final, or end the process; if it is stopped or on another machine, its leases "
            "expire after ANUBIS_LEASE_S seconds",
        )
