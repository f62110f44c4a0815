"""Who posts the reports of gates: entry points of the group ``anubis.posts``, by name."""

from collections.abc import Mapping

from anubis.model.errors import BadInputError
from anubis.pipeline.report import Report


def post(report: Report, name: str, environ: Mapping[str, str]) -> list[str]:
    """Post the report where the environment says (a pull request, a commit); the addresses of what was posted.

    Raises BadInputError for a name that nobody answers to, NotifyError when it was refused.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415  10 ms

    known = {entry.name: entry for entry in entry_points(group="anubis.posts")}
    if name not in known:
        raise BadInputError(f"nobody posts to {name!r}", remedy=f"choose one of: {', '.join(sorted(known))}")
    found: list[str] = known[name].load()(report, environ)
    return found
