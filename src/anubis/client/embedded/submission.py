"""Submission of descriptor files to this installation."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from anubis.contracts.world import World
from anubis.describe.drafting import DescriptorText
from anubis.model.problem import Problem
from anubis.model.run import Event, Run
from anubis.submission import script_archive, side_by_side
from anubis.submission.descriptor_files import submissions_of
from anubis.submission.environment import adding
from anubis.submission.person import person
from anubis.submission.refusals import not_inherited, only_recorded
from anubis.submission.submit import as_control, runs_of
from anubis.wiring import Installation


def submit(
    installation: Installation,
    files: Sequence[Path | DescriptorText],
    *,
    overrides: Mapping[str, str],
    script: Path | None,
    rounds: int,
    control: bool,
    warned: Callable[[Path, Problem], None] | None,
    overlays: Sequence[Path] = (),
) -> list[Run]:
    """See ``Runs.submit`` of the protocol."""
    world = installation.world
    runs, events = _runs(
        installation, files, overrides, script, rounds, control=control, warned=warned, overlays=overlays
    )
    adding.add(world, runs, events)
    if warned:
        warn_of(installation, files, [run for run, _ in runs], rounds, warned)
    return [run for run, _ in runs]


def prepared(
    installation: Installation,
    files: Sequence[Path | DescriptorText],
    *,
    overrides: Mapping[str, str],
    script: Path | None,
    warned: Callable[[Path, Problem], None] | None,
) -> list[tuple[Run, str]]:
    """One run of each file with the text of its descriptor; only the script is stored."""
    return _runs(installation, files, overrides, script, 1, control=False, warned=warned)[0]


def _runs(
    installation: Installation,
    files: Sequence[Path | DescriptorText],
    overrides: Mapping[str, str],
    script: Path | None,
    rounds: int,
    *,
    control: bool,
    warned: Callable[[Path, Problem], None] | None,
    overlays: Sequence[Path] = (),
) -> tuple[list[tuple[Run, str]], list[Event]]:
    settings, world = installation.settings, installation.world
    key = _store_script(installation, script) if script else None
    measured = [file for file in files for _ in range(2)] if control else files
    submissions = submissions_of(measured, overrides=overrides, script=key, warned=warned, overlays=overlays)
    if control:
        submissions = [*map(as_control, submissions)]
    return runs_of(
        submissions,
        engines=world.engines,
        notifiers=world.notifiers,
        sources=world.sources,
        prices=world.prices,
        default_engine=settings.engine,
        owner=person(settings),
        clock=world.clock,
        rounds=rounds,
    )


def warn_of(
    installation: Installation,
    files: Sequence[Path | DescriptorText],
    runs: Sequence[Run],
    rounds: int,
    warned: Callable[[Path, Problem], None],
) -> None:
    """Warn about what an engine does not do, and about differences between the sides of a comparison."""
    world = installation.world
    found = [problem for run in runs for problem in _remarks(world, run)]
    for problem in dict.fromkeys([*found, *_differences(world, runs, rounds)]):
        warned(Path(str(files[0])), problem)


def _remarks(world: World, run: Run) -> Iterator[Problem]:
    yield from only_recorded(run.descriptor, world.engines[run.engine])
    if run.descriptor.env.inherit:
        yield from not_inherited(run.descriptor, world.environments.current(run.descriptor))


def _differences(world: World, runs: Sequence[Run], rounds: int) -> Iterator[Problem]:
    inside = {world.engines[run.engine].capabilities.mounting.inside for run in runs}
    yield from side_by_side.differences(runs, rounds=rounds, in_folders=inside == {None})


def _store_script(installation: Installation, path: Path) -> str:
    key, content = script_archive.archive(path)
    installation.world.objects.put(key, io.BytesIO(content))
    return key
