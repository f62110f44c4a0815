"""Replay of runs of this installation."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from anubis.agent.observe import facts
from anubis.agent.observe.kernel import MemoryGroup
from anubis.client.protocol.runs import Replayed
from anubis.contracts.records import RecordKey, RoleFiles
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.problem import Problem, Severity
from anubis.model.run import Run
from anubis.record.reading import Record
from anubis.submission.environment import adding
from anubis.submission.person import person
from anubis.submission.replay import (
    code_differences,
    environment_differences,
    machine_differences,
    measured_differences,
    submission_of,
)
from anubis.submission.submit import Submission, runs_of
from anubis.transfer.measurements import ENGINE as IMPORTED
from anubis.wiring import Installation


def replay(
    installation: Installation, run: Run, *, overrides: Mapping[str, str], folder: Path | None
) -> Replayed:
    """See ``Runs.replay`` of the protocol."""
    if run.engine == IMPORTED:
        raise BadInputError(
            f"run {run.id} was measured by another tool", remedy="measure it again with that tool"
        )
    settings, world = installation.settings, installation.world
    submission = submission_of(run, world.runs.text(run.id), overrides=overrides, folder=folder)
    found = list(_differences(installation, run, submission, new_commit="subject.commit" in overrides))
    if any(problem.severity is Severity.ERROR for problem in found):
        raise BadInputError(f"run {run.id} cannot be replayed; nothing was stored", problems=found)
    runs, events = runs_of(
        [submission],
        engines=world.engines,
        notifiers=world.notifiers,
        sources=world.sources,
        prices=world.prices,
        default_engine=settings.engine,
        owner=person(settings),
        clock=world.clock,
        permission=world.projects.permission(run.project),
    )
    events = [replace(event, data={**event.data, "replay_of": run.id}) for event in events]
    again = adding.repeated(world, run, run.attempt)
    found += environment_differences(None if again is None else again[1])
    adding.add(world, runs, events, environment=again[0] if again else None)
    return Replayed(run=runs[0][0], replay_of=run, differences=tuple(found))


def compared(installation: Installation, replayed: Replayed) -> Replayed:
    """See ``Runs.compared`` of the protocol."""
    world = installation.world
    now = world.runs.get(replayed.run.id)
    before, after = (
        Record(RoleFiles(world.records, RecordKey(run.id, run.attempt))) for run in (replayed.replay_of, now)
    )
    measured = tuple(measured_differences(before, after))
    return replace(replayed, run=now, differences=replayed.differences + measured)


def _differences(
    installation: Installation, run: Run, submission: Submission, *, new_commit: bool
) -> Iterator[Problem]:
    """Everything of the stored run that the replay does not have."""
    world = installation.world
    yield from code_differences(submission, new_commit=new_commit)
    if script := submission.descriptor.ml.script:
        try:
            world.objects.open(script.script).close()
        except NotFoundError:
            message = f"the script archive {script.script} is not stored here"
            remedy = "import the run with its script (anubis record import), or submit the descriptor with --script"
            yield Problem(path="ml.script", message=message, remedy=remedy)
    engine = world.engines[submission.descriptor.info.execution_engine]
    if not engine.capabilities.instance_types:  # else the engine chooses the machine
        record = Record(RoleFiles(world.records, RecordKey(run.id, run.attempt)))
        is_sandboxed = engine.name == "process" and installation.settings.sandbox == "on"
        now = facts.gather(MemoryGroup(), submission.folder or str(Path.cwd()), sandboxed=is_sandboxed)
        yield from machine_differences(record.facts, now)
