"""Who posts the reports of gates: entry points of the group ``anubis.posts``, by name."""

from collections.abc import Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points

from anubis.model.errors import BadInputError
from anubis.reporting.gate_report import Report


def known(names: Sequence[str]) -> Mapping[str, EntryPoint]:
    """The entry points of these names. Raises BadInputError for one that nobody answers to."""
    if not names:
        return {}
    found = {entry.name: entry for entry in entry_points(group="anubis.posts")}
    for name in names:
        if name not in found:
            raise BadInputError(
                f"nobody posts to {name!r}", remedy=f"choose one of: {', '.join(sorted(found))}"
            )
    return found


def post(report: Report, name: str, environ: Mapping[str, str]) -> list[str]:
    """Post the report where the environment says (a pull request, a commit); the addresses of what was posted.

    Raises BadInputError for a name that nobody answers to, NotifyError when it was refused.
    """
    posted: list[str] = known([name])[name].load()(report, environ)
    return posted
