"""Threads in which the stages of one engine run, so that a slow engine delays only the runs on it."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from anubis.model.errors import NoCapacityError
from anubis.pipeline.stages.watch import BACK_OFF, SOONEST_S
from anubis.pipeline.threads import StartThread

#: Maximum number of concurrent stages, and of concurrent bulk observations, of one engine.
STAGES = 4
WATCHES = 2
#: An observation that takes longer, in seconds, probably hangs and does not count, up to this number of all observations.
HUNG_S = 60.0
WATCHES_WITH_HUNG = 16
#: The next call waits for a running one at most this long, seconds.
SLOW_S = 1.0
#: Pause for an engine without capacity while the runs that occupy it are watched here, seconds.
WATCHED_ROOM_S = 0.25


class StagePool:
    """Calls in threads: one at a time if they are quick, several at once if they are slow.

    Quick calls thus keep their order (runs are placed in the order of their priority and submission), and a call that
    hangs occupies one place. Used by one thread; only the calls themselves run in other threads.
    """

    def __init__(self, name: str, size: int, start: StartThread, *, with_hung: int | None = None) -> None:
        """``with_hung`` is the number of calls together with those that hang, by default also ``size``."""
        self.name = name
        self._size = size
        self._with_hung = with_hung or size
        self._start = start
        #: Call -> monotonic time of its start.
        self._running: dict[object, float] = {}

    def may_start(self, now_s: float) -> bool:
        """Whether a place is free and all running calls are slow."""
        ages_s = [now_s - started_s for started_s in self._running.values()]
        hung = sum(age_s >= HUNG_S for age_s in ages_s)
        is_free = len(ages_s) < min(self._size + hung, self._with_hung)
        return is_free and all(age_s >= SLOW_S for age_s in ages_s)

    def start(self, call: object, work: Callable[[], None], now_s: float) -> None:
        """Run ``work`` in a thread; the call occupies a place until ``ended``. RuntimeError: no thread can start."""
        self._start(self.name, work)
        self._running[call] = now_s

    def ended(self, call: object) -> None:
        """The call's place is free again."""
        del self._running[call]


@dataclass(slots=True)
class EnginePool:
    """The pools of one engine, and what is known about its capacity. Times are monotonic."""

    stages: StagePool
    watches: StagePool
    #: Set to end the observation in progress, because there are more runs to watch or a cancellation.
    stop: Event = field(default_factory=Event)
    #: The engine had no capacity; it is not asked again before this time.
    full_until_s: float = -math.inf
    #: When a placed run last ended; soon after it, free capacity is more likely.
    freed_s: float = -math.inf

    @classmethod
    def of(cls, engine: str, start: StartThread) -> "EnginePool":
        """The pools of an engine."""
        return cls(
            StagePool(f"stage {engine}", STAGES, start),
            StagePool(f"watch {engine}", WATCHES, start, with_hung=WATCHES_WITH_HUNG),
        )

    def full(self, error: NoCapacityError, now_s: float, *, ours: bool) -> None:
        """Pause placements on the engine: shortly if capacity was freed recently, else longer.

        ``ours``: runs that are watched here occupy the engine, so their end is noticed.
        """
        wait_s = WATCHED_ROOM_S if ours else max(BACK_OFF * (now_s - self.freed_s), SOONEST_S)
        self.full_until_s = now_s + min(wait_s, error.again_after_s)

    def freed(self, now_s: float) -> None:
        """Note that a placed run has ended."""
        self.full_until_s, self.freed_s = -math.inf, now_s
