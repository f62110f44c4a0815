"""Stage place: builds the launch of a run and starts it on its engine."""

from dataclasses import replace

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import NoCapacityError, NotFoundError, NotReadyError, RevokedError, StageError
from anubis.model.run import Event, Run, Step
from anubis.model.status import Status
from anubis.pipeline.launch import launch_of
from anubis.pipeline.run_data import data_of
from anubis.pipeline.run_environment import environment_of
from anubis.submission.bundle import bundle_of


def place(run: Run, world: World, waited_s: float) -> Step:
    """Start the run, or note what the engine prepares for it.

    Raises NoCapacityError to try again later, StageError if it ``waited_s`` longer than ``max_wait_s``.
    """
    engine = world.engine(run.engine)
    data = data_of(run, world)
    if data is None:
        return Step(status=Status.FETCH)
    bundle = bundle_of(run.descriptor, run.folder)
    environment, about = environment_of(run, world)
    try:
        launch = launch_of(
            run,
            bundle,
            engine.capabilities.mounting,
            world.objects,
            environment=environment,
            digest=world.environments.digest,
            data=data,
        )
        if engine.capabilities.queue:
            launch = replace(launch, at_once=_at_once(run, world))
        placement = engine.place(run, launch)
    except RevokedError as error:
        return _again(run, world, error.message)
    except (NoCapacityError, NotReadyError) as error:
        max_wait_s = run.descriptor.hardware.max_wait_s
        if max_wait_s is None or waited_s <= max_wait_s or not engine.revoke(run):
            if isinstance(error, NotReadyError):
                return Step(status=Status.PLACE, reason=error.message, again_after_s=error.again_after_s)
            raise
        raise StageError(
            f"no machine after {max_wait_s:g} s: {error.message}", cause=Cause.NO_CAPACITY
        ) from error
    message = f"on engine {run.engine}"
    event = Event(
        run_id=run.id,
        kind="placed",
        time_s=world.clock.now_s(),
        message=f"{message}, {about}" if about else message,
    )
    return Step(status=Status.WATCH, placement=placement, events=(event,))


def _at_once(run: Run, world: World) -> int:
    """The limit of the sweep of a run; 0: there is none."""
    if run.family_id is None:
        return 0
    try:
        rules = world.sweeps.get(run.family_id).descriptor.sweep
    except NotFoundError:  # another kind of family, or the sweep was removed
        return 0
    return (rules.max_parallel if rules else None) or 0


def _again(run: Run, world: World, reason: str) -> Step:
    """Place the run in a new attempt."""
    event = Event(run_id=run.id, kind="revoked", time_s=world.clock.now_s(), message=reason)
    return Step(status=Status.PLACE, reason=reason, events=(event,), next_attempt=True)
