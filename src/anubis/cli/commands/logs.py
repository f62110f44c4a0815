"""``anubis logs``: the output of a benchmark."""

import contextlib
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

import click

from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option, ref_argument
from anubis.model.errors import BadInputError
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
@click.option("--raw", is_flag=True, help="Print the bytes unchanged, with control characters.")
@json_option
def logs(*, ref: str, follow: bool, only: str | None, timestamps: bool, raw: bool, as_json: bool) -> None:
    """Print the output of the benchmark.

    Both streams are merged in the order of arrival. Characters that control a terminal are escaped. With --json, each
    line is an object: time_s, stream, line.
    """
    if raw and as_json:
        raise BadInputError("--raw and --json cannot be combined", remedy="give one of them")
    line = log_stream.as_json if as_json else log_stream.with_time if timestamps else None
    streams = (only,) if only else (layout.STDOUT, layout.STDERR)
    with open_client() as client:
        run = client.runs.get(ref)
        if follow and not run.status.final:
            with _output(raw=raw) as out:
                _follow(client, run, streams, line, out)
            return
        client.records.folder(run.id)  # a run without a record is an error
        with _output(raw=raw) as out:
            LogStream(client.records.files(run), streams, line=line).copy(out, last=True)


@contextlib.contextmanager
def _output(*, raw: bool) -> Iterator[BinaryIO]:
    """Standard output, as it is or with escapes."""
    if raw:
        yield terminal.raw()
        return
    escaped = terminal.Escaped()
    try:
        yield escaped  # type: ignore[misc]  # a binary stream without a file
    finally:
        escaped.finish()


def _follow(
    client: "Client", run: Run, streams: tuple[str, ...], line: "LineFormat | None", out: BinaryIO
) -> None:
    """Copy output until the run can produce no more; a new attempt has a new record."""
    client.workers.start()
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
