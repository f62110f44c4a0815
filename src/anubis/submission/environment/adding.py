"""Storing new runs with the environment of their submitter, or with that of a run which they repeat."""

from collections.abc import Sequence
from typing import Any

from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.records import RecordKey, RoleFiles
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
) -> None:
    """Store runs (with the texts of their descriptors) and hand over their environments: all or none.

    ``environment`` replaces that of this process. Raises BadInputError if an environment cannot be provided.
    """
    groups: dict[Any, list[Run]] = {}
    for run, _ in runs:
        descriptor = run.descriptor
        server = descriptor.server.env.vars if descriptor.server else {}
        key = (descriptor.env.inherit, *sorted(descriptor.env.vars.items()), *sorted(server.items()))
        groups.setdefault(key, []).append(run)
    ids = [run.id for run, _ in runs]
    handed = [
        (environment or world.environments.current(group[0].descriptor), [run.id for run in group])
        for group in groups.values()
    ]
    try:
        for each, members in handed:
            world.environments.hand_over(members, each)
        world.runs.add(runs, events)
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
    return restored(found, world.environments.current(run.descriptor), world.environments.digest)
