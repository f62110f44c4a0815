"""Stage place: builds the launch of a run and starts it on its engine."""

from dataclasses import replace

from anubis.contracts.engine import Engine
from anubis.contracts.environments import SubmittedEnvironment
from anubis.contracts.service.projects import Permission
from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import NoCapacityError, NotFoundError, NotReadyError, RevokedError, StageError
from anubis.model.launch import Launch
from anubis.model.run import Event, Run, Step, phase_of
from anubis.model.status import Phase, Status
from anubis.pipeline.launch import handed_over, launch_of
from anubis.pipeline.limits.phase_limits import overdue
from anubis.pipeline.run_data import RunData, data_of
from anubis.pipeline.run_environment import environment_of
from anubis.submission.bundle import bundle_of
from anubis.submission.permission import not_permitted


def place(run: Run, world: World, waited_s: float) -> Step:
    """Start the run, or note what the engine prepares for it.

    Raises NoCapacityError to try again later, StageError if its phase lasts longer than its limit. ``waited_s``: seconds since
    the phase began.
    """
    engine = world.engine(run.engine)
    data = data_of(run, world)
    if data is None:
        return Step(status=Status.FETCH)
    permission = world.projects.permission(run.project)
    if engine.placed(run) is None:  # else it was permitted when it started
        check_permitted(run, engine, permission)
    environment, about = environment_of(run, world)
    try:
        launch = _launch(run, world, environment, data)
        if engine.capabilities.queue:
            launch = replace(launch, at_once=_at_once(run, world))
        launch = replace(launch, permits=permission.project.permits)
        placement = engine.place(run, launch)
    except RevokedError as error:
        return _again(run, world, error.message)
    except (NoCapacityError, NotReadyError) as error:
        if (failure := overdue(run, waited_s, error.message)) and engine.revoke(run):
            raise failure from error
        return _waiting(run, error)
    message = f"on engine {run.engine}"
    event = Event(
        run_id=run.id,
        kind="placed",
        time_s=world.clock.now_s(),
        message=f"{message}, {about}" if about else message,
    )
    return Step(status=Status.WATCH, placement=placement, events=(event,))


def check_permitted(run: Run, engine: Engine, permission: Permission) -> None:
    """Raise StageError if the project does not permit the run any more."""
    if problems := list(not_permitted(run.descriptor, engine, permission)):
        raise StageError(
            "; ".join(problem.message for problem in problems),
            cause=Cause.NOT_PERMITTED,
            remedy="; ".join(dict.fromkeys(problem.remedy for problem in problems)),
        )


def _launch(run: Run, world: World, environment: SubmittedEnvironment, data: RunData) -> Launch:
    """What the engine starts. Raises like ``launch_of``."""
    capabilities = world.engine(run.engine).capabilities
    if capabilities.remote:
        return handed_over(run, environment)
    return launch_of(
        run,
        bundle_of(run.descriptor, run.folder),
        capabilities.mounting,
        world.objects,
        environment=environment,
        digest=world.environments.digest,
        data=data,
    )


def _at_once(run: Run, world: World) -> int:
    """The limit of the sweep of a run; 0: there is none."""
    if run.family_id is None:
        return 0
    try:
        rules = world.sweeps.get(run.family_id).descriptor.sweep
    except NotFoundError:  # another kind of family, or the sweep was removed
        return 0
    return (rules.max_parallel if rules else None) or 0


def _waiting(run: Run, error: NoCapacityError | NotReadyError) -> Step:
    """The step of a run that the engine cannot place now. Raises NoCapacityError if the run is not changed by it.

    Without a limit for the start, the preparation of the machine counts as time in the queue.
    """
    is_not_ready = isinstance(error, NotReadyError)
    starts = is_not_ready and run.descriptor.limits.start_timeout_s is not None
    phase = Phase.START if starts else Phase.QUEUE
    if not is_not_ready and phase is phase_of(run):
        raise error
    return Step(status=Status.PLACE, phase=phase, reason=error.message, again_after_s=error.again_after_s)


def _again(run: Run, world: World, reason: str) -> Step:
    """Place the run in a new attempt."""
    event = Event(run_id=run.id, kind="revoked", time_s=world.clock.now_s(), message=reason)
    return Step(status=Status.PLACE, reason=reason, events=(event,), next_attempt=True)
