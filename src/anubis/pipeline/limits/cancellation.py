"""Why the cancellation of a run was requested."""

from anubis.contracts.world import World
from anubis.model.cause import Cause
from anubis.model.run import CANCEL_EVENT, Run


def cancelled(run: Run, world: World, reason: str) -> tuple[Cause, str]:
    """Cause and reason of the end of a cancelled run: those of the request if it has a cause, else ``reason``."""
    for event in reversed(world.events.read(run.id)):
        if event.kind == CANCEL_EVENT and "cause" in event.data:
            return Cause(event.data["cause"]), event.message
    return Cause.CANCELLED, reason
