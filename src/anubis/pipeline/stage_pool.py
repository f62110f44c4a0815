"""Threads in which the stages of one engine run, so that a slow engine holds up nothing but its own runs."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Event

from anubis.model.errors import NoCapacityError
from anubis.pipeline.stages.watch import BACK_OFF, SOONEST_S
from anubis.pipeline.threads import StartThread

#: How many stages of one engine, and how many bulk observations of it, run at the same time at most.
STAGES = 4
WATCHES = 2
#: A call that takes longer than this no longer holds up the one behind it, seconds.
SLOW_S = 1.0
#: How long to leave a full engine alone while the runs that fill it are watched here, seconds.
WATCHED_ROOM_S = 0.25


class StagePool:
    """Calls in threads: one at a time while they are quick, several while they are slow.

    So quick calls keep their order (runs are placed in the order of their priority and submission), and a call that
    hangs occupies one place. Used by one thread; only the calls themselves run elsewhere.
    """

    def __init__(self, name: str, size: int, start: StartThread) -> None:
        self.name = name
        self._size = size
        self._start = start
        #: Call -> monotonic time of its start.
        self._running: dict[object, float] = {}

    def may_start(self, now_s: float) -> bool:
        """Whether there is a free place and nothing quick to wait for."""
        return len(self._running) < self._size and all(
            now_s - started_s >= SLOW_S for started_s in self._running.values()
        )

    def start(self, call: object, work: Callable[[], None], now_s: float) -> None:
        """Run ``work`` in a thread; the call occupies a place until ``ended``. RuntimeError: no thread can start."""
        self._start(self.name, work)
        self._running[call] = now_s

    def ended(self, call: object) -> None:
        """The call's place is free again."""
        del self._running[call]


@dataclass(slots=True)
class EnginePool:
    """The pools of one engine, and what is known about its room. Times are monotonic."""

    stages: StagePool
    watches: StagePool
    #: Set to end the watching in progress: there is more to watch, or a cancellation.
    stop: Event = field(default_factory=Event)
    #: It had no room; not asked again before this time.
    full_until_s: float = -math.inf
    #: When a run that held room last ended: the sooner after it, the likelier there is room again.
    freed_s: float = -math.inf

    @classmethod
    def of(cls, engine: str, start: StartThread) -> "EnginePool":
        """The pools of this engine."""
        return cls(StagePool(f"stage {engine}", STAGES, start), StagePool(f"watch {engine}", WATCHES, start))

    def full(self, error: NoCapacityError, now_s: float, *, ours: bool) -> None:
        """Leave the engine alone for a while: shortly after room was freed, longer when it was not.

        ``ours``: runs that are watched here hold the room, so their end is noticed.
        """
        wait_s = WATCHED_ROOM_S if ours else max(BACK_OFF * (now_s - self.freed_s), SOONEST_S)
        self.full_until_s = now_s + min(wait_s, error.again_after_s)

    def freed(self, now_s: float) -> None:
        """A run that held room has ended."""
        self.full_until_s, self.freed_s = -math.inf, now_s
