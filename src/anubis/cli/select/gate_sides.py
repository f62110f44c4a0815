"""Who meets whom at the gate, from what a person names: runs, families, labels, descriptor files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from anubis.cli.errors import warned
from anubis.cli.params import LAST
from anubis.cli.select import refs
from anubis.cli.select.families import Key, cells_of
from anubis.cli.views.follow import follow
from anubis.contracts.runs import RunQuery
from anubis.judging.gate import GateSides
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.run import Run
from anubis.model.status import Status

if TYPE_CHECKING:
    from anubis.client import Client

#: Runs of a baseline given by labels or subject: the newest so many of each benchmark.
NEWEST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What was asked on the command line."""

    #: Runs, families, labels or descriptor files; empty: the family of the last run.
    what: Sequence[str]
    #: How often descriptor files are run; None: it was not said.
    runs: int | None
    overrides: Mapping[str, str]
    script: Path | None
    baseline: str | None
    subject: str
    labels: Mapping[str, str]


def contests_of(client: "Client", asked: Asked) -> list[GateSides]:
    """The contender (descriptor files are run first) and its baseline.

    Raises BadInputError for a combination that means nothing, NotFoundError for a baseline that does not exist.
    """
    baseline = asked.baseline
    if sum(map(bool, (baseline, asked.subject, asked.labels))) > 1:
        raise BadInputError(
            "there is more than one baseline", remedy="give only one of the --baseline options"
        )
    if any(map(_is_file, asked.what)):
        if not all(map(_is_file, asked.what)):
            raise BadInputError("runs and files were named together", remedy="name either runs or files")
        contender = _measured(client, asked)
        baseline = None if baseline and _is_file(baseline) else baseline
    elif asked.runs or asked.overrides or asked.script or (baseline and _is_file(baseline)):
        raise BadInputError("no descriptor file says what to run", remedy="name a descriptor file")
    else:
        contender = _stored(client, asked.what)
    if not (baseline or asked.subject or asked.labels) and (sides := _two_sides(client, contender)):
        return sides
    opponents: Sequence[Run] | None = None
    if baseline:
        opponents = [client.runs.get(run_id) for run_id in refs.expand(client, baseline)]
    elif asked.labels:
        words = " and ".join(f"{key}={value}" for key, value in asked.labels.items())
        opponents = _newest(client, contender, RunQuery(labels=dict(asked.labels)), words)
    elif asked.subject:
        opponents = _newest(client, contender, RunQuery(subject=asked.subject), asked.subject)
    if opponents and (both := {run.id for run in contender} & {run.id for run in opponents}):
        raise BadInputError(f"run {min(both)} is on both sides", remedy="name each run on one side only")
    return [GateSides(contender=contender, baseline=opponents)]


def _is_file(word: str) -> bool:
    return word.endswith(".toml") or Path(word).is_file()


def _measured(client: "Client", asked: Asked) -> list[Run]:
    """The runs of the files as they ended; those of a baseline that is a file are beside them, in the same family."""
    beside = [Path(asked.baseline)] if asked.baseline and _is_file(asked.baseline) else []
    if beside and len(asked.what) > 1:
        raise BadInputError("one baseline file meets several files", remedy="check one file at a time")
    submitted = client.runs.submit(
        [*beside, *map(Path, asked.what)],
        overrides=asked.overrides,
        script=asked.script,
        rounds=asked.runs or 1,
        warned=warned,
    )
    return follow(client, submitted, cancels=True)


def _stored(client: "Client", what: Sequence[str]) -> list[Run]:
    if what:
        ids = [run_id for term in what for run_id in refs.expand(client, term)]
    else:
        ids = [row.id for row in client.runs.family(LAST)]
    found = [client.runs.get(run_id) for run_id in dict.fromkeys(ids)]
    if busy := next((run for run in found if not run.status.final), None):
        raise BadInputError(f"run {busy.id} is not over yet", remedy=f"wait for it: anubis watch {busy.id}")
    return found


def _two_sides(client: "Client", runs: Sequence[Run]) -> list[GateSides]:
    """A family of two files is its own contest, the first file the baseline; nothing for any other runs."""
    if len({run.family_id for run in runs}) != 1 or runs[0].family_id is None:
        return []
    cells = cells_of(client, runs)
    files = list(dict.fromkeys(dict(cell.key).get("file") for cell in cells))
    if len(files) != 2:
        return []
    sides: dict[Key, tuple[list[Run], list[Run]]] = {}
    for cell in cells:
        rest = tuple(item for item in cell.key if item[0] != "file")
        sides.setdefault(rest, ([], []))[files.index(dict(cell.key).get("file"))].extend(cell.runs)
    return [GateSides(contender=new, baseline=old) for old, new in sides.values()]


def _newest(client: "Client", contender: Sequence[Run], query: RunQuery, words: str) -> list[Run]:
    """The newest good runs of every benchmark of the contender that a query finds; of a subject only those that have
    that very name, where there are any. Raises NotFoundError when there is none.
    """
    own = {run.id for run in contender}
    found: list[str] = []
    for name in dict.fromkeys(run.descriptor.info.name for run in contender):
        narrow = replace(query, name=name, statuses=(Status.SUCCEEDED,), limit=NEWEST + len(own))
        rows = [row for row in client.runs.find(narrow) if row.id not in own]
        exact = [row for row in rows if row.subject == query.subject]
        found += [row.id for row in (exact or rows)[:NEWEST]]
    if not found:
        raise NotFoundError(
            f"no good run of these benchmarks has {words}", remedy="see what there is with anubis history"
        )
    return [client.runs.get(run_id) for run_id in found]
