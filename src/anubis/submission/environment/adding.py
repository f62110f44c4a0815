"""Storing new runs with the environment of their submitter, or with that of a run which they repeat."""

from collections.abc import Sequence
from typing import Any

from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.records import RecordKey, RoleFiles
from anubis.contracts.runs import KeyedSubmission
from anubis.contracts.world import World
from anubis.model.run import Event, Run
from anubis.record.environment import recorded
from anubis.submission.environment.summary import restored


def add(
    world: World,
    runs: Sequence[tuple[Run, str]],
    events: Sequence[Event],
    *,
    environment: SubmittedEnvironment | None = None,
    keyed: KeyedSubmission | None = None,
) -> None:
    """Store runs (with the texts of their descriptors) and hand over their environments: all or none.

    ``environment`` replaces that of this process. Raises BadInputError if an environment cannot be provided, and
    ConflictError if a submission with the key of ``keyed`` is stored.
    """
    hand_over(world, [run for run, _ in runs], environment=environment)
    try:
        world.runs.add(runs, events, keyed=keyed)
    except BaseException:
        world.environments.remove([run.id for run, _ in runs])
        raise


def hand_over(world: World, runs: Sequence[Run], *, environment: SubmittedEnvironment | None = None) -> None:
    """Hand over the environments of runs that are stored next: all or none. Raises BadInputError."""
    groups: dict[Any, list[Run]] = {}
    for run in runs:
        descriptor = run.descriptor
        server = descriptor.server.env.vars if descriptor.server else {}
        key = (
            run.project,
            descriptor.env.inherit,
            *sorted(descriptor.env.vars.items()),
            *sorted(server.items()),
        )
        groups.setdefault(key, []).append(run)
    handed = [
        (
            environment or world.environments.current(group[0].descriptor, group[0].project),
            [run.id for run in group],
        )
        for group in groups.values()
    ]
    try:
        for each, members in handed:
            world.environments.hand_over(members, each)
    except BaseException:
        world.environments.remove([run.id for run in runs])
        raise


def add_again(world: World, runs: Sequence[tuple[Run, Run]]) -> None:
    """Store runs, each with the text and the recorded environment of the earlier run that it repeats: all or none."""
    ids = [run.id for run, _ in runs]
    try:
        for run, earlier in runs:
            found = repeated(world, earlier, earlier.attempt)
            environment = found[0] if found else world.environments.current(run.descriptor, run.project)
            world.environments.hand_over([run.id], environment)
        world.runs.add([(run, world.runs.text(earlier.id)) for run, earlier in runs], [])
    except BaseException:
        world.environments.remove(ids)
        raise


def repeated(world: World, run: Run, attempt: int) -> tuple[SubmittedEnvironment, list[str]] | None:
    """The environment recorded for an attempt of a run, and the names of variables that cannot be repeated.

    None if this installation has not recorded it. Raises BadInputError if a secret is missing.
    """
    found = recorded(RoleFiles(world.records, RecordKey(run.id, attempt)))
    if found is None:
        return None
    return restored(found, world.environments.current(run.descriptor, run.project), world.environments.digest)
