"""The sides of a gate, from runs, families, labels or descriptor files on the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.cli.errors import warned
from anubis.cli.families import Key, cells_of, files_of
from anubis.cli.select import refs
from anubis.cli.select.unknown_names import unknown_name
from anubis.cli.views.follow import follow
from anubis.contracts.runs import RunQuery, RunRow
from anubis.late import late
from anubis.model.errors import BadInputError, CancelledError, NotFoundError
from anubis.model.labels import is_control
from anubis.model.run import Run
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.client import Client
    from anubis.judging import gate
    from anubis.submission import descriptor_files
else:  # numpy and scipy, pydantic
    gate = late("anubis.judging.gate")
    descriptor_files = late("anubis.submission.descriptor_files")

#: Runs of a baseline given by labels or subject: the newest so many of each benchmark.
NEWEST = 20
#: Rounds of a control, unless the user gives another number: each side is first equally often.
CONTROL_ROUNDS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The arguments of ``anubis check``."""

    #: Runs, families, labels or descriptor files; empty: the family of the last run.
    what: Sequence[str]
    #: How often descriptor files are run; None: not given.
    rounds: int | None
    overrides: Mapping[str, str]
    script: Path | None
    baseline: str | None
    subject: str
    labels: Mapping[str, str]
    #: Measure the descriptor file against itself.
    control: bool = False


def sides_of(client: "Client", asked: Asked) -> "list[gate.GateSides]":
    """The contender (descriptor files are run first) and its baseline, which is found before they are run.

    Raises BadInputError for an invalid combination of arguments, NotFoundError for a baseline that does not exist.
    """
    if sum(map(bool, (asked.baseline, asked.subject, asked.labels))) > 1:
        raise BadInputError(
            "more than one baseline is given", remedy="give only one of the --baseline options"
        )
    if asked.control:
        return _control(client, asked)
    side_by_side = asked.baseline is not None and _is_file(asked.baseline)
    if any(map(_is_file, asked.what)):
        if not all(map(_is_file, asked.what)):
            raise BadInputError("runs and files cannot be combined", remedy="name either runs or files")
        # A baseline that does not exist must be refused before anything is measured.
        baseline = None if side_by_side else _baseline(client, asked, _names(asked), ())
        contender = _measured(client, asked)
    elif asked.rounds or asked.overrides or asked.script or side_by_side:
        raise BadInputError(
            "--rounds, --set, --script and a baseline file require a descriptor file",
            remedy="name a descriptor file to run",
        )
    else:
        contender = _stored(client, asked.what)
        names = [run.descriptor.info.name for run in contender]
        baseline = _baseline(client, asked, names, [run.id for run in contender])
    if baseline is None and (sides := _two_sides(contender, named=side_by_side)):
        return sides
    if baseline and (both := {run.id for run in contender} & {run.id for run in baseline}):
        raise BadInputError(f"run {min(both)} is on both sides", remedy="name each run on one side only")
    return [gate.GateSides(contender=contender, baseline=baseline)]


def _control(client: "Client", asked: Asked) -> "list[gate.GateSides]":
    """The sides of an A/A control of one file, which is run first."""
    if asked.baseline or asked.subject or asked.labels:
        raise BadInputError(
            "--control compares a file with itself, so it takes no baseline", remedy="remove --baseline..."
        )
    if len(asked.what) != 1 or not _is_file(asked.what[0]):
        raise BadInputError("--control requires one descriptor file", remedy="name one descriptor file")
    return _two_sides(_measured(client, replace(asked, rounds=asked.rounds or CONTROL_ROUNDS)), named=True)


def _names(asked: Asked) -> list[str]:
    """The benchmarks that the descriptor files describe; only a baseline by label or subject needs them."""
    if not (asked.labels or asked.subject):
        return []
    submissions = descriptor_files.submissions_of(list(map(Path, asked.what)), overrides=asked.overrides)
    return [submission.descriptor.info.name for submission in submissions]


def _baseline(
    client: "Client", asked: Asked, names: Sequence[str], contender: Sequence[str]
) -> Sequence[Run] | None:
    """The stored runs that are the baseline; None if no --baseline option is given. ``contender``: run ids."""
    if asked.baseline:
        return [client.runs.get(run_id) for run_id in refs.expand(client, asked.baseline, controls=False)]
    if asked.labels:
        words = "the label " + " and ".join(f"{key}={value}" for key, value in asked.labels.items())
        return _newest(client, names, contender, RunQuery(labels=dict(asked.labels)), words)
    if asked.subject:
        return _newest(
            client, names, contender, RunQuery(subject=asked.subject), f"the subject {asked.subject}"
        )
    return None


