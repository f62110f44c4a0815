"""Resolves references, families and labels on the command line to runs."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.cli.home import open_client
from anubis.cli.select.unknown_names import unknown_name
from anubis.cli.views import units
from anubis.contracts.runs import RunQuery, RunRow
from anubis.model.errors import AnubisError, BadInputError, NotFoundError
from anubis.model.labels import is_control
from anubis.reporting.status_words import WORDS

if TYPE_CHECKING:
    from anubis.client import Client

LAST = "@last"
#: Maximum number of runs in one selection.
MOST = 100_000

_FULL_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def expand(
    client: "Client", term: str, within: RunQuery | None = None, *, controls: bool = True
) -> list[str]:
    """The full ids that a term names: a comma-separated list of run references, family ids and ``label=value`` pairs.

    A run must match all pairs; ``within`` restricts these runs further. Without ``controls``, pairs select no run of an
    A/A control. Raises NotFoundError for a part without a
    run.
    """
    parts = [part.strip() for part in term.split(",") if part.strip()]
    labels = dict(part.split("=", 1) for part in parts if "=" in part)
    ids = [run_id for part in parts if "=" not in part for run_id in _named(client, part)]
    if labels:
        narrow = within or RunQuery()
        rows = client.runs.find(
            replace(narrow, labels={**narrow.labels, **labels}, limit=MOST, newest_first=False)
        )
        rows = [row for row in rows if controls or not is_control(row.labels)]
        if not rows:
            raise unknown_name(client, labels=labels) or NotFoundError(
                f"no run has {' and '.join(f'{key}={value}' for key, value in labels.items())}",
                remedy="see the labels of your runs with anubis history --json",
            )
        ids += [row.id for row in rows]
    return list(dict.fromkeys(ids))


def ids_of(client: "Client", terms: Sequence[str], *, families: bool = False) -> list[str]:
    """The full ids that terms name; with ``families`` all runs of the families of the named runs."""
    ids = [run_id for term in terms for run_id in expand(client, term)]
    if families:
        ids = [row.id for run_id in ids for row in client.runs.family(run_id)]
    return list(dict.fromkeys(ids))


def with_caused(client: "Client", ids: Sequence[str]) -> list[str]:
    """The ids with those of the runs that these caused, directly or through others."""
    found, due = dict.fromkeys(ids), list(ids)
    while due:
        rows = client.runs.find(RunQuery(parent_id=due.pop(), limit=MOST, newest_first=False))
        new = [row.id for row in rows if row.id not in found]
        found.update(dict.fromkeys(new))
        due += new
    return list(found)


def _named(client: "Client", part: str) -> list[str]:
    try:
        return [client.runs.get(part).id]
    except NotFoundError:
        rows = family(client, part) if _FULL_ID.fullmatch(part) else []
        if not rows:
            _refuse_file(part)
            raise
        return [row.id for row in rows]


def _refuse_file(word: str) -> None:
    """Raise BadInputError if a word that names no run is a file, or the name of one that does not exist."""
    if Path(word).is_file():
        raise BadInputError(
            f"{word} is a file, not a run",
            remedy=f"measure it with anubis run {word}; anubis run A B compares two descriptors",
        )
    if "." in word or "/" in word:
        raise BadInputError(
            f"there is no file {word}, and it is not the id of a run",
            remedy="check the path; anubis history lists the runs",
        )


def family_id(client: "Client", ref: str) -> str:
    """The id of the family of a run; also accepts that id. Raises BadInputError if the run has no family."""
    run = client.runs.get(_named(client, ref)[0])
    if run.family_id is None:
        raise BadInputError(f"run {run.id} is not part of a family", remedy="remove --family")
    return run.family_id


def family(client: "Client", family_id: str) -> Sequence[RunRow]:
    """The runs of a family by its full id, in the order of their submission."""
    return client.runs.find(RunQuery(family_id=family_id, limit=MOST, newest_first=False))


def completions(incomplete: str) -> Iterator[tuple[str, str]]:
    """Reference and explanation of the latest runs that begin like this; none if the database cannot be opened."""
    try:
        with open_client() as client:
            rows = client.runs.find(RunQuery(limit=50))
            short = client.runs.short_ids([row.id for row in rows])
    except AnubisError:
        return
    for back, row in enumerate(rows):
        about = f"{row.name} {WORDS[row.status]} {units.moment(row.created_s)}"
        ref = LAST if back == 0 else f"{LAST}~{back}"
        if incomplete.startswith("@"):
            if ref.startswith(incomplete):
                yield ref, about
        elif row.id.startswith(incomplete):
            yield short[row.id], about


def schedule_completions(incomplete: str) -> Iterator[tuple[str, str]]:
    """Names and cron expressions of the schedules that begin like this; none if the database cannot be opened."""
    try:
        with open_client() as client:
            found = client.schedules.find()
    except AnubisError:
        return
    for schedule in found:
        if schedule.name.startswith(incomplete):
            yield schedule.name, f"{schedule.scheduling} {schedule.timezone}"
