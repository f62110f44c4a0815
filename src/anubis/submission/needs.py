"""Runs that start only after other runs have succeeded."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

from anubis.model.errors import AnubisError, BadInputError, NotFoundError
from anubis.model.problem import Problem
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.reporting import name_suggestions

#: The number of needs that one run may have, and of cycles that are reported.
MOST, MOST_CYCLES = 1000, 20
#: Position of a submission among those that are stored together, and a benchmark of it.
_Member = tuple[int, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """The new runs of one submission with the texts of their descriptors, and what they need."""

    runs: Sequence[tuple[Run, str]]
    needs: Sequence[str] = ()


def with_needs(
    runs: Sequence[tuple[Run, str]], needs: Sequence[str], find: Callable[[str], Run]
) -> list[tuple[Run, str]]:
    """The new runs of one submission with what they need; see ``all_with_needs``."""
    return all_with_needs([Submitted(runs=runs, needs=needs)], find)[0]


def all_with_needs(
    submissions: Sequence[Submitted], find: Callable[[str], Run]
) -> list[list[tuple[Run, str]]]:
    """The new runs of submissions that are stored together, with what they need.

    A need is ``RUN``, or ``BENCHMARK=RUN`` for the runs of one benchmark of its submission. ``RUN`` is a benchmark of that
    submission, whose runs are all needed, else one of another submission, else a reference to a stored run, which ``find``
    returns. A bare need does not apply to the benchmark that it names. Raises BadInputError with all problems: cycles, and
    runs that can no longer succeed.
    """
    if not any(each.needs for each in submissions):
        return [list(each.runs) for each in submissions]
    asked = _Needs(submissions, find)
    for at, each in enumerate(submissions):
        for need in each.needs:
            asked.add(at, need)
    asked.check()
    return [
        [
            (replace(run, needs=tuple(asked.needed[at, run.descriptor.info.name])), text)
            for run, text in each.runs
        ]
        for at, each in enumerate(submissions)
    ]


@dataclass(slots=True)
class _Needs:
    """What is needed so far, and what is wrong with it."""

    submissions: Sequence[Submitted]
    find: Callable[[str], Run]
    #: Benchmark of a submission -> ids of its new runs, of the runs that it needs, and the benchmarks that it needs.
    runs: dict[_Member, list[str]] = field(default_factory=dict)
    needed: dict[_Member, dict[str, None]] = field(default_factory=dict)
    order: dict[_Member, set[_Member]] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    errors: list[AnubisError] = field(default_factory=list)

    def __post_init__(self) -> None:
        for at, each in enumerate(self.submissions):
            for run, _ in each.runs:
                self.runs.setdefault((at, run.descriptor.info.name), []).append(run.id)
        self.needed = {member: {} for member in self.runs}
        self.order = {member: set() for member in self.runs}

    def add(self, at: int, need: str) -> None:
        """A need of the submission at a position."""
        name, equals, ref = need.partition("=")
        if not equals:
            name, ref = "", need
        own = [member for member in self.runs if member[0] == at]
        if name and (at, name) not in self.runs:
            names = [benchmark for _, benchmark in own]
            remedy = name_suggestions.remedy(name, names, otherwise="use RUN or BENCHMARK=RUN")
            self._refuse(at, f"--needs {need}: this submission has no benchmark {name!r}", remedy)
            return
        members = [(at, ref)] if (at, ref) in self.runs else [each for each in self.runs if each[1] == ref]
        ids = [run_id for member in members for run_id in self.runs[member]]
        if not members:
            try:
                ids = [_startable(self.find(ref), need)]
            except (BadInputError, NotFoundError) as error:
                self._refuse(at, error.message, error.remedy, error)
                return
        waiting = [(at, name)] if name else [member for member in own if member not in members]
        if not waiting:
            self._refuse(
                at,
                f"--needs {need}: this submission has no other benchmark, so nothing waits for {ref}",
                "submit those that wait together with it, or remove --needs",
            )
        for each in waiting:
            self.needed[each] |= dict.fromkeys(ids)
            self.order[each].update(members)

    def check(self) -> None:
        """Raise BadInputError with all problems."""
        for circle in self._cycles():
            first, *others = (name for _, name in circle)
            words = f"{first} needs {', which needs '.join(others)}"
            self._refuse(
                circle[0][0],
                f"the needs are a cycle: {words}",
                "remove one of these needs from the submission",
            )
        for (at, name), ids in self.needed.items():
            if len(ids) > MOST:
                self._refuse(
                    at,
                    f"each run of {name} needs {len(ids)} runs, and {MOST} are accepted",
                    "need a run that itself needs the others",
                )
        if len(self.problems) == 1 and len(self.submissions) == 1:
            raise self.errors[0]
        if self.problems:
            raise BadInputError(
                f"the needs have {len(self.problems)} problems; nothing was stored", problems=self.problems
            )

    def _cycles(self) -> Iterator[Sequence[_Member]]:
        order = {member: set(others) for member, others in self.order.items()}
        for _ in range(MOST_CYCLES):
            try:
                TopologicalSorter(order).prepare()
            except CycleError as error:
                circle = list(reversed(error.args[1]))
                order[circle[0]].remove(circle[1])  # the others are found without it
                yield circle
            else:
                return

    def _refuse(self, at: int, message: str, remedy: str, error: AnubisError | None = None) -> None:
        self.errors.append(error or BadInputError(message, remedy=remedy))
        path = f"submissions[{at}].needs" if len(self.submissions) > 1 else "needs"
        self.problems.append(Problem(path=path, message=message, remedy=remedy))


def _startable(run: Run, need: str) -> str:
    """The id of a stored run that has succeeded or may succeed."""
    if run.status in {Status.FAILED, Status.CANCELLED}:
        raise BadInputError(
            f"--needs {need}: run {run.id} has ended as {run.status.value}",
            remedy="name a run that has succeeded or has not ended; anubis replay repeats a run",
        )
    return run.id
