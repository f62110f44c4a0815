"""``anubis logs``: what a benchmark printed, byte for byte."""

import sys
import time
from typing import TYPE_CHECKING, BinaryIO

import click

from anubis.cli.home import open_client
from anubis.cli.params import ref_argument
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record.log_stream import Spooled

if TYPE_CHECKING:
    from anubis.client import Client

#: How often a run that goes on is looked at, seconds: as quick as a reader notices.
LOOK_EVERY_S = 0.1
#: A run that came so far prints nothing any more.
_SILENT = {Status.COLLECT, Status.ANALYSE, Status.ALERT}


@click.command()
@ref_argument
@click.option("--follow", "-f", is_flag=True, help="Go on until the run has ended.")
@click.option("--stdout", "only", flag_value="stdout", help="Only what it printed on standard output.")
@click.option("--stderr", "only", flag_value="stderr", help="Only what it printed on standard error.")
@click.option("--timestamps", "-t", is_flag=True, help="Begin every line with the time at which it arrived.")
def logs(*, ref: str, follow: bool, only: str | None, timestamps: bool) -> None:
    """Print what the benchmark printed, byte for byte.

    Both streams come in the order in which they arrived.
    """
    streams = (only,) if only else ("stdout", "stderr")
    with open_client() as client:
        run = client.runs.get(ref)
        if follow and not run.status.final:
            _follow(client, run, streams, timestamps=timestamps)
            return
        spooled = Spooled(client.records.folder(run.id), streams, timestamps=timestamps)
    spooled.pour(sys.stdout.buffer, last=True)


def _follow(client: "Client", run: Run, streams: tuple[str, ...], *, timestamps: bool) -> None:
    """Pour what arrives until nothing can come any more; a new attempt goes on with its own record."""
    client.workers.start()
    out: BinaryIO = sys.stdout.buffer
    while True:
        spooled = Spooled(client.records.folder_of(run), streams, timestamps=timestamps)
        attempt = run.attempt
        while run.attempt == attempt:
            over = run.status.final or run.status in _SILENT
            spooled.pour(out, last=over)
            out.flush()
            if over:
                return
            time.sleep(LOOK_EVERY_S)
            run = client.runs.get(run.id)
