"""Stage fetch: ensures that scripts and datasets of the benchmark are here before it is placed."""

from collections.abc import Iterator

from anubis.contracts.datasets import Dataset, FetchProgress
from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import NotFoundError, StageError
from anubis.model.run import FETCHED_EVENT, Event, Run, Step
from anubis.model.server import DataSource
from anubis.model.status import Status
from anubis.pipeline.run_data import fetched_data, fetched_here, is_writable
from anubis.pipeline.stages.watch import Pause

#: Pause between two looks at datasets that are being fetched, and before the next one after the progress was stored;
#: seconds.
LOOK_S, STORED_S = 0.25, 1.0


def fetch(run: Run, world: World) -> Step | Pause:
    """Check that the script archive is stored, and fetch the datasets; the step says how far they are.

    The datasets are fetched by threads of the cache: the stage never waits for them. Raises StageError.
    """
    script = run.descriptor.ml.script
    if script is not None:
        try:
            world.objects.open(script.script).close()
        except NotFoundError as error:
            raise StageError(
                f"the script archive {script.script} is not in the object store",
                cause=Cause.DATA,
                remedy="submit the run again with --script",
            ) from error
    sources = fetched_here(run, world)
    writable = is_writable(run, world) if sources else False
    found = [(source, world.datasets.fetch(source, writable=writable)) for source in sources]
    if any(isinstance(answer, FetchProgress) for _, answer in found):
        reason = _progress(found)
        if reason == run.reason:
            return Pause(again_after_s=LOOK_S)
        return Step(status=Status.FETCH, again_after_s=STORED_S if run.reason else LOOK_S, reason=reason)
    return Step(status=Status.PLACE, events=tuple(_events(run, found, world)))


def _events(
    run: Run, found: list[tuple[DataSource, Dataset | FetchProgress]], world: World
) -> Iterator[Event]:
    """One event for all datasets, from which stage place learns what was fetched."""
    data = [fetched_data(source, dataset) for source, dataset in found if isinstance(dataset, Dataset)]
    if data:
        message = ", ".join(f"{row['src']} as {row['digest'][:19]}" for row in data)
        yield Event(
            run_id=run.id,
            kind=FETCHED_EVENT,
            time_s=world.clock.now_s(),
            message=message,
            data={"sources": data},
        )


def _progress(found: list[tuple[DataSource, Dataset | FetchProgress]]) -> str:
    """How far the datasets are: ``fetched 1 of 3 datasets, 40 % of 1,234 MiB``."""
    done = sum(isinstance(answer, Dataset) for _, answer in found)
    waiting = [answer for _, answer in found if isinstance(answer, FetchProgress)]
    parts = [f"fetched {done} of {len(found)} datasets"] if len(found) > 1 else ["fetching data"]
    sizes = [answer.size_bytes for answer in waiting if answer.size_bytes]
    if sizes:
        share = sum(answer.done_bytes for answer in waiting if answer.size_bytes) / sum(sizes)
        parts.append(f"{share:.0%} of {sum(sizes) / (1 << 20):,.0f} MiB".replace("%", " %"))
    return ", ".join(parts)
