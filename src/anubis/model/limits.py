"""The limits of a run, and the phases to which its timeouts apply."""

from dataclasses import dataclass
from enum import StrEnum

from anubis.model.cause import Cause


class Phase(StrEnum):
    """What a run that is not final waits for."""

    #: Its data are fetched.
    FETCH = "fetch"
    #: It waits for a free machine.
    QUEUE = "queue"
    #: The engine prepares its machine, for example pulls its image.
    START = "start"
    #: It is executed.
    RUN = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Timeouts of the phases of a run, and what is repeated. The time in the queue is limited by `hardware.max_wait_s`."""

    #: Maximum time to fetch the data; after it the run ends with cause `fetch_timeout`. Default: no limit.
    fetch_timeout_s: float | None = None
    #: Maximum time that the engine prepares the machine, for example pulls the image; after it the run ends with cause
    #: `start_timeout`. Default: no limit.
    start_timeout_s: float | None = None
    #: Maximum time from the placement to the end of the last execution; after it the run is stopped with cause
    #: `run_timeout`. One execution is limited by `measure.timeout_s`. Default: no limit.
    run_timeout_s: float | None = None
    #: Further attempts of a run that fails by a cause of `retry_on`.
    retries: int = 0
    #: Causes after which the run is repeated. Default: every transient cause.
    retry_on: tuple[Cause, ...] = ()
    #: Pause before the first further attempt; it doubles with each attempt, up to 300 s.
    retry_pause_s: float = 10.0
