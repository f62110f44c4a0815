"""Alternations whose runs this installation measures."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from anubis.alternation import judgement, plan
from anubis.client.embedded import submission
from anubis.client.embedded.driving import drive
from anubis.client.embedded.references import find_run
from anubis.client.protocol import tools as protocol
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem
from anubis.model.run import Run
from anubis.wiring import Installation


class Alternations(protocol.Alternations):
    """``Alternations`` (see the protocol) with runs of this installation."""

    def __init__(self, installation: Installation) -> None:
        self._installation = installation
        self._world = installation.world

    def begin(
        self,
        files: Sequence[Path],
        asked: plan.Plan,
        *,
        overrides: Mapping[str, str] | None = None,
        script: Path | None = None,
        warned: Callable[[Path, Problem], None] | None = None,
    ) -> plan.Alternation:
        sides = submission.prepared(
            self._installation, files, overrides=overrides or {}, script=script, warned=warned
        )
        begun = plan.begin(self._world, sides, asked)
        if warned:
            submission.warn_of(self._installation, files, [run for run, _ in sides], plan.BLOCK, warned)
        return begun

    def get(self, ref: str) -> plan.Alternation:
        run = find_run(self._world.runs, ref)
        if run.family_id is None:
            raise BadInputError(
                f"run {run.id} belongs to no alternation",
                remedy="name a run of an alternation, or begin one with anubis ab A.toml B.toml",
            )
        return plan.stored(self._world, run.family_id)

    def proceed(
        self,
        alternation: plan.Alternation,
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,
        judged: Callable[[judgement.State], None] | None = None,
    ) -> judgement.State:
        wait = measure or (lambda runs: drive(self._installation, [run.id for run in runs]))
        while True:
            unfinished = [row.id for row in alternation.runs if not row.status.final]
            if unfinished:
                wait([self._world.runs.get(run_id) for run_id in unfinished])
                alternation = plan.stored(self._world, alternation.family_id)
            state = judgement.state_of(self._world, alternation)
            if judged:
                judged(state)
            if state.end is not None:
                return state
            plan.extend(self._world, alternation)
            alternation = plan.stored(self._world, alternation.family_id)
