"""Export from a service. Imports need its home folder."""

from collections.abc import Sequence
from typing import BinaryIO

from anubis.client.protocol import tools as protocol
from anubis.client.remote.connection import ServiceConnection, unavailable
from anubis.client.remote.results import Results
from anubis.client.remote.runs import Runs
from anubis.contracts.runs import RunQuery
from anubis.model.problem import Problem
from anubis.transfer import histories
from anubis.transfer.measurements import measurements_of

#: Runs whose values are read with one request.
_BATCH = 200


class Histories(protocol.Histories):
    """``Histories`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection
        self._runs, self._results = Runs(connection), Results(connection)

    def read(
        self,
        addresses: Sequence[str],  # noqa: ARG002  not possible
        *,
        format_name: str | None = None,  # noqa: ARG002
        given: histories.ImportDefaults | None = None,  # noqa: ARG002
    ) -> histories.ImportResult:
        raise unavailable(self._connection, "an import of histories")

    def store(self, imported: histories.ImportResult) -> histories.Added:  # noqa: ARG002  not possible
        raise unavailable(self._connection, "an import of histories")

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
