"""Stage place: the descriptor becomes a bundle, and an engine starts agents for it."""

import shlex

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.errors import NoCapacityError, StageError
from anubis.model.run import Bundle, Event, Role, Run, Step
from anubis.model.status import Status


def place(run: Run, world: World) -> Step:
    """Start the run, or say when to try again."""
    now_s = world.clock.now_s()
    engine = world.engines.get(run.engine)
    if engine is None:
        raise StageError(
            f'engine "{run.engine}" is not installed here any more',
            cause=Cause.USER_ERROR,
            remedy="install it again, or submit with another engine",
        )
    try:
        placement = engine.place(run, bundle_of(run))
    except NoCapacityError as error:
        max_wait_s = run.descriptor.hardware.max_wait_s
        if max_wait_s is None or now_s - run.created_s <= max_wait_s or engine.placed(run):
            raise
        raise StageError(
            f"no machine after {max_wait_s:g} s: {error.message}", cause=Cause.NO_CAPACITY
        ) from error
    event = Event(run_id=run.id, kind="placed", time_s=now_s, message=f"on engine {run.engine}")
    return Step(status=Status.WATCH, placement=placement, events=(event,))


def bundle_of(run: Run) -> Bundle:
    """What the engine is asked to place for this run."""
    descriptor = run.descriptor
    ml, env, measure = descriptor.ml, descriptor.env, descriptor.measure
    role = Role(
        name="benchmark",
        command=tuple(shlex.split(f"{ml.benchmark_code or ''} {ml.args}")),
        environment=dict(env.vars),
        image=env.docker_image,
        gpus=descriptor.hardware.gpus,
        cpus=descriptor.hardware.cpus,
        memory_gb=descriptor.hardware.memory_gb,
        privileged=env.privileged,
        extended_shm=env.extended_shm,
    )
    return Bundle(
        roles=(role,),
        repeats=measure.repeats,
        warmups=measure.warmups,
        timeout_s=measure.timeout_s,
        folder=run.folder,
        script=ml.script.script if ml.script else None,
        patterns={m.name: (m.pattern, m.units) for m in descriptor.output.metrics if m.pattern},
    )
