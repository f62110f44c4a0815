"""The plan of an alternation: two descriptors, measured in rounds until they are decided or the budget is spent."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import count

from anubis.contracts.runs import KeyedSubmission, RunQuery, RunRow
from anubis.contracts.world import World
from anubis.model.errors import BadInputError
from anubis.model.ids import derived_run_id
from anubis.model.plain import from_plain, to_plain
from anubis.model.run import Event, Run
from anubis.submission.environment import adding
from anubis.submission.submit import first_status

#: Kind of the event with the plan, at the first run of the family.
PLAN_EVENT = "alternation"
#: Rounds that are submitted together, and in which nothing is judged.
BLOCK = 2
#: Most rounds of a plan.
MOST_ROUNDS = 1000
#: More runs than a family has.
_ALL = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What was asked when an alternation began. It cannot be changed later, because the levels of the test follow from it."""

    #: Most rounds, an even number.
    rounds: int
    #: Longest total time of the runs, seconds; None: no limit.
    max_s: float | None = None
    #: Smallest effect that counts, as a ratio; None: that of the descriptor, else the default.
    min_effect: float | None = None
    #: The metrics to judge; empty: those of the benchmark.
    metrics: tuple[str, ...] = ()
    #: Names of the files in the family, the baseline first.
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternation:
    """An alternation and the runs that it has so far."""

    family_id: str
    plan: Plan
    #: In the order of their submission.
    runs: Sequence[RunRow]

    @property
    def models(self) -> Sequence[str]:
        """Ids of one run of each side, the baseline first."""
        return [next(row.id for row in self.runs if row.cell["file"] == file) for file in self.plan.files]

    @property
    def rounds(self) -> int:
        """The number of rounds that were submitted completely."""
        counts = Counter(row.cell["round"] for row in self.runs)
        return next(number for number in count() if counts[number] < 2)

    def side(self, file: str) -> Sequence[RunRow]:
        """The runs of one side."""
        return [row for row in self.runs if row.cell["file"] == file]


def begin(
    world: World, sides: Sequence[tuple[Run, str]], plan: Plan, *, key: tuple[str, str] | None = None
) -> Alternation:
    """Store the first rounds of two new runs, which are the models of all runs. Raises BadInputError for other numbers.

    ``key``: the key and the digest of a request; raises ConflictError if a submission with this key is stored.
    """
    if len(sides) != 2:
        raise BadInputError(
            f"an alternation compares two descriptors without a matrix; these make {len(sides)} runs",
            remedy="name two files, and choose one cell of a matrix in each",
        )
    models = [run for run, _ in sides]
    family = str(models[0].family_id)
    texts = {run.cell["file"]: text for run, text in sides}
    runs = _block(family, models, 0, now_s=world.clock.now_s())
    event = Event(
        run_id=runs[0].id,
        kind=PLAN_EVENT,
        time_s=runs[0].created_s,
        message=f"at most {plan.rounds} rounds",
        data=to_plain(replace(plan, files=(models[0].cell["file"], models[1].cell["file"]))),
    )
    keyed = key and KeyedSubmission(
        key=key[0], digest=key[1], run_ids=tuple(run.id for run in runs), created_s=runs[0].created_s
    )
    adding.add(world, [(run, texts[run.cell["file"]]) for run in runs], [event], keyed=keyed or None)
    return stored(world, family)


def stored(world: World, family_id: str) -> Alternation:
    """The alternation with this family. Raises BadInputError if the family is none."""
    rows = world.runs.find(RunQuery(family_id=family_id, limit=_ALL, newest_first=False))
    events = world.events.read(min(row.id for row in rows)) if rows else ()
    plan = next((event.data for event in events if event.kind == PLAN_EVENT), None)
    if plan is None:
        raise BadInputError(
            f"the runs of family {family_id} were not submitted by anubis ab",
            remedy="name a run of an alternation, or begin one with anubis ab A.toml B.toml",
        )
    return Alternation(family_id=family_id, plan=from_plain(Plan, plan), runs=rows)


def extend(world: World, alternation: Alternation, *, after: int) -> list[Run]:
    """Store the rounds that follow ``after`` rounds; their runs. Submitting the same rounds twice stores them once.

    Raises BadInputError for rounds that the alternation does not have yet, or that its plan does not have.
    """
    if not 0 < after <= alternation.rounds or after % BLOCK or after >= alternation.plan.rounds:
        raise BadInputError(
            f"no rounds follow {after} rounds: the alternation has {alternation.rounds} of at most"
            f" {alternation.plan.rounds}, and {BLOCK} are added at once",
            remedy="read the alternation again, and name the number of its rounds",
        )
    models = {run_id: world.runs.get(run_id) for run_id in alternation.models}
    number = after
    runs = _block(alternation.family_id, list(models.values()), number, now_s=world.clock.now_s())
    known = {row.id for row in alternation.runs}
    of_file = {model.cell["file"]: model for model in models.values()}
    adding.add_again(world, [(run, of_file[run.cell["file"]]) for run in runs if run.id not in known])
    return runs


def _block(family: str, models: Sequence[Run], number: int, *, now_s: float) -> list[Run]:
    """The runs of ``BLOCK`` rounds from ``number`` on, in order.

    A coin decides for every round but the first which side is first: whatever the machine does meanwhile, equal sides
    then differ in either direction with equal probability. The coin follows from the family, so that the order can be
    derived again.
    """
    runs = []
    for at in range(number, number + BLOCK):
        for slot, model in enumerate(models if baseline_is_first(family, at) else reversed(models)):
            runs.append(_again(family, model, at, slot, now_s=now_s))
    return runs


def baseline_is_first(family: str, number: int) -> bool:
    """Whether the baseline is first in this round."""
    return number == 0 or bool(sha256(f"{family}/{number}".encode()).digest()[0] & 1)


def _again(family: str, model: Run, number: int, slot: int, *, now_s: float) -> Run:
    return replace(
        model,
        id=derived_run_id(family, "alternation", BLOCK * number + slot),
        status=first_status(model.descriptor),
        created_s=now_s,
        due_s=now_s,
        family_id=family,
        attempt=1,
        placement=None,
        reason="",
        cause=None,
        placed_s=None,
        ended_s=None,
        cancel_requested=False,
        cell={**model.cell, "round": number},
    )


def measured_s(rows: Sequence[RunRow]) -> float:
    """The total time of these runs, seconds."""
    return sum(row.ended_s - row.placed_s for row in rows if row.ended_s and row.placed_s)
