"""``anubis logs``: the output of a benchmark, byte for byte."""

import sys
import time
from typing import TYPE_CHECKING, BinaryIO

import click

from anubis.cli.home import open_client
from anubis.cli.params import json_option, ref_argument
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record import layout, log_stream
from anubis.record.log_stream import LogStream

if TYPE_CHECKING:
    from anubis.client import Client
    from anubis.record.log_stream import LineFormat

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
@json_option
def logs(*, ref: str, follow: bool, only: str | None, timestamps: bool, as_json: bool) -> None:
    """Print the output of the benchmark, byte for byte.

    Both streams are merged in the order of arrival. With --json, each line is an object: time_s, stream, line.
    """
    line = log_stream.as_json if as_json else log_stream.with_time if timestamps else None
    streams = (only,) if only else (layout.STDOUT, layout.STDERR)
    with open_client() as client:
        run = client.runs.get(ref)
        if follow and not run.status.final:
            _follow(client, run, streams, line)
            return
        client.records.folder(run.id)  # a run without a record is an error
        LogStream(client.records.files(run), streams, line=line).copy(sys.stdout.buffer, last=True)


def _follow(client: "Client", run: Run, streams: tuple[str, ...], line: "LineFormat | None") -> None:
    """Copy output until the run can produce no more; a new attempt has a new record."""
    client.workers.start()
    out: BinaryIO = sys.stdout.buffer
    while True:
        stream = LogStream(client.records.files(run), streams, line=line)
        attempt = run.attempt
        while run.attempt == attempt:
            over = run.status.final or run.status in _SILENT
            stream.copy(out, last=over)
            out.flush()
            if over:
                return
            time.sleep(LOOK_EVERY_S)
            run = client.runs.get(run.id)
