"""Alternations whose runs this installation measures."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from anubis.alternation import judgement, plan
from anubis.client import alternating
from anubis.client.embedded import submission
from anubis.client.embedded.driving import drive
from anubis.client.embedded.references import find_run
from anubis.client.protocol import tools as protocol
from anubis.describe.drafting import DescriptorText
from anubis.model.errors import BadInputError, NotFoundError
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
        return begin(
            self._installation, files, asked, overrides=overrides or {}, script=script, warned=warned
        )

    def get(self, ref: str) -> plan.Alternation:
        try:
            run = find_run(self._world.runs, ref)
        except NotFoundError:
            try:
                return plan.stored(self._world, ref)
            except BadInputError:  # no family has this id
                pass
            raise
        if run.family_id is None:
            raise BadInputError(
                f"run {run.id} belongs to no alternation",
                remedy="name a run of an alternation, or begin one with anubis ab A.toml B.toml",
            )
        return plan.stored(self._world, run.family_id)

    def state(self, ref: str) -> judgement.State:
        return judgement.state_of(self._world, self.get(ref))

    def extend(self, ref: str, *, after: int) -> plan.Alternation:
        alternation = self.get(ref)
        plan.extend(self._world, alternation, after=after)
        return plan.stored(self._world, alternation.family_id)

    def proceed(
        self,
        alternation: plan.Alternation,
        *,
        measure: Callable[[Sequence[Run]], Sequence[Run]] | None = None,
        judged: Callable[[judgement.State], None] | None = None,
    ) -> judgement.State:
        def measured(run_ids: Sequence[str]) -> None:
            if measure is None:
                drive(self._installation, run_ids)
            else:
                measure([self._world.runs.get(run_id) for run_id in run_ids])

        return alternating.proceed(self, alternation, measure=measured, judged=judged)


def begin(
    installation: Installation,
    files: Sequence[Path] | Sequence[DescriptorText],
    asked: plan.Plan,
    *,
    overrides: Mapping[str, str],
    script: Path | str | None,
    warned: Callable[[Path, Problem], None] | None,
    key: tuple[str, str] | None = None,
) -> plan.Alternation:
    """See ``Alternations.begin`` of the protocol. A text as ``script`` is the key of a stored archive.

    ``key``: the key and the digest of a request; raises ConflictError if a submission with this key is stored.
    """
    sides = submission.prepared(installation, files, overrides=overrides, script=script, warned=warned)
    begun = plan.begin(installation.world, sides, asked, key=key)
    if warned:
        submission.warn_of(installation, files, [run for run, _ in sides], plan.BLOCK, warned)
    return begun
