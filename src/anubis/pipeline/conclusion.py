"""The last step of every run: exactly one final status, with a cause unless it succeeded."""

from collections.abc import Sequence

from anubis.model.alert import Alert
from anubis.model.cause import Cause
from anubis.model.run import Event, Run, Step
from anubis.model.status import Status


def status_of(cause: Cause | None) -> Status:
    """The final status that belongs to a cause."""
    if cause is None:
        return Status.SUCCEEDED
    return Status.CANCELLED if cause in {Cause.CANCELLED, Cause.BUDGET} else Status.FAILED


def conclude(
    run: Run,
    now_s: float,
    cause: Cause | None,
    reason: str = "",
    *,
    alerts: Sequence[Alert] = (),
    events: Sequence[Event] = (),
    spawned: Sequence[tuple[Run, str]] = (),
) -> Step:
    """The final step, with the alerts, events and new runs that are stored in the same transaction."""
    status = status_of(cause)
    data = {"status": status} | ({"cause": cause} if cause else {})
    final = Event(run_id=run.id, kind="final", time_s=now_s, message=reason, data=data)
    return Step(
        status=status,
        cause=cause,
        reason=reason,
        alerts=tuple(alerts),
        events=(*events, final),
        spawned=tuple(spawned),
    )