def _is_file(word: str) -> bool:
    return word.endswith(".toml") or Path(word).is_file()


def _measured(client: "Client", asked: Asked) -> list[Run]:
    """Run the files, and the baseline if it is a file, as one family; the runs as they ended."""
    baseline = [Path(asked.baseline)] if asked.baseline and _is_file(asked.baseline) else []
    if baseline and len(asked.what) > 1:
        raise BadInputError(
            "a baseline file cannot be compared with several files", remedy="check one file at a time"
        )
    submitted = client.runs.submit(
        [*baseline, *map(Path, asked.what)],
        overrides=asked.overrides,
        script=asked.script,
        rounds=asked.rounds or 1,
        control=asked.control,
        warned=warned,
    )
    ended = follow(client, submitted, cancels=True)
    if cancelled := [run for run in ended if run.status is Status.CANCELLED]:
        raise CancelledError(
            f"cancelled: {len(cancelled)} of {len(ended)} runs did not end, and nothing was judged",
            remedy="the other runs are stored; anubis compare and anubis check accept their ids",
        )
    return ended


def _stored(client: "Client", what: Sequence[str]) -> list[Run]:
    if what:
        ids = [run_id for term in what for run_id in refs.expand(client, term, controls=False)]
    else:
        ids = [row.id for row in client.runs.family(refs.LAST)]
    runs = [client.runs.get(run_id) for run_id in dict.fromkeys(ids)]
    if busy := next((run for run in runs if not run.status.final), None):
        raise BadInputError(f"run {busy.id} is not final yet", remedy=f"wait for it: anubis watch {busy.id}")
    return runs


def _two_sides(runs: Sequence[Run], *, named: bool) -> "list[gate.GateSides]":
    """The sides of a family of two files, the first file as the baseline; empty for any other runs.

    Files of two benchmarks (``info.name``) are sides only if ``named``: one of them was given as the baseline.
    """
    if len({run.family_id for run in runs}) != 1 or runs[0].family_id is None:
        return []
    cells = cells_of(runs)
    files = files_of(cells)
    if len(files) != 2 or not (named or len({run.descriptor.info.name for run in runs}) == 1):
        return []
    sides: dict[Key, tuple[list[Run], list[Run]]] = {}
    for cell in cells:
        rest = tuple(item for item in cell.key if item[0] != "file")
        sides.setdefault(rest, ([], []))[files.index(str(dict(cell.key)["file"]))].extend(cell.runs)
    return [gate.GateSides(contender=new, baseline=old) for old, new in sides.values()]


def _newest(
    client: "Client", names: Sequence[str], contender: Sequence[str], query: RunQuery, words: str
) -> list[Run]:
    """The newest successful runs of each benchmark that match a query, without the runs of the contender.
    If some runs match the subject exactly, only these are returned. Raises NotFoundError if no run matches.
    """
    ids: list[str] = []
    for name in dict.fromkeys(names):
        narrow = replace(query, name=name, statuses=(Status.SUCCEEDED,), limit=NEWEST + len(contender))
        rows = [row for row in _measured_rows(client, narrow) if row.id not in contender]
        exact = [row for row in rows if row.subject == query.subject]
        ids += [row.id for row in (exact or rows)[:NEWEST]]
    if not ids:
        unknown = unknown_name(client, labels=query.labels)
        raise NotFoundError(
            f"no successful run of {', '.join(dict.fromkeys(names))} has {words}",
            remedy=unknown.remedy if unknown else "see the stored runs with anubis history",
        )
    return [client.runs.get(run_id) for run_id in ids]


def _measured_rows(client: "Client", query: RunQuery) -> list[RunRow]:
    """At least as many rows as the query's limit if there are so many, without those of A/A controls."""
    rows: list[RunRow] = []
    page = client.runs.find(query)
    while page:
        rows += [row for row in page if not is_control(row.labels)]
        page = client.runs.find(replace(query, after=page[-1].id)) if len(rows) < query.limit else ()
    return rows
