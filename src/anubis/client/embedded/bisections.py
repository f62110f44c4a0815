"""Bisections whose runs this installation measures."""

from collections.abc import Callable, Sequence
from pathlib import Path

from anubis.bisection import bisect_request, bisection
from anubis.bisection.measurements import StoredMeasurements
from anubis.client.embedded.driving import drive
from anubis.client.protocol import tools as protocol
from anubis.model.run import Run
from anubis.wiring import Installation


class Bisections(protocol.Bisections):
    """``Bisections`` (see the protocol) with runs of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation

    def search(
        self,
        question: bisect_request.BisectRequest,
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,
        answered: Callable[[bisection.CommitResult], None] | None = None,
    ) -> bisection.BisectResult:
        settings = self._installation.settings
        stored = StoredMeasurements(
            self._installation.world, settings, question.family, question.submission, like=question.run_id
        )
        wait = measure or (lambda runs: drive(self._installation, [run.id for run in runs]))
        trees = settings.home / "worktrees"
        return bisection.bisect(question, stored, trees=trees, measure=wait, on_commit=answered)

    def question_of_alert(
        self, alert_id: str, *, metric: str | None = None, repository: Path | None = None
    ) -> bisect_request.BisectRequest:
        world = self._installation.world
        alert = world.alerts.get(alert_id)
        run = world.runs.get(alert.run_id)
        text = world.runs.text(run.id)
        return bisect_request.from_alert(alert, run, text, metric=metric, repository=repository)
