"""The environment that a run is placed with: its submitter's, one from a record, or that of this process."""

from collections.abc import Iterator

from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.records import RecordKey, RoleFiles
from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.model.descriptor import OnContamination
from anubis.model.run import Run
from anubis.record.environment import RecordedEnvironment, recorded
from anubis.submission.environment.summary import restored

#: Number of runs of the same benchmark and subject among which the run that a confirming run repeats is searched.
_SEARCHED = 50
#: Number of variables that a note names.
_MOST_NAMES = 10


def environment_of(run: Run, world: World) -> tuple[SubmittedEnvironment, str]:
    """The environment, and a sentence about it for the timeline; empty for the submitter's.

    Raises BadInputError or StageError if there is none.
    """
    if handed := world.environments.handed_over(run.id):
        return handed, ""
    current = world.environments.current(run.descriptor)
    for source, environment in _records(run, world):
        if again := restored(environment, current, world.environments.digest):
            return again[0], f"with the environment recorded for {source}{_changes(again[1])}"
    return (
        current,
        "with the environment of the process that placed the run: that of its submitter is not available",
    )


def is_needed_no_more(run: Run) -> bool:
    """Whether the environment of the submitter can be deleted: the run is placed or final, and no attempt follows."""
    if run.status.final:
        return True
    repeats = run.descriptor.measure.on_contamination is OnContamination.VOID
    return run.placement is not None and not repeats


def _records(run: Run, world: World) -> Iterator[tuple[str, RecordedEnvironment]]:
    """Recorded environments that the run may repeat: of its earlier attempts, of the run that it confirms."""
    for attempt in range(run.attempt - 1, 0, -1):
        if found := recorded(RoleFiles(world.records, RecordKey(run.id, attempt))):
            yield f"attempt {attempt}", found
    for original in _originals(run, world):
        if found := recorded(RoleFiles(world.records, RecordKey(original.id, original.attempt))):
            yield f"run {original.id}", found


def _originals(run: Run, world: World) -> Iterator[Run]:
    """For a run that another one caused: the runs with the same descriptor, that one first."""
    if run.parent_id is None:
        return
    rows = world.runs.find(RunQuery(name=run.descriptor.info.name, limit=_SEARCHED, until_s=run.created_s))
    ids = dict.fromkeys((run.parent_id, *(row.id for row in rows if row.id != run.id)))
    for run_id in ids:
        original = world.runs.get(run_id)
        if original.digest == run.digest:
            yield original


def _changes(names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"; other variables have changed since: {', '.join(names[:_MOST_NAMES])}{more}"
