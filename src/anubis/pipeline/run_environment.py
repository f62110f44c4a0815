"""The environment that a run is placed with: its submitter's, one from a record, or that of this process."""

from collections.abc import Iterator

from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.runs import RunQuery
from anubis.contracts.world import World
from anubis.model.descriptor import OnContamination
from anubis.model.run import Run
from anubis.submission.environment.adding import repeated

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
    for original, attempt in _originals(run, world):
        if again := repeated(world, original, attempt):
            source = f"attempt {attempt}" if original.id == run.id else f"run {original.id}"
            return again[0], f"with the environment recorded for {source}{_changes(again[1])}"
    current = world.environments.current(run.descriptor, run.project)
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


def _originals(run: Run, world: World) -> Iterator[tuple[Run, int]]:
    """Attempts whose environment the run repeats: its earlier ones; for a run that another one caused, those of runs
    with the same descriptor, that one first.
    """
    for attempt in range(run.attempt - 1, 0, -1):
        yield run, attempt
    if run.parent_id is None:
        return
    rows = world.runs.find(RunQuery(name=run.descriptor.info.name, limit=_SEARCHED, until_s=run.created_s))
    ids = dict.fromkeys((run.parent_id, *(row.id for row in rows if row.id != run.id)))
    for run_id in ids:
        original = world.runs.get(run_id)
        if original.digest == run.digest:
            yield original, original.attempt


def _changes(names: list[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return f"; other variables have changed since: {', '.join(names[:_MOST_NAMES])}{more}"
