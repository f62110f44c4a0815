"""The runs of a bisection: what is stored about each commit, and how further runs are made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Protocol

from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.runs import KeyedSubmission, RunQuery, RunRow
from anubis.contracts.world import World
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.run import Event, Run
from anubis.model.status import Status
from anubis.settings import Settings
from anubis.submission.environment import adding
from anubis.submission.person import person
from anubis.submission.submit import Submission, runs_of

#: Limit of queries for the runs of a bisection.
_QUERY_LIMIT = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A commit to measure."""

    commit: str
    #: Working folder of the benchmark in a tree of the commit, until the runs are final; None: that of the archive.
    folder: Path | None = None
    #: Object key of an archive of that folder.
    script: str | None = None
    #: Position of its points in a series, UTC seconds.
    order_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitValues:
    """The values of one metric on one machine, also those of other runs in the same series."""

    units: str
    better: str
    by_commit: Mapping[str, Sequence[float]] = field(default_factory=dict)


class Measurements(Protocol):
    """The runs of one bisection."""

    @property
    def family_id(self) -> str: ...

    def runs(self) -> Sequence[RunRow]:
        """Its runs, oldest first."""
        ...

    def values(self, metric: str) -> CommitValues | None:
        """The values on the machine that was used last; None: there are none."""
        ...

    def submit(self, trees: Sequence[Tree]) -> Sequence[Run]:
        """Store one run for each, in this order. Raises BadInputError."""
        ...

    def cancel(self, run_ids: Sequence[str], why: str) -> Sequence[Run]:
        """Cancel runs; the runs."""
        ...


class StoredMeasurements(Measurements):
    """``Measurements`` in the database of an installation."""

    def __init__(
        self,
        world: World,
        settings: Settings,
        family_id: str,
        submission: Submission | None = None,
        *,
        like: str | None = None,
    ) -> None:
        """``submission``: the model of all runs; ``like``: the run whose recorded environment they repeat.

        Without a model nothing can be submitted.
        """
        self._world = world
        self._settings = settings
        self._family_id = family_id
        self._submission = submission
        self._like = like

    @property
    def family_id(self) -> str:
        return self._family_id

    def runs(self) -> Sequence[RunRow]:
        query = RunQuery(family_id=self._family_id, limit=_QUERY_LIMIT, newest_first=False)
        return self._world.runs.find(query)

    def values(self, metric: str) -> CommitValues | None:
        ids = [row.id for row in self.runs() if row.status is Status.SUCCEEDED]
        measured = [point for point in self._world.points.of(ids) if point.metric == metric]
        if not measured:
            return None
        newest, found = measured[-1], dict[str, list[float]]()
        for block in self._world.points.histories([newest.series_key], [metric], most=_QUERY_LIMIT):
            if (block.fingerprint, block.units) == (newest.fingerprint, newest.units):
                for commit, value in zip(block.subjects, block.values, strict=True):
                    if isfinite(value):
                        found.setdefault(commit, []).append(value)
        return CommitValues(units=newest.units, better=newest.better, by_commit=found)

    def submit(self, trees: Sequence[Tree], *, key: tuple[str, str] | None = None) -> Sequence[Run]:
        """See the protocol. ``key``: the key and the digest of a request.

        Raises ConflictError if a submission with this key is stored.
        """
        world = self._world
        stored, events = runs_of(
            [*map(self._of_tree, trees)],
            engines=world.engines,
            notifiers=world.notifiers,
            sources=world.sources,
            prices=world.prices,
            default_engine=self._settings.engine,
            owner=person(self._settings),
            clock=world.clock,
            permission=world.projects.permission(self._settings.project or DEFAULT_PROJECT),
        )
        runs = [(replace(run, family_id=self._family_id), text) for run, text in stored]
        keyed = key and KeyedSubmission(
            key=key[0],
            digest=key[1],
            run_ids=tuple(run.id for run, _ in runs),
            created_s=world.clock.now_s(),
        )
        adding.add(world, runs, events, environment=self._environment(), keyed=keyed or None)
        return [run for run, _ in runs]

    def cancel(self, run_ids: Sequence[str], why: str) -> Sequence[Run]:
        now_s, actor = self._world.clock.now_s(), person(self._settings)
        events = [
            Event(run_id=run_id, kind="cancel_requested", time_s=now_s, message=why, actor=actor)
            for run_id in run_ids
        ]
        self._world.runs.request_cancel(run_ids, events)
        return [self._world.runs.get(run_id) for run_id in run_ids]

    def _of_tree(self, tree: Tree) -> Submission:
        assert self._submission is not None
        descriptor = self._submission.descriptor
        tested = replace(descriptor.subject, commit=tree.commit, version=None)
        return replace(
            self._submission,
            descriptor=replace(descriptor, subject=tested),
            folder=None if tree.folder is None else str(tree.folder),
            script=tree.script,
            order_s=tree.order_s,
            cell={**self._submission.cell, "commit": tree.commit[:12]},
        )

    def _environment(self) -> SubmittedEnvironment | None:
        """The environment that was recorded for a run; None: that of this process."""
        if self._like is None:
            return None
        run = self._world.runs.get(self._like)
        again = adding.repeated(self._world, run, run.attempt)
        return again[0] if again else None
