"""The state of an alternation after the rounds that it has."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isfinite

from anubis.alternation.plan import Alternation, Plan, measured_s
from anubis.analysis.samples.sequential import judged
from anubis.contracts.runs import RunRow
from anubis.contracts.world import World
from anubis.judging.comparison import in_rounds
from anubis.judging.gate import MIN_EFFECT
from anubis.judging.series import judged_metrics
from anubis.model.descriptor import Descriptor
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.points import Point
from anubis.model.status import Status
from anubis.model.verdict import Judgement, Sides, Verdict
from anubis.reporting import name_suggestions


class End(StrEnum):
    """Why no more rounds are measured."""

    DECIDED = "decided"
    ROUNDS = "all rounds were measured"
    TIME = "the time is spent"
    FAILED = "a run failed"
    CANCELLED = "a run was cancelled"


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """The verdicts so far, and whether more rounds are measured."""

    alternation: Alternation
    verdicts: Sequence[Verdict]
    #: Rounds in which both sides were measured.
    rounds: int
    #: None: more rounds decide.
    end: End | None = None
    #: The run that failed or was cancelled.
    failed: RunRow | None = None

    @property
    def open(self) -> Sequence[Verdict]:
        """The metrics that are not decided."""
        return [verdict for verdict in self.verdicts if verdict.judgement is Judgement.UNDECIDED]


def state_of(world: World, alternation: Alternation) -> State:
    """Judge the rounds whose runs are final. Raises BadInputError if the sides cannot be compared."""
    plan = alternation.plan
    bad = next(
        (row for row in alternation.runs if row.status.final and row.status is not Status.SUCCEEDED), None
    )
    sides = _sides(world, alternation)
    verdicts = judged(sides, plan.rounds)
    rounds = _measured_rounds(alternation)
    if bad is not None:
        end: End | None = End.CANCELLED if bad.status is Status.CANCELLED else End.FAILED
    elif verdicts and all(verdict.judgement is not Judgement.UNDECIDED for verdict in verdicts):
        end = End.DECIDED
    elif rounds >= plan.rounds:
        end = End.ROUNDS
    elif plan.max_s is not None and measured_s(alternation.runs) >= plan.max_s:
        end = End.TIME
    else:
        end = None
    return State(alternation=alternation, verdicts=verdicts, rounds=rounds, end=end, failed=bad)


def _sides(world: World, alternation: Alternation) -> list[Sides]:
    """The values of each judged metric, by round."""
    plan, descriptor = alternation.plan, world.runs.get(alternation.models[1]).descriptor
    old, new = (_points(world, alternation.side(file)) for file in plan.files)
    if not old or not new:
        return []
    if len({point.fingerprint for point in (*old, *new)}) > 1:
        raise BadInputError(
            "the runs were made on different machines, so the rounds cannot be compared",
            remedy="let one worker drive the runs, or choose an engine with one machine",
        )
    chosen = _chosen(
        plan, descriptor, *(list(dict.fromkeys(each.metric for each in side)) for side in (old, new))
    )
    rounds = {row.id: row.cell["round"] for row in alternation.runs}
    return [
        side
        for metric in chosen
        for side in in_rounds(
            [point for point in old if point.metric == metric],
            [point for point in new if point.metric == metric],
            rounds,
            min_effect=_min_effect(plan.min_effect, descriptor, metric),
        )
    ]


def _chosen(plan: Plan, descriptor: Descriptor, old: Sequence[str], new: Sequence[str]) -> Sequence[str]:
    """The metrics to judge, which both sides have. Raises BadInputError if there is none."""
    common = sorted({*old} & {*new})
    if missing := [name for name in plan.metrics if name not in common]:
        file = plan.files[1] if missing[0] in old else plan.files[0]
        raise NotFoundError(
            f"the runs of {file} have no value of metric {missing[0]!r}",
            remedy=name_suggestions.remedy(missing[0], common, otherwise="see anubis results RUN"),
        )
    chosen = plan.metrics or tuple(judged_metrics(descriptor, new))
    if not {*chosen} & {*old}:
        raise BadInputError(
            f"the two sides have no declared metric in common: {plan.files[1]} has {', '.join(chosen)},"
            f" and {plan.files[0]} has {', '.join(name for name in old if name not in new)}",
            remedy="declare the same metric in both files, or judge one that both have:"
            f" --metric {' or --metric '.join(common)}",
        )
    return chosen


def _measured_rounds(alternation: Alternation) -> int:
    """The number of rounds in which both sides succeeded."""
    done = Counter(row.cell["round"] for row in alternation.runs if row.status is Status.SUCCEEDED)
    return sum(count == 2 for count in done.values())


def _points(world: World, rows: Sequence[RunRow]) -> list[Point]:
    done = [row.id for row in rows if row.status is Status.SUCCEEDED]
    return [point for point in world.points.of(done) if isfinite(point.value)]


def _min_effect(asked: float | None, descriptor: Descriptor, metric: str) -> float:
    if asked is not None:
        return asked
    declared = next((one.threshold for one in descriptor.output.metrics if one.name == metric), None)
    return MIN_EFFECT if declared is None or declared.min_effect is None else declared.min_effect
