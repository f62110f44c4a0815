"""The tools: each uses a client of the caller, so the rights of the caller apply."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from anubis.api.alerts import alert_to_json
from anubis.api.json_values import Json, finite
from anubis.api.runs import event_to_json, row_to_json, run_to_json
from anubis.api.series import series_row_to_json
from anubis.api.verdicts import comparison_to_json
from anubis.client import Client
from anubis.contracts.clock import Clock
from anubis.contracts.runs import RunQuery
from anubis.mcp.callers import Caller
from anubis.mcp.confirming import Confirmations
from anubis.mcp.descriptions import Descriptions
from anubis.model.errors import BadInputError
from anubis.model.status import Status

#: Most rows of one answer.
MOST = 200
_EVENTS = 50


class Tools:
    """Functions with the names, parameters and descriptions that assistants see."""

    def __init__(self, caller: Caller, descriptions: Descriptions, clock: Clock) -> None:
        self._caller = caller
        self._confirmations = Confirmations(caller, descriptions, clock)

    @property
    def _client(self) -> Client:
        return self._caller.reader()

    def reading(self) -> Sequence[Callable[..., Json]]:
        """The tools that change nothing."""
        return self.list_runs, self.show_run, self.compare, self.explain_verdict, self.describe_submission

    def writing(self) -> Sequence[Callable[..., Json]]:
        """The tools that store something."""
        return (self.submit,)

    def list_runs(
        self,
        benchmark: str | None = None,
        status: str | None = None,
        metric: str | None = None,
        commit: str | None = None,
        limit: int = 20,
    ) -> Json:
        """List runs with their values, newest first. status: fetch, place, watch, collect, analyse, alert, succeeded,
        failed or cancelled. commit: the beginning of a commit or version.
        """
        query = RunQuery(
            name=benchmark,
            statuses=(_status(status),) if status else (),
            metric=metric,
            subject=commit,
            limit=min(max(1, limit), MOST),
        )
        return _plain({"runs": list(map(row_to_json, self._client.runs.find(query)))})

    def show_run(self, run: str) -> Json:
        """Show a run: status, cause with its remedy, values and events. run: an id, the beginning of one, or @last."""
        found = self._client.runs.get(run)
        points = self._client.results.points([found.id])
        events = self._client.runs.events(found.id)
        remedy = found.cause.remedy if found.cause else None
        shown = [event_to_json(event) for event in events[-_EVENTS:]]
        return _plain({**run_to_json(found, points), "remedy": remedy, "events": shown})

    def compare(
        self, baseline: list[str], contender: list[str], min_effect: float = 0.02, metric: str | None = None
    ) -> Json:
        """Judge whether the contender runs are better or worse than the baseline runs: one verdict for each metric, with
        its effect, interval and next step. min_effect: the smallest effect that matters, as a ratio.
        """
        names = [metric] if metric else []
        found = self._client.gate.compare(baseline, contender, min_effect=min_effect, metrics=names)
        return _plain(comparison_to_json(found, baseline=baseline, contender=contender))

    def explain_verdict(self, benchmark: str, metric: str | None = None) -> Json:
        """Explain the current verdict about each series of a benchmark: its level, its noise, the last change of level
        with the commits around it, and open alerts.
        """
        series = self._client.series.find(benchmark=benchmark, metric=metric)
        if not series:
            raise BadInputError(
                f"no series matches benchmark {benchmark!r}", remedy="list_runs shows the names"
            )
        alerts = self._client.alerts.find(benchmark=benchmark)
        return _plain(
            {
                "series": [series_row_to_json(each) for each in series[:MOST]],
                "alerts": [alert_to_json(alert) for alert in alerts[:MOST]],
                "meaning": "effects are ratios minus one; a change is a lasting shift of the level, not one outlier",
            }
        )

    def describe_submission(
        self,
        descriptor: str,
        folder: str,
        overrides: dict[str, str] | None = None,
        needs: list[str] | None = None,
    ) -> Json:
        """Describe what a descriptor (TOML text) would run, without running it, and return a token. Show the description to the
        user. folder: the full path of the working folder.
        """
        return _plain(
            self._confirmations.describe(
                descriptor, folder=Path(folder), overrides=overrides or {}, needs=needs or []
            )
        )

    def submit(self, token: str) -> Json:
        """Submit what describe_submission described. Call it only after the user agreed to that description."""
        runs = self._confirmations.submit(token)
        return _plain({"runs": [run_to_json(run) for run in runs]})


def _status(text: str) -> Status:
    try:
        return Status(text)
    except ValueError:
        names = ", ".join(status.value for status in Status)
        raise BadInputError(f"{text!r} is not a status", remedy=f"use one of {names}") from None


def _plain(value: Json) -> Json:
    plain: dict[str, Any] = finite(value)
    return plain
