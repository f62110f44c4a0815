"""Bisection of a repository: commits are measured in working trees of their own until one is left.

What was measured is stored like every other run, and looked up before anything is measured: an interrupted bisection
goes on where it stopped.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from math import isfinite

from anubis.analysis.samples.compare import compare
from anubis.bisection.bisect_request import Question
from anubis.bisection.commit_search import (
    FIRST_RUNS,
    Search,
    Side,
    at_level,
    first_runs,
    next_runs,
    search,
    side_of,
)
from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.world import World
from anubis.model.errors import BadInputError, UndecidedError
from anubis.model.run import Event, Run
from anubis.model.status import Status
from anubis.model.verdict import Judgement, Verdict
from anubis.settings import Settings
from anubis.submission import subject
from anubis.submission.submit import Submission, runs_of

#: Drives runs until they are final; the runs as they ended.
Measure = Callable[[Sequence[Run]], Sequence[Run]]
#: More runs of a bisection than anybody has.
_MOST_FOUND = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What is known of one commit."""

    commit: str
    side: Side
    #: Against the good commit; None where there is no value.
    verdict: Verdict | None
    #: Why it was skipped; empty otherwise.
    why: str
    #: What may still be the first bad commit, and the decisions that remain.
    suspects: int
    steps_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """How a bisection ended."""

    #: What may be the first bad commit, oldest first; several where the others could not be measured.
    suspects: tuple[str, ...]
    last_good: str
    #: The last good commit against the first bad one; None when there are several suspects.
    verdict: Verdict | None
    answers: tuple[Answer, ...]


def bisect(
    question: Question,
    world: World,
    settings: Settings,
    *,
    measure: Measure,
    told: Callable[[Answer], None] | None = None,
) -> Found:
    """Find the first bad commit; ``told`` hears of every commit.

    Raises BadInputError when good or bad cannot be measured, UndecidedError when they do not differ, and
    KeyboardInterrupt when a run was cancelled.
    """
    bisection = _Bisection(question, world, settings, measure, told)
    try:
        bisection.give_up_unfinished()
        return bisection.walk()
    finally:
        shutil.rmtree(bisection.trees, ignore_errors=True)


