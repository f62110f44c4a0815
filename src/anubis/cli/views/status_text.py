"""Text for run statuses: one wording and one colour for each, in every command."""

from collections.abc import Mapping

from anubis.cli import exit_codes
from anubis.cli.views import units
from anubis.cli.views.tables import Styled
from anubis.model.hardware import Cost
from anubis.model.points import OWN_METRICS
from anubis.model.status import Status
from anubis.reporting.status_words import WORDS

COLOURS = {Status.SUCCEEDED: "green", Status.FAILED: "red", Status.CANCELLED: "yellow"}

#: Explanations of statuses that are not final.
MEANINGS = {
    Status.FETCH: "its data are being fetched",
    Status.PLACE: "waiting to be placed on a machine",
    Status.COLLECT: "its record is being read",
    Status.ANALYSE: "its values are being judged",
    Status.ALERT: "its alerts are being sent",
}


def status_cell(status: Status) -> Styled:
    """A status in its colour."""
    return Styled(WORDS[status], COLOURS.get(status, "cyan"))


def took(placed_s: float | None, ended_s: float | None, *, now_s: float | None = None) -> str:
    """How long a run took from its placement, or has taken so far; empty before the placement."""
    until_s = ended_s if ended_s is not None else now_s
    if placed_s is None or until_s is None:
        return ""
    return units.duration(max(0.0, until_s - placed_s))


def cost_text(cost: Cost | None, *, unknown: int = 0) -> str:
    """An amount with its currency; empty if no machine was used. ``unknown``: number of further runs of unknown cost."""
    if cost is None:
        return f"unknown for {units.counted(unknown, 'run')}" if unknown else ""
    if cost.amount is None:
        return "unknown: the price table has no price of its machine"
    known = f"{cost.amount:.4g} {cost.currency}"
    return f"{known}, and unknown for {units.counted(unknown, 'run')}" if unknown else known


def values_line(values: Mapping[str, tuple[float, str]]) -> str:
    """The values of a run in one line. The agent's own metrics are included only if there are no others."""
    shown = [metric for metric in values if metric not in OWN_METRICS] or list(values)
    return ", ".join(f"{metric} {units.with_unit(*values[metric])}" for metric in shown)


def own_last(metric: str) -> tuple[bool, str]:
    """Sort key: metrics by name, the agent's own metrics last."""
    return metric in OWN_METRICS, metric


def exit_code(statuses: "list[Status]") -> int:
    """The exit status of a command that waited for runs: that of the worst final status."""
    if Status.FAILED in statuses:
        return exit_codes.FAILED
    return exit_codes.CANCELLED if Status.CANCELLED in statuses else exit_codes.OK
