"""Permissions and quotas of projects for people."""

from anubis.cli import terminal
from anubis.cli.views import units
from anubis.model.access.permits import MEANINGS
from anubis.model.access.roles import EVERYTHING, Project, Quota


def permitted(project: Project) -> str:
    """The permissions in a word or list."""
    if set(EVERYTHING) <= set(project.permits):
        return "everything"
    return " ".join(project.permits) or "nothing"


def limits(quota: Quota) -> str:
    """The limits in a line; empty without any."""
    shown = {
        "running": quota.running,
        "waiting": quota.waiting,
        "each day": quota.per_day,
        "of records": None if quota.record_bytes is None else units.size(quota.record_bytes),
        "for each run": None if quota.run_s is None else f"{quota.run_s:g} s",
    }
    return ", ".join(f"{value} {name}" for name, value in shown.items() if value is not None)


def show(project: Project) -> None:
    """Print the permissions of a project, one a line."""
    for name in project.permits:
        kind, colon, _ = name.partition(":")
        terminal.line(f"{name}: {MEANINGS[f'{kind}:PATTERN' if colon else name].replace('`', '')}")
    if not project.permits:
        terminal.line(f"{project.name} permits nothing")
