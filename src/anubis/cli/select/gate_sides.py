"""The sides of a gate, from runs, families, labels or descriptor files on the command line."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.cli.errors import warned
from anubis.cli.families import Key, cells_of
from anubis.cli.select import refs
from anubis.cli.select.unknown_names import unknown_name
from anubis.cli.views.follow import follow
from anubis.contracts.runs import RunQuery
from anubis.late import late
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.run import Run
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.client import Client
    from anubis.judging import gate
else:  # numpy and scipy
    gate = late("anubis.judging.gate")

#: Runs of a baseline given by labels or subject: the newest so many of each benchmark.
NEWEST = 20


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


def sides_of(client: "Client", asked: Asked) -> "list[gate.GateSides]":
    """The contender (descriptor files are run first) and its baseline.

    Raises BadInputError for an invalid combination of arguments, NotFoundError for a baseline that does not exist.
    """
    baseline = asked.baseline
    if sum(map(bool, (baseline, asked.subject, asked.labels))) > 1:
        raise BadInputError(
            "more than one baseline is given", remedy="give only one of the --baseline options"
        )
    if any(map(_is_file, asked.what)):
        if not all(map(_is_file, asked.what)):
            raise BadInputError("runs and files cannot be combined", remedy="name either runs or files")
        contender = _measured(client, asked)
        baseline = None if baseline and _is_file(baseline) else baseline
    elif asked.rounds or asked.overrides or asked.script or (baseline and _is_file(baseline)):
        raise BadInputError(
            "--rounds, --set, --script and a baseline file require a descriptor file",
            remedy="name a descriptor file to run",
        )
    else:
        contender = _stored(client, asked.what)
    if not (baseline or asked.subject or asked.labels) and (sides := _two_sides(contender)):
        return sides
    baseline_runs: Sequence[Run] | None = None
    if baseline:
        baseline_runs = [client.runs.get(run_id) for run_id in refs.expand(client, baseline)]
    elif asked.labels:
        words = " and ".join(f"{key}={value}" for key, value in asked.labels.items())
        baseline_runs = _newest(client, contender, RunQuery(labels=dict(asked.labels)), words)
    elif asked.subject:
        baseline_runs = _newest(client, contender, RunQuery(subject=asked.subject), asked.subject)
    if baseline_runs and (both := {run.id for run in contender} & {run.id for run in baseline_runs}):
        raise BadInputError(f"run {min(both)} is on both sides", remedy="name each run on one side only")
    return [gate.GateSides(contender=contender, baseline=baseline_runs)]


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
        warned=warned,
    )
    return follow(client, submitted, cancels=True)


def _stored(client: "Client", what: Sequence[str]) -> list[Run]:
    if what:
        ids = [run_id for term in what for run_id in refs.expand(client, term)]
    else:
        ids = [row.id for row in client.runs.family(refs.LAST)]
    runs = [client.runs.get(run_id) for run_id in dict.fromkeys(ids)]
    if busy := next((run for run in runs if not run.status.final), None):
        raise BadInputError(f"run {busy.id} is not final yet", remedy=f"wait for it: anubis watch {busy.id}")
    return runs


def _two_sides(runs: Sequence[Run]) -> "list[gate.GateSides]":
    """The sides of a family of two files, the first file as the baseline; empty for any other runs."""
    if len({run.family_id for run in runs}) != 1 or runs[0].family_id is None:
        return []
    cells = cells_of(runs)
    files = list(dict.fromkeys(dict(cell.key).get("file") for cell in cells))
    if len(files) != 2:
        return []
    sides: dict[Key, tuple[list[Run], list[Run]]] = {}
    for cell in cells:
        rest = tuple(item for item in cell.key if item[0] != "file")
        sides.setdefault(rest, ([], []))[files.index(dict(cell.key).get("file"))].extend(cell.runs)
    return [gate.GateSides(contender=new, baseline=old) for old, new in sides.values()]


def _newest(client: "Client", contender: Sequence[Run], query: RunQuery, words: str) -> list[Run]:
    """The newest successful runs of each benchmark of the contender that match a query, without the contender itself.
    If some runs match the subject exactly, only these are returned. Raises NotFoundError if no run matches.
    """
    contender_ids = {run.id for run in contender}
    ids: list[str] = []
    for name in dict.fromkeys(run.descriptor.info.name for run in contender):
        narrow = replace(query, name=name, statuses=(Status.SUCCEEDED,), limit=NEWEST + len(contender_ids))
        rows = [row for row in client.runs.find(narrow) if row.id not in contender_ids]
        exact = [row for row in rows if row.subject == query.subject]
        ids += [row.id for row in (exact or rows)[:NEWEST]]
    if not ids:
        unknown = unknown_name(client, labels=query.labels)
        raise NotFoundError(
            f"no successful run of these benchmarks has {words}",
            remedy=unknown.remedy if unknown else "see the stored runs with anubis history",
        )
    return [client.runs.get(run_id) for run_id in ids]
