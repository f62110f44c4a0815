"""``anubis logs``: the output of a benchmark, byte for byte."""

import sys
import time
from typing import TYPE_CHECKING, BinaryIO

import click

from anubis.cli.home import open_client
from anubis.cli.params import ref_argument
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record import layout
from anubis.record.log_stream import LogStream

if TYPE_CHECKING:
    from anubis.client import Client

#: Interval between checks of a running benchmark, seconds.
LOOK_EVERY_S = 0.1
#: Statuses in which a run has no more output.
_SILENT = {Status.COLLECT, Status.ANALYSE, Status.ALERT}


@click.command()
@ref_argument
@click.option("--follow", "-f", is_flag=True, help="Continue until the run has ended.")
@click.option("--stdout", "only", flag_value="stdout", help="Only standard output.")
@click.option("--stderr", "only", flag_value="stderr", help="Only standard error.")
@click.option("--timestamps", "-t", is_flag=True, help="Prefix every line with its time of arrival.")
def logs(*, ref: str, follow: bool, only: str | None, timestamps: bool) -> None:
    """Print the output of the benchmark, byte for byte.

    Both streams are merged in the order of arrival.
    """
    streams = (only,) if only else (layout.STDOUT, layout.STDERR)
    with open_client() as client:
        run = client.runs.get(ref)
        if follow and not run.status.final:
            _follow(client, run, streams, timestamps=timestamps)
            return
        client.records.folder(run.id)  # a run without a record is an error
        LogStream(client.records.files(run), streams, timestamps=timestamps).copy(
            sys.stdout.buffer, last=True
        )


def _follow(client: "Client", run: Run, streams: tuple[str, ...], *, timestamps: bool) -> None:
    """Copy output until the run can produce no more; a new attempt has a new record."""
    client.workers.start()
    out: BinaryIO = sys.stdout.buffer
    while True:
        stream = LogStream(client.records.files(run), streams, timestamps=timestamps)
        attempt = run.attempt
        while run.attempt == attempt:
            over = run.status.final or run.status in _SILENT
            stream.copy(out, last=over)
            out.flush()
            if over:
                return
            time.sleep(LOOK_EVERY_S)
            run = client.runs.get(run.id)
