"""How runs are spoken of: one wording and one colour for each status, in every command."""

from collections.abc import Mapping

from anubis.cli import exit_codes
from anubis.cli.views import units
from anubis.cli.views.tables import Styled
from anubis.model.points import OWN_METRICS
from anubis.model.status import Status

COLOURS = {Status.SUCCEEDED: "green", Status.FAILED: "red", Status.CANCELLED: "yellow"}

#: What a status that is not final means to whoever waits.
MEANINGS = {
    Status.FETCH: "what it needs is being fetched",
    Status.PLACE: "waiting for its place on a machine",
    Status.WATCH: "the benchmark runs",
    Status.COLLECT: "its record is being read",
    Status.ANALYSE: "its values are being judged",
    Status.ALERT: "its changes are being told",
}


def status_cell(status: Status) -> Styled:
    """A status in its colour."""
    return Styled(status.value, COLOURS.get(status, "cyan"))


def took(placed_s: float | None, ended_s: float | None, *, now_s: float | None = None) -> str:
    """How long a run took from its placement, or has taken so far; empty before it."""
    until_s = ended_s if ended_s is not None else now_s
    if placed_s is None or until_s is None:
        return ""
    return units.duration(max(0.0, until_s - placed_s))


def values_line(values: Mapping[str, tuple[float, str]]) -> str:
    """The values of a run in one line; what every run has anyway only where there is nothing else."""
    shown = [metric for metric in values if metric not in OWN_METRICS] or list(values)
    return ", ".join(f"{metric} {units.with_unit(*values[metric])}" for metric in shown)


def own_last(metric: str) -> tuple[bool, str]:
    """Sorts metrics by name, those that every run has anyway behind the others."""
    return metric in OWN_METRICS, metric


def exit_code(statuses: "list[Status]") -> int:
    """What a command that waited for runs returns: the worst of how they ended."""
    if Status.FAILED in statuses:
        return exit_codes.FAILED
    return exit_codes.CANCELLED if Status.CANCELLED in statuses else exit_codes.OK
