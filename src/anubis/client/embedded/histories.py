"""Import into and export from this installation."""

from collections.abc import Sequence
from typing import BinaryIO

from anubis.client.protocol import tools as protocol
from anubis.contracts.runs import RunQuery
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.problem import Problem
from anubis.submission.person import person
from anubis.transfer import histories
from anubis.wiring import Installation


class Histories(protocol.Histories):
    """``Histories`` (see the protocol) with the database of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._settings = installation.settings
        self._world = installation.world

    def read(
        self,
        addresses: Sequence[str],
        *,
        format_name: str | None = None,
        given: histories.ImportDefaults | None = None,
    ) -> histories.ImportResult:
        return histories.import_files(
            addresses,
            owner=person(self._settings),
            format_name=format_name,
            defaults=given,
            stored=self._world.points,
            project=self._settings.project or DEFAULT_PROJECT,
        )

    def store(self, imported: histories.ImportResult) -> histories.Added:
        return histories.store(self._world.runs, self._world.points, imported.history)

    def export(self, query: RunQuery, out: BinaryIO, *, format_name: str = "csv") -> Sequence[Problem]:
        findings = histories.Findings()
        rows = histories.stored(self._world.runs, self._world.points, query)
        wanted = (row for row in rows if query.metric in {None, row.metric})
        histories.export(wanted, out, findings, format_name=format_name)
        return findings.problems
