"""Verdicts: comparisons and gates, alerts, series."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from anubis.model.alert import Alert, AlertState
from anubis.model.delivery import Delivery
from anubis.model.run import Event
from anubis.model.verdict import Comparison

if TYPE_CHECKING:
    from anubis.judging.alert_triage import TriageAction
    from anubis.judging.gate import GateSides
    from anubis.judging.series_overview import SeriesOverview
    from anubis.reporting.gate_report import Report


class Gate(Protocol):
    """Compare runs with other runs, or with the current level of their series."""

    def compare(
        self,
        baseline: Sequence[str],
        contender: Sequence[str],
        *,
        min_effect: float = 0.02,
        metrics: Sequence[str] = (),
    ) -> Comparison:
        """A verdict for every (or every named) metric that both sets of runs have. Each run counts once."""
        ...

    def check(
        self,
        contender: Sequence[str],
        baseline: Sequence[str] | None = None,
        *,
        min_effect: float | None = None,
        metrics: Sequence[str] = (),
    ) -> "Report":
        """Judge runs against other runs, or against the current level of their series; the report of a gate."""
        ...

    def judge(
        self,
        contests: "Sequence[GateSides]",
        *,
        min_effect: float | None = None,
        metrics: Sequence[str] = (),
    ) -> "Report":
        """Judge several contenders, each against its baseline, and adjust all verdicts together.

        With ``metrics`` only these are judged. Raises NotFoundError if the contenders have no value of one of them.
        """
        ...


class Alerts(Protocol):
    """Find alerts and decide about them."""

    def find(self, *, states: Sequence[AlertState] = (), benchmark: str | None = None) -> Sequence[Alert]:
        """Alerts in their current state, newest first; those in some states or of one benchmark."""
        ...

    def get(self, alert_id: str) -> tuple[Alert, Sequence[Event]]:
        """An alert by id or unique prefix, and all its events. Raises NotFoundError."""
        ...

    def deliveries(self, alert_id: str) -> Sequence[Delivery]:
        """The deliveries of an alert to each address, pending ones included, in order. Raises NotFoundError."""
        ...

    def decide(
        self, alert_id: str, decision: "TriageAction", *, why: str, until_s: float | None = None
    ) -> Alert:
        """Decide about an alert; stored with actor, time and reason. Raises BadInputError if its state forbids it."""
        ...


class Series(Protocol):
    """All points of each metric over time, and their changes of level."""

    def find(
        self, *, benchmark: str | None = None, metric: str | None = None, newest: int = 10_000
    ) -> "Sequence[SeriesOverview]":
        """Every series with its verdict and the points of its ``newest`` runs, by which it is judged."""
        ...

    def analyse(self, *, benchmark: str | None = None, notify: bool = False) -> Sequence[Alert]:
        """Judge all points of all series again; the alerts that changed. Notifies only with ``notify``."""
        ...
