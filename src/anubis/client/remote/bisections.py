"""Bisections whose runs a service measures.

The search and the git repository are on this machine; the content of each commit is sent to the service as a script
archive, so neither the service nor its workers need the repository.
"""

import socket
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from anubis.api.runs import row_from_json, run_from_json
from anubis.bisection import bisect_request, bisection
from anubis.bisection.bisect_request import BisectRequest, family_id
from anubis.bisection.bisection import BisectResult, CommitResult
from anubis.bisection.measurements import CommitValues, Measurements, Tree
from anubis.client.protocol import tools as protocol
from anubis.client.remote.alerts import Alerts
from anubis.client.remote.connection import ServiceConnection
from anubis.client.remote.runs import Runs
from anubis.contracts.runs import RunRow
from anubis.model.run import Run
from anubis.submission import script_archive
from anubis.submission.person import person


class Bisections(protocol.Bisections):
    """``Bisections`` (see the protocol) over HTTP."""

    def __init__(self, connection: ServiceConnection) -> None:
        self._connection = connection
        self._runs = Runs(connection)

    def search(
        self,
        question: BisectRequest,
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,
        answered: Callable[[CommitResult], None] | None = None,
    ) -> BisectResult:
        measured = _RemoteMeasurements(self._connection, self._runs, question)
        wait = measure or (lambda runs: self._runs.wait([run.id for run in runs]))
        trees = self._connection.settings.home / "worktrees"
        return bisection.bisect(question, measured, trees=trees, measure=wait, on_commit=answered)

    def question_of_alert(
        self, alert_id: str, *, metric: str | None = None, repository: Path | None = None
    ) -> BisectRequest:
        alert, _ = Alerts(self._connection).get(alert_id)
        run, text = self._runs.get(alert.run_id), self._runs.text(alert.run_id)
        return bisect_request.from_alert(alert, run, text, metric=metric, repository=repository)


class _RemoteMeasurements(Measurements):
    def __init__(self, connection: ServiceConnection, runs: Runs, question: BisectRequest) -> None:
        self._connection = connection
        self._runs = runs
        self._question = question
        settings = connection.settings
        # Another person or machine with the same repository and range has another bisection.
        key = family_id(question.family, settings.project or "", person(settings), socket.gethostname())
        self._path = f"bisections/{key}"
        self._family_id = str(self._connection.get(self._path)["family_id"])
        #: Folder -> key of its archive, which the service has.
        self._sent: dict[Path, str] = {}

    @property
    def family_id(self) -> str:
        return self._family_id

    def runs(self) -> Sequence[RunRow]:
        return list(map(row_from_json, self._connection.get(self._path)["runs"]))

    def values(self, metric: str) -> CommitValues | None:
        found = self._connection.get(f"{self._path}/values", [("metric", metric)])["values"]
        return None if found is None else CommitValues(**found)

    def submit(self, trees: Sequence[Tree]) -> Sequence[Run]:
        submission = self._question.submission
        body: dict[str, Any] = {
            "trees": [
                {"commit": tree.commit, "script": self._script(tree), "order_s": tree.order_s}
                for tree in trees
            ]
        }
        if self._question.run_id is not None:
            body["like"] = self._question.run_id
        else:
            body["text"], body["overrides"] = submission.text, dict(submission.overrides)
        answer = self._connection.post(f"{self._path}/runs", body, key=str(uuid.uuid4()))
        return list(map(run_from_json, answer["runs"]))

    def cancel(self, run_ids: Sequence[str], why: str) -> Sequence[Run]:
        self._runs.cancel(run_ids, why=why)
        return [self._runs.get(run_id) for run_id in run_ids]

    def _script(self, tree: Tree) -> str:
        assert tree.folder is not None
        if tree.folder not in self._sent:
            key, content = script_archive.archive_of_content(tree.folder)
            self._connection.upload("PUT", f"scripts/{key}", content, again=True)
            self._sent[tree.folder] = key
        return self._sent[tree.folder]
