"""Stage fetch: ensures that the inputs of the benchmark are in the object store before it is placed."""

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import NotFoundError, StageError
from anubis.model.run import Run, Step
from anubis.model.status import Status


def fetch(run: Run, world: World) -> Step:
    """Check that the script archive is stored. Raises StageError."""
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
    return Step(status=Status.PLACE)
