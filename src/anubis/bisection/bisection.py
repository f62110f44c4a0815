"""Bisection of a repository: commits are measured in separate working trees until one suspect is left.

Results are stored like every other run and looked up before a commit is measured, so an interrupted bisection
continues where it stopped.
"""

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from anubis.analysis.samples.compare import compare
from anubis.bisection.bisect_request import BisectRequest
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
from anubis.bisection.measurements import Measurements, Tree
from anubis.model.errors import BadInputError, UndecidedError
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.model.verdict import Judgement, Verdict
from anubis.reporting import name_suggestions
from anubis.submission import subject

#: Drives runs until they are final; returns the final runs.
Measure = Callable[[Sequence[Run]], Sequence[Run]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitResult:
    """The result of one commit."""

    commit: str
    side: Side
    #: Verdict against the good commit; None if the commit has no value.
    verdict: Verdict | None
    #: Why the commit was skipped; empty otherwise.
    why: str
    #: Number of commits that may still be the first bad one, and number of remaining steps.
    suspects: int
    steps_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectResult:
    """The result of a bisection."""

    #: Commits that may be the first bad one, oldest first; several if the others could not be measured.
    suspects: tuple[str, ...]
    last_good: str
    #: Verdict of the first bad commit against the last good one; None if there are several suspects.
    verdict: Verdict | None
    commits: tuple[CommitResult, ...]
    #: The family of its runs.
    family_id: str


def bisect(
    request: BisectRequest,
    measurements: Measurements,
    *,
    trees: Path,
    measure: Measure,
    on_commit: Callable[[CommitResult], None] | None = None,
) -> BisectResult:
    """Find the first bad commit. ``on_commit`` is called with the result of every commit.

    Commits are checked out into a folder below ``trees``.

    Raises BadInputError if good or bad cannot be measured, UndecidedError if they do not differ, and
    KeyboardInterrupt if a run was cancelled.
    """
    bisection = _Bisection(request, measurements, trees, measure, on_commit)
    try:
        bisection.cancel_unfinished()
        return bisection.run()
    finally:
        shutil.rmtree(bisection.trees, ignore_errors=True)


class _Bisection:
    """The state of one bisection."""

    def __init__(
        self,
        request: BisectRequest,
        measurements: Measurements,
        trees: Path,
        measure: Measure,
        on_commit: Callable[[CommitResult], None] | None,
    ) -> None:
        self._request = request
        self._measurements = measurements
        #: Folder of the working trees.
        self.trees = trees / request.family[:13]
        self._measure = measure
        self._on_commit = on_commit
        #: Commit -> its values on this machine, one per run.
        self._values: dict[str, list[float]] = {}
        self._units, self._better = "none", "none"

    def cancel_unfinished(self) -> None:
        """Cancel unfinished runs of an interrupted bisection: their working trees no longer exist."""
        left = [row.id for row in self._measurements.runs() if not row.status.final]
        if left:
            self._measure(self._measurements.cancel(left, "an earlier bisection was interrupted"))

    def run(self) -> BisectResult:
        request = self._request
        graph = request.repository.between(request.good, request.bad, all_parents=request.all_parents)
        self._begin()
        state, results = search(graph, request.bad), list[CommitResult]()
        while (commit := state.next()) is not None:
            side, why = self._side(commit)
            state = state.marked(commit, side)
            results.append(self._result(commit, side, why, state))
            if self._on_commit:
                self._on_commit(results[-1])
        first = state.suspects[0]
        last_good = next(iter(graph[first]), request.good)
        verdict = self._final(last_good, first) if len(state.suspects) == 1 else None
        return BisectResult(
            suspects=tuple(state.suspects),
            last_good=last_good,
            verdict=verdict,
            commits=tuple(results),
            family_id=self._measurements.family_id,
        )

    def _begin(self) -> None:
        """Measure good and bad, interleaved, until they differ."""
        request, needed = self._request, FIRST_RUNS
        self._refresh()
        if not self._values[request.bad]:
            # One run determines the machine; earlier values of that machine count from then on.
            self._fill({request.bad: 1})
        while True:
            for commit, why in self._fill({request.good: needed, request.bad: needed}).items():
                raise BadInputError(
                    f"commit {commit[:12]} cannot be measured: {why}",
                    remedy=self._other_metric() or "choose a neighbouring commit",
                )
            verdict = self._compared(request.good, request.bad)
            if verdict.judgement not in {Judgement.UNDECIDED, Judgement.UNCHANGED}:
                return
            if verdict.judgement is Judgement.UNCHANGED or needed >= request.max_runs:
                raise UndecidedError(
                    f"no difference in {request.metric} between {request.good[:12]} and {request.bad[:12]} is detected"
                    f" with {needed} runs of each",
                    remedy="allow more --runs or a smaller --min-effect, or choose other commits",
                )
            needed = next_runs(needed, verdict.more_runs, request.max_runs)

    def _other_metric(self) -> str:
        """The remedy if the runs have values, but not of the metric; else empty."""
        metric = self._request.metric
        measured = {name for row in self._measurements.runs() for name in row.values}
        if not measured or metric in measured:
            return ""
        return name_suggestions.remedy(metric, sorted(measured), otherwise="see anubis results @last")

    def _side(self, commit: str) -> tuple[Side, str]:
        """Measure a commit until its side is known. Returns the side and, if it was skipped, the reason."""
        request = self._request
        good, bad = self._values[request.good], self._values[request.bad]
        needed = first_runs(len(good) + len(bad))
        while True:
            if why := self._fill({commit: needed}).get(commit):
                return Side.SKIPPED, why
            side, more = side_of(self._values[commit], good, bad)
            have = len(self._values[commit])
            if side is not None:
                return side, ""
            if have >= request.max_runs:
                return Side.SKIPPED, f"still undecided after {have} runs"
            needed = next_runs(have, more, request.max_runs)

    def _final(self, last_good: str, first_bad: str) -> Verdict:
        """The verdict between two neighbouring commits, with further runs up to the limit if needed."""
        needed = 1
        while True:
            unmeasured = self._fill({last_good: needed, first_bad: needed})
            verdict = self._compared(last_good, first_bad)
            if unmeasured or verdict.judgement is not Judgement.UNDECIDED or needed >= self._request.max_runs:
                return verdict
            needed = next_runs(needed, verdict.more_runs, self._request.max_runs)

    def _result(self, commit: str, side: Side, why: str, state: Search) -> CommitResult:
        has_values = bool(self._values.get(commit))
        return CommitResult(
            commit=commit,
            side=side,
            verdict=self._compared(self._request.good, commit) if has_values else None,
            why=why,
            suspects=len(state.suspects),
            steps_left=state.steps_left,
        )

    def _compared(self, old: str, new: str) -> Verdict:
        request = self._request
        return compare(
            request.metric,
            self._values.get(old, []),
            self._values.get(new, []),
            units=self._units,
            better=self._better,
            min_effect=request.min_effect,
            history=at_level(self._values[request.good], self._values[request.bad]),
        )

    def _fill(self, needed: Mapping[str, int]) -> dict[str, str]:
        """Run commits that have too few values, interleaved. Returns commit -> why it could not be measured."""
        missing = {commit: count - len(self._values.get(commit, [])) for commit, count in needed.items()}
        due = {commit: count for commit, count in missing.items() if count > 0}
        failed = {row.subject: row.reason for row in self._measurements.runs() if row.status is Status.FAILED}
        if lost := {commit: failed[commit] for commit in due if commit in failed}:
            return lost
        if not due:
            return {}
        with ExitStack() as stack:
            trees = {commit: self._tree(commit, stack) for commit in due}
            turns = [
                trees[commit]
                for turn in range(max(due.values()))
                for commit in (due if turn % 2 == 0 else reversed(due))
                if turn < due[commit]
            ]
            ended = self._run(turns)
        self._refresh()
        lost = {
            run.descriptor.subject.commit or "": run.reason for run in ended if run.status is Status.FAILED
        }
        for commit, count in needed.items():
            if len(self._values.get(commit, [])) < count and commit not in lost:
                lost[commit] = f"its runs have no value of {self._request.metric} on this machine"
        return lost

    def _run(self, turns: Sequence[Tree]) -> Sequence[Run]:
        ended = self._measure(self._measurements.submit(turns))
        if any(run.status is Status.CANCELLED for run in ended):
            raise KeyboardInterrupt
        return ended

    def _tree(self, commit: str, stack: ExitStack) -> Tree:
        request = self._request
        tree = stack.enter_context(request.repository.checked_out(commit, self.trees / commit[:12]))
        folder = tree / request.below
        tested = replace(request.submission.descriptor.subject, commit=commit, version=None)
        return Tree(
            commit=commit,
            folder=folder if folder.is_dir() else tree,
            order_s=subject.order_s(tested, request.repository.top),
        )

    def _refresh(self) -> None:
        """Read the values of all commits, only those of the machine that the bisection used last."""
        request = self._request
        self._values = {request.good: [], request.bad: []}
        known = self._measurements.values(request.metric)
        if known is not None:
            self._units, self._better = known.units, known.better
            for commit, values in known.by_commit.items():
                self._values.setdefault(commit, []).extend(values)
