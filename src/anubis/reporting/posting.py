"""Plug-ins that post the reports of gates: entry points of the group ``anubis.posts``, by name."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from anubis.model.errors import BadInputError
from anubis.reporting.gate_report import Report

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def known(names: Sequence[str]) -> Mapping[str, "EntryPoint"]:
    """The entry points of the group by name. Raises BadInputError if one of ``names`` is not installed."""
    if not names:
        return {}
    from importlib.metadata import entry_points  # noqa: PLC0415  10 ms

    installed = {entry.name: entry for entry in entry_points(group="anubis.posts")}
    for name in names:
        if name not in installed:
            raise BadInputError(
                f"no installed plug-in posts to {name!r}",
                remedy=f"choose one of: {', '.join(sorted(installed))}",
            )
    return installed


def post(report: Report, name: str, environ: Mapping[str, str]) -> list[str]:
    """Post the report to the pull request or commit that the environment names. Returns the addresses of the posts.

    Raises BadInputError if no plug-in has this name, NotifyError if the service refuses the report.
    """
    posted: list[str] = known([name])[name].load()(report, environ)
    return posted
