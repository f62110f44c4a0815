"""Submission of descriptor files to this installation."""

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from anubis.client.embedded.references import find_run
from anubis.client.protocol.runs import SubmitRequest
from anubis.contracts.runs import KeyedSubmission
from anubis.contracts.world import World
from anubis.describe.drafting import DescriptorText
from anubis.model.access.roles import DEFAULT_PROJECT
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem
from anubis.model.run import Event, Run
from anubis.submission import script_archive, side_by_side
from anubis.submission.descriptor_files import submissions_of
from anubis.submission.environment import adding
from anubis.submission.needs import Submitted, all_with_needs, with_needs
from anubis.submission.person import person
from anubis.submission.refusals import not_inherited, only_recorded
from anubis.submission.submit import Submission, as_control, runs_of
from anubis.wiring import Installation


def submit(
    installation: Installation,
    files: Sequence[Path | DescriptorText],
    *,
    overrides: Mapping[str, str],
    script: Path | str | None,
    rounds: int,
    control: bool,
    warned: Callable[[Path, Problem], None] | None,
    overlays: Sequence[Path] = (),
    key: tuple[str, str] | None = None,
    needs: Sequence[str] = (),
) -> list[Run]:
    """See ``Runs.submit`` of the protocol. A text as ``script`` is the key of a stored archive.

    ``key``: the key and the digest of a request; raises ConflictError if a submission with this key is stored.
    """
    world = installation.world
    runs, events = _runs(
        installation, files, overrides, script, rounds, control=control, warned=warned, overlays=overlays
    )
    runs = with_needs(runs, needs, lambda ref: find_run(world.runs, ref))
    keyed = key and KeyedSubmission(
        key=key[0],
        digest=key[1],
        run_ids=tuple(run.id for run, _ in runs),
        created_s=world.clock.now_s(),
    )
    adding.add(world, runs, events, keyed=keyed or None)
    if warned:
        warn_of(installation, files, [run for run, _ in runs], rounds, warned)
    return [run for run, _ in runs]


def submit_all(
    installation: Installation,
    requests: Sequence[SubmitRequest],
    *,
    warned: Callable[[Path, Problem], None] | None,
    key: tuple[str, str] | None = None,
) -> list[list[str]]:
    """See ``Runs.submit_all`` of the protocol; ``key`` as for ``submit``."""
    world = installation.world
    stored: list[list[tuple[Run, str]]] = []
    events: list[Event] = []
    problems: list[Problem] = []
    for at, request in enumerate(requests):
        try:
            runs, new = _runs(
                installation,
                request.files,
                request.overrides,
                request.script,
                request.rounds,
                control=request.control,
                warned=warned,
            )
        except BadInputError as error:
            problems += _placed(error, f"submissions[{at}]")
        else:
            stored.append(runs)
            events += new
    if problems:
        count = len(requests) - len(stored)
        raise BadInputError(
            f"{count} of {len(requests)} submissions are refused; nothing was stored", problems=problems
        )
    submitted = [
        Submitted(runs=runs, needs=request.needs) for runs, request in zip(stored, requests, strict=True)
    ]
    stored = all_with_needs(submitted, lambda ref: find_run(world.runs, ref))
    every = [each for runs in stored for each in runs]
    keyed = key and KeyedSubmission(
        key=key[0],
        digest=key[1],
        run_ids=tuple(run.id for run, _ in every),
        created_s=world.clock.now_s(),
    )
    adding.add(world, every, events, keyed=keyed or None)
    return [[run.id for run, _ in runs] for runs in stored]


def _placed(error: BadInputError, place: str) -> list[Problem]:
    """The problems of an error with the place of its submission."""
    if not error.problems:
        return [Problem(path=place, message=error.message, remedy=error.remedy)]
    return [
        replace(problem, path=f"{place}.{problem.path}" if problem.path else place)
        for problem in error.problems
    ]


def prepared(
    installation: Installation,
    files: Sequence[Path | DescriptorText],
    *,
    overrides: Mapping[str, str],
    script: Path | str | None,
    warned: Callable[[Path, Problem], None] | None,
) -> list[tuple[Run, str]]:
    """One run of each file with the text of its descriptor; only the script is stored."""
    return _runs(installation, files, overrides, script, 1, control=False, warned=warned)[0]


def _runs(
    installation: Installation,
    files: Sequence[Path | DescriptorText],
    overrides: Mapping[str, str],
    script: Path | str | None,
    rounds: int,
    *,
    control: bool,
    warned: Callable[[Path, Problem], None] | None,
    overlays: Sequence[Path] = (),
) -> tuple[list[tuple[Run, str]], list[Event]]:
    key = stored_script(installation, script)
    measured = [file for file in files for _ in range(2)] if control else files
    submissions = submissions_of(measured, overrides=overrides, script=key, warned=warned, overlays=overlays)
    if control:
        submissions = [*map(as_control, submissions)]
    return _new_runs(installation, submissions, rounds)


def _new_runs(
    installation: Installation, submissions: Sequence[Submission], rounds: int
) -> tuple[list[tuple[Run, str]], list[Event]]:
    settings, world = installation.settings, installation.world
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
        permission=world.projects.permission(settings.project or DEFAULT_PROJECT),
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
        yield from not_inherited(run.descriptor, world.environments.current(run.descriptor, run.project))


def _differences(world: World, runs: Sequence[Run], rounds: int) -> Iterator[Problem]:
    inside = {world.engines[run.engine].capabilities.mounting.inside for run in runs}
    yield from side_by_side.differences(runs, rounds=rounds, in_folders=inside == {None})


def stored_script(installation: Installation, script: Path | str | None) -> str | None:
    """The key of the archive of a file or folder, which is stored; a key is returned as it is."""
    if script is None or isinstance(script, str):
        return script
    key, content = script_archive.archive(script)
    installation.world.objects.put(key, io.BytesIO(content))
    return key