class _Bisection:
    """Asks, measures and decides."""

    def __init__(
        self,
        question: Question,
        world: World,
        settings: Settings,
        measure: Measure,
        told: Callable[[Answer], None] | None,
    ) -> None:
        self._question = question
        self._world = world
        self._owner = settings.client_id
        self._engine = settings.engine
        #: Folder of the working trees.
        self.trees = settings.home / "worktrees" / question.family[:13]
        self._measure = measure
        self._told = told
        #: Commit -> its values on this machine, one for each run.
        self._values: dict[str, list[float]] = {}
        self._units, self._better = "none", "none"

    def give_up_unfinished(self) -> None:
        """Cancel what an interrupted bisection left behind: its working trees are gone."""
        runs, now_s = self._world.runs, self._world.clock.now_s()
        left = [runs.get(row.id) for row in self._runs() if not row.status.final]
        why = "an earlier bisection was interrupted"
        runs.request_cancel(
            [run.id for run in left],
            [
                Event(run_id=run.id, kind="cancel_requested", time_s=now_s, message=why, actor=self._owner)
                for run in left
            ],
        )
        if left:
            self._measure(left)

    def walk(self) -> Found:
        ask = self._question
        graph = ask.repository.between(ask.good, ask.bad, all_parents=ask.all_parents)
        self._begin()
        hunt, answers = search(graph, ask.bad), list[Answer]()
        while (commit := hunt.next()) is not None:
            side, why = self._side(commit)
            hunt = hunt.marked(commit, side)
            answers.append(self._answer(commit, side, why, hunt))
            if self._told:
                self._told(answers[-1])
        first = hunt.suspects[0]
        last_good = next(iter(graph[first]), ask.good)
        verdict = self._final(last_good, first) if len(hunt.suspects) == 1 else None
        return Found(
            suspects=tuple(hunt.suspects), last_good=last_good, verdict=verdict, answers=tuple(answers)
        )

    def _begin(self) -> None:
        """Measure good and bad, side by side, until they differ."""
        ask, wanted = self._question, FIRST_RUNS
        self._refresh()
        if not self._values[ask.bad]:
            # One run says which machine this is; what it measured before counts from then on.
            self._fill({ask.bad: 1})
        while True:
            for commit, why in self._fill({ask.good: wanted, ask.bad: wanted}).items():
                raise BadInputError(
                    f"commit {commit[:12]} cannot be measured: {why}",
                    remedy="choose another commit beside it",
                )
            verdict = self._compared(ask.good, ask.bad)
            if verdict.judgement not in {Judgement.UNDECIDED, Judgement.UNCHANGED}:
                return
            if verdict.judgement is Judgement.UNCHANGED or wanted >= ask.most_runs:
                raise UndecidedError(
                    f"{ask.good[:12]} and {ask.bad[:12]} do not differ in {ask.metric} as far as"
                    f" {wanted} runs of each can tell",
                    remedy="allow more --runs, a smaller --min-effect, or choose commits that differ",
                )
            wanted = next_runs(wanted, verdict.more_runs, ask.most_runs)

    def _side(self, commit: str) -> tuple[Side, str]:
        """Measure a commit until its side is known; why it was skipped."""
        ask = self._question
        good, bad = self._values[ask.good], self._values[ask.bad]
        wanted = first_runs(len(good) + len(bad))
        while True:
            if why := self._fill({commit: wanted}).get(commit):
                return Side.SKIPPED, why
            side, more = side_of(self._values[commit], good, bad)
            have = len(self._values[commit])
            if side is not None:
                return side, ""
            if have >= ask.most_runs:
                return Side.SKIPPED, f"{have} runs cannot tell"
            wanted = next_runs(have, more, ask.most_runs)

    def _final(self, last_good: str, first_bad: str) -> Verdict:
        """The verdict between two neighbours, with as many more runs as it needs and may have."""
        wanted = 1
        while True:
            lost = self._fill({last_good: wanted, first_bad: wanted})
            verdict = self._compared(last_good, first_bad)
            if lost or verdict.judgement is not Judgement.UNDECIDED or wanted >= self._question.most_runs:
                return verdict
            wanted = next_runs(wanted, verdict.more_runs, self._question.most_runs)

    def _answer(self, commit: str, side: Side, why: str, hunt: Search) -> Answer:
        has_values = bool(self._values.get(commit))
        return Answer(
            commit=commit,
            side=side,
            verdict=self._compared(self._question.good, commit) if has_values else None,
            why=why,
            suspects=len(hunt.suspects),
            steps_left=hunt.steps_left,
        )

    def _compared(self, old: str, new: str) -> Verdict:
        ask = self._question
        return compare(
            ask.metric,
            self._values.get(old, []),
            self._values.get(new, []),
            units=self._units,
            better=self._better,
            min_effect=ask.min_effect,
            history=at_level(self._values[ask.good], self._values[ask.bad]),
        )

    def _fill(self, wanted: Mapping[str, int]) -> dict[str, str]:
        """Run commits that have fewer values than they should, in turns; why some could not be measured."""
        missing = {commit: count - len(self._values.get(commit, [])) for commit, count in wanted.items()}
        due = {commit: count for commit, count in missing.items() if count > 0}
        failed = {row.subject: row.reason for row in self._runs() if row.status is Status.FAILED}
        if lost := {commit: failed[commit] for commit in due if commit in failed}:
            return lost
        if not due:
            return {}
        with ExitStack() as stack:
            submissions = {commit: self._submission(commit, stack) for commit in due}
            turns = [
                submissions[commit]
                for turn in range(max(due.values()))
                for commit in (due if turn % 2 == 0 else reversed(due))
                if turn < due[commit]
            ]
            ended = self._run(turns)
        self._refresh()
        lost = {
            run.descriptor.subject.commit or "": run.reason for run in ended if run.status is Status.FAILED
        }
        for commit, count in wanted.items():
            if len(self._values.get(commit, [])) < count and commit not in lost:
                lost[commit] = f"its runs have no value of {self._question.metric} on this machine"
        return lost

    def _run(self, submissions: Sequence[Submission]) -> Sequence[Run]:
        stored, events = runs_of(
            submissions,
            engines=self._world.engines,
            default_engine=self._engine,
            owner=self._owner,
            clock=self._world.clock,
        )
        runs = [(replace(run, family_id=self._question.family), text) for run, text in stored]
        self._world.runs.add(runs, events)
        ended = self._measure([run for run, _ in runs])
        if any(run.status is Status.CANCELLED for run in ended):
            raise KeyboardInterrupt
        return ended

    def _submission(self, commit: str, stack: ExitStack) -> Submission:
        ask = self._question
        tree = stack.enter_context(ask.repository.checked_out(commit, self.trees / commit[:12]))
        folder = tree / ask.below
        if not folder.is_dir():
            folder = tree
        descriptor = ask.submission.descriptor
        tested = replace(descriptor.subject, commit=commit, version=None)
        return replace(
            ask.submission,
            descriptor=replace(descriptor, subject=tested),
            folder=str(folder),
            order_s=subject.order_s(tested, ask.repository.top),
            cell={**ask.submission.cell, "commit": commit[:12]},
        )

    def _refresh(self) -> None:
        """Read the values of all commits; only those of the machine that the bisection measured on last count."""
        ask = self._question
        ids = [row.id for row in self._runs() if row.status is Status.SUCCEEDED]
        own = [point for point in self._world.points.of(ids) if point.metric == ask.metric]
        self._values = {ask.good: [], ask.bad: []}
        if not own:
            return
        newest = own[-1]
        self._units, self._better = newest.units, newest.better
        for block in self._world.points.histories([newest.series_key], [ask.metric], most=_MOST_FOUND):
            if (block.fingerprint, block.units) == (newest.fingerprint, newest.units):
                for commit, value in zip(block.subjects, block.values, strict=True):
                    if isfinite(value):
                        self._values.setdefault(commit, []).append(value)

    def _runs(self) -> Sequence[RunRow]:
        query = RunQuery(family_id=self._question.family, limit=_MOST_FOUND, newest_first=False)
        return self._world.runs.find(query)
