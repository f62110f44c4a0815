"""From a descriptor file to a new sweep. Nothing is stored."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from anubis.contracts.sweeps import Sweep
from anubis.contracts.world import World
from anubis.describe.drafting import DescriptorText
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.descriptor import Descriptor, SweepRules
from anubis.model.errors import BadInputError
from anubis.model.ids import new_run_id
from anubis.model.problem import Problem
from anubis.submission import descriptor_files, subject
from anubis.submission.refusals import without_price
from anubis.submission.submit import Submission, check, with_engine
from anubis.suites.sweep_cells import SweepCells


def plan(
    file: Path | DescriptorText,
    world: World,
    *,
    overrides: Mapping[str, str],
    owner: str,
    default_engine: str,
    script: str | None = None,
    max_parallel: int | None = None,
    warned: Callable[[Path, Problem], None] | None = None,
    overlays: Sequence[Path] = (),
    project: str = DEFAULT_PROJECT,
) -> Sweep:
    """The sweep that a file describes, every cell checked.

    ``max_parallel`` replaces that of the file. Raises BadInputError with all problems.
    """
    text, read, title, folder = descriptor_files.descriptor_of(
        file, overrides=overrides, warned=warned, overlays=overlays
    )
    if read.matrix is None:
        raise BadInputError(
            f"{title} describes one run, not a sweep",
            remedy="add [matrix], or measure it with anubis run",
        )
    known = file.commits if isinstance(file, DescriptorText) else {}
    descriptor = _resolved(read, folder, default_engine, script, known)
    if max_parallel is not None:
        descriptor = replace(
            descriptor, sweep=replace(descriptor.sweep or SweepRules(), max_parallel=max_parallel)
        )
    sweep = Sweep(
        id=new_run_id(),
        owner=owner,
        created_s=world.clock.now_s(),
        descriptor=descriptor,
        text=text,
        overrides=dict(overrides),
        folder=descriptor_files.stored(folder),
        cells=(),
        project=project,
    )
    return replace(sweep, cells=_checked(sweep, world))


def _resolved(
    descriptor: Descriptor,
    folder: Path,
    default_engine: str,
    script: str | None,
    known: Mapping[str, tuple[str, float | None]],
) -> Descriptor:
    """With the engine, the commit and the script of this submission."""
    chosen: Any = with_engine(Submission(descriptor=descriptor, text="", script=script), default_engine)
    final: Descriptor = chosen.descriptor
    return replace(final, subject=subject.looked_up(final.subject, folder, known)[0])


def _checked(sweep: Sweep, world: World) -> tuple[str, ...]:
    """The digests of the cells. Raises BadInputError if an engine cannot run one, or if two are the same."""
    cells = SweepCells(sweep)
    check(
        (cells.descriptor(position) for position in range(len(cells.values))),
        world.engines,
        world.notifiers,
        world.sources,
        prices=world.prices,
        permission=world.projects.permission(sweep.project),
    )
    rules = sweep.descriptor.sweep
    if rules and rules.max_cost:
        refused = {
            problem
            for position in range(len(cells.values))
            for problem in without_price(
                "sweep.max_cost", rules.max_cost, cells.descriptor(position), world.prices
            )
        }
        if refused:
            raise BadInputError(
                "the sweep is refused; nothing was stored",
                problems=sorted(refused, key=lambda each: each.message),
            )
    digests = cells.digests()
    first: dict[str, int] = {}
    for position, digest in enumerate(digests):
        if first.setdefault(digest, position) != position:
            raise BadInputError(
                f"cells {first[digest] + 1} and {position + 1} of the matrix are the same run",
                remedy="remove one of them; measure.repeats repeats",
            )
    return digests
