"""``anubis restore``."""

import os
import time
from pathlib import Path

import click

from anubis.cli import terminal
from anubis.cli.params import json_option
from anubis.cli.views import json_output
from anubis.settings import Settings
from anubis.store.backups import whole


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def restore(*, folder: Path, as_json: bool) -> None:
    """Restore a backup of anubis backup --full into a home folder without a database.

    The database may be another one than that of the backup: SQLite or an empty one on PostgreSQL. Runs that were in progress
    end with the cause lost; runs that waited are run. Every file is compared with its digest before anything is written.
    """
    settings = Settings.from_env(os.environ)
    restored = whole.restore(settings, folder, now_s=time.time())
    if as_json:
        json_output.show({"restored": str(settings.home), "runs": restored.runs, "ended": restored.ended})
        return
    ended = f", {restored.ended} of them were in progress and are lost" if restored.ended else ""
    terminal.line(f"restored {settings.home}: {restored.runs} final runs{ended}")
