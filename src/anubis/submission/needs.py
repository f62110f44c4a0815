"""Runs that start only after other runs have succeeded."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from graphlib import CycleError, TopologicalSorter

from anubis.model.errors import BadInputError
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.reporting import name_suggestions

#: The number of needs that one run may have.
MOST = 1000


def with_needs(
    runs: Sequence[tuple[Run, str]], needs: Sequence[str], find: Callable[[str], Run]
) -> list[tuple[Run, str]]:
    """The new runs with what they need. ``find`` returns the stored run of a reference.

    A need is ``RUN``, or ``BENCHMARK=RUN`` for the runs of one benchmark of this submission. ``RUN`` is a benchmark of this
    submission, whose runs are all needed, or a reference to a stored run. A bare need does not apply to the benchmark that it
    names. Raises BadInputError for a cycle, and for a run that can no longer succeed.
    """
    if not needs:
        return list(runs)
    by_name: dict[str, list[str]] = {}
    for run, _ in runs:
        by_name.setdefault(run.descriptor.info.name, []).append(run.id)
    needed: dict[str, dict[str, None]] = {name: {} for name in by_name}
    order: dict[str, set[str]] = {name: set() for name in by_name}
    for need in needs:
        name, equals, ref = need.partition("=")
        if not equals:
            name, ref = "", need
        elif name not in by_name:
            remedy = name_suggestions.remedy(name, list(by_name), otherwise="use RUN or BENCHMARK=RUN")
            raise BadInputError(f"--needs {need}: this submission has no benchmark {name!r}", remedy=remedy)
        ids = by_name.get(ref) or [_startable(find(ref), need)]
        waiting = [name] if name else [other for other in by_name if other != ref]
        if not waiting:
            raise BadInputError(
                f"--needs {need}: this submission has no other benchmark, so nothing waits for {ref}",
                remedy="submit those that wait together with it, or remove --needs",
            )
        for each in waiting:
            needed[each] |= dict.fromkeys(ids)
            if ref in by_name:
                order[each].add(ref)
    _check(order, needed)
    return [(replace(run, needs=tuple(needed[run.descriptor.info.name])), text) for run, text in runs]


def _startable(run: Run, need: str) -> str:
    """The id of a stored run that has succeeded or may succeed."""
    if run.status in {Status.FAILED, Status.CANCELLED}:
        raise BadInputError(
            f"--needs {need}: run {run.id} has ended as {run.status.value}",
            remedy="name a run that has succeeded or has not ended; anubis replay repeats a run",
        )
    return run.id


def _check(order: Mapping[str, set[str]], needed: Mapping[str, Mapping[str, None]]) -> None:
    try:
        TopologicalSorter(order).prepare()
    except CycleError as error:
        first, *others = reversed(error.args[1])
        circle = f"{first} needs {', which needs '.join(others)}"
        raise BadInputError(
            f"the needs are a cycle: {circle}", remedy="remove one of these needs from the submission"
        ) from error
    if too_many := [name for name, ids in needed.items() if len(ids) > MOST]:
        raise BadInputError(
            f"each run of {too_many[0]} needs {len(needed[too_many[0]])} runs, and {MOST} are accepted",
            remedy="need a run that itself needs the others",
        )
