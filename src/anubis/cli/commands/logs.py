"""``anubis logs``: the output of a benchmark."""

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import click

from anubis.cli import terminal
from anubis.cli.home import open_client
from anubis.cli.params import json_option, ref_argument
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.hardware import Strategy
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record import layout, log_stream
from anubis.record.log_stream import LogStream, MergedLogs

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
@click.option("--role", help="Only replicas of this role: benchmark, server or worker.")
@click.option("--rank", type=click.IntRange(min=0), help="Only replicas of this rank.")
@click.option("--raw", is_flag=True, help="Print the bytes unchanged, with control characters.")
@json_option
def logs(
    *,
    ref: str,
    follow: bool,
    only: str | None,
    timestamps: bool,
    role: str | None,
    rank: int | None,
    raw: bool,
    as_json: bool,
) -> None:
    """Print the output of the benchmark.

    Both streams are merged in the order of arrival. If the run has several replicas (ranks, a server), their lines are
    merged too, and each line begins with role and rank. Characters that control a terminal are escaped. With --json, each
    line is an object: time_s, stream, line, and for several replicas role and rank.
    """
    if raw and as_json:
        raise BadInputError("--raw and --json cannot be combined", remedy="give one of them")
    line = log_stream.as_json if as_json else log_stream.with_time if timestamps else None
    streams = (only,) if only else (layout.STDOUT, layout.STDERR)
    wanted = _Wanted(streams=streams, line=line, role=role, rank=rank)
    with open_client() as client:
        run = client.runs.get(ref)
        if follow and not run.status.final:
            with _output(raw=raw) as out:
                _follow(client, run, wanted, out)
            return
        if not client.records.has(run):
            raise NotFoundError(
                f"run {run.id} has no record",
                remedy="a run has a record after it was placed: see anubis status",
            )
        with _output(raw=raw) as out:
            output = wanted.output(client, run)
            if isinstance(output, MergedLogs) and not output.count and (role or rank is not None):
                raise BadInputError(
                    f"run {run.id} has no such replica",
                    remedy=f"use one of: {', '.join(f'{of} {number}' for of, number in client.records.replicas(run))}",
                )
            output.copy(out, last=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Which lines are printed, and how."""

    streams: tuple[str, ...]
    line: "LineFormat | None"
    role: str | None
    rank: int | None

    def output(self, client: "Client", run: Run) -> LogStream | MergedLogs:
        """The output of the run: that of its only replica, or of all that are wanted."""
        is_single = run.descriptor.hardware.strategy is Strategy.SINGLE_NODE
        if is_single and self.role is None and self.rank is None:
            return LogStream(client.records.files(run), self.streams, line=self.line)
        merged = MergedLogs(self.streams, line=self.line)
        self.include(merged, client, run)
        return merged

    def include(self, merged: MergedLogs, client: "Client", run: Run) -> None:
        """Include the replicas that have appeared."""
        for role, rank in client.records.replicas(run):
            if self.role in {None, role} and self.rank in {None, rank}:
                merged.add(role, rank, client.records.files(run, role, rank))


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


def _follow_remote(client: "Client", run: Run, wanted: _Wanted, out: BinaryIO) -> None:
    """Print the lines that the service sends until the run is final."""
    is_single = run.descriptor.hardware.strategy is Strategy.SINGLE_NODE
    named = not is_single or wanted.role is not None or wanted.rank is not None
    for lines in client.records.follow(run.id, streams=wanted.streams, role=wanted.role, rank=wanted.rank):
        for each in lines:
            if named:
                merged = MergedLogs(wanted.streams, line=wanted.line)
                out.write(merged.written(each.role, each.rank, each.stream, each.time_ns, each.line))
            else:
                write = wanted.line or _unchanged
                out.write(write(each.stream, each.time_ns, each.line))
        out.flush()


def _unchanged(_stream: str, _time_ns: int, line: bytes) -> bytes:
    return line + b"\n"


def _follow(client: "Client", run: Run, wanted: _Wanted, out: BinaryIO) -> None:
    """Copy output until the run can produce no more; a new attempt has a new record."""
    if client.is_remote:
        _follow_remote(client, run, wanted, out)
        return
    client.workers.start()
    while True:
        stream = wanted.output(client, run)
        attempt = run.attempt
        while run.attempt == attempt:
            if isinstance(stream, MergedLogs):
                wanted.include(stream, client, run)
            over = run.status.final or run.status in _SILENT
            stream.copy(out, last=over)
            out.flush()
            if over:
                return
            time.sleep(LOOK_EVERY_S)
            run = client.runs.get(run.id)
