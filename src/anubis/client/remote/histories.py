"""Import into and export from a service.

Files of other tools are read by this process, which has their formats and reaches their servers; the service gets the
values as JSON lines and checks them again.
"""

import tempfile
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any, BinaryIO

import zstandard

from anubis.api.histories import added_from_json, problems_from_json
from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection
from anubis.client.remote.results import Results
from anubis.client.remote.runs import Runs
from anubis.contracts.runs import RunQuery
from anubis.model.problem import Problem, Severity
from anubis.submission.person import person
from anubis.transfer import histories
from anubis.transfer.measurements import measurements_of

#: Runs whose values are read with one request.
_BATCH = 200
#: Format of the values that the service gets.
_FORMAT = "jsonl"


class Histories(protocol.Histories):
    """``Histories`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection
        self._runs, self._results = Runs(connection), Results(connection)

    def read(
        self,
        addresses: Sequence[str],
        *,
        format_name: str | None = None,
        given: histories.ImportDefaults | None = None,
    ) -> histories.ImportResult:
        owner = person(self._connection.settings)
        found = histories.import_files(addresses, owner=owner, format_name=format_name, defaults=given)
        if not found.history.points:
            return found
        answer = self._sent(found, dry_run=True)
        further = problems_from_json(answer, addresses[0] if len(addresses) == 1 else "")
        return replace(
            found,
            problems=(*found.problems, *further),
            refused=found.refused or any(each.severity is Severity.ERROR for each in further),
            differing=found.differing + answer["differing"],
        )

    def store(self, imported: histories.ImportResult) -> histories.Added:
        if not imported.history.points:
            return histories.Added()
        return added_from_json(self._sent(imported, dry_run=False))

    def _sent(self, imported: histories.ImportResult, *, dry_run: bool) -> Any:
        """The answer of the service to the values. It stores no value twice, so the request may be repeated."""
        params = [("format", _FORMAT), ("dry_run", str(dry_run).lower()), ("partial", "true")]
        with tempfile.TemporaryFile(prefix="anubis-") as file:
            with _compressed(file) as out:
                rows = histories.again(imported.history)
                histories.export(rows, out, histories.Findings(), format_name=_FORMAT)
            file.seek(0)
            return self._connection.upload("POST", "histories", file, params, encoding="zstd", again=True)

    def export(self, query: RunQuery, out: BinaryIO, *, format_name: str = "csv") -> Sequence[Problem]:
        findings, rows = histories.Findings(), self._runs.find(query)
        measured = (
            each
            for start in range(0, len(rows), _BATCH)
            for batch in [rows[start : start + _BATCH]]
            for each in measurements_of(batch, self._results.points([row.id for row in batch]))
        )
        wanted = (row for row in measured if query.metric in {None, row.metric})
        histories.export(wanted, out, findings, format_name=format_name)
        return findings.problems


@contextmanager
def _compressed(file: IO[bytes]) -> Any:
    with zstandard.ZstdCompressor(level=3).stream_writer(file, closefd=False) as out:
        yield out
