"""When each chore has its turn: in a thread of its own, one turn at a time."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anubis.contracts.chores import Chore
from anubis.pipeline.threads import StartThread

log = logging.getLogger(__name__)

#: How often a chore with nothing outstanding is asked again, seconds: another process may have left it something.
IDLE_S = 5.0
#: How long a chore that failed, or whose thread could not start, is left alone, seconds.
FAILED_S = 5.0
#: A chore is not asked in the first moments in which runs are in hand, seconds.
FIRST_S = 1.0


@dataclass(slots=True)
class _Turns:
    chore: Chore
    #: Monotonic time of the next turn.
    next_s: float
    running: bool = False
    first: bool = True
    #: Something may have come up since its last turn began.
    asked: bool = True
    #: What its last turn returned, 0 while that is unknown; written by its thread before ``done``.
    again_after_s: float | None = 0.0
    done: bool = False


class ChoreTurns:
    """The chores of one reconciler. Used by one thread; only the turns themselves run elsewhere."""

    def __init__(
        self, chores: Sequence[Chore], now_s: float, start: StartThread, wake: Callable[[], None]
    ) -> None:
        self._all = [_Turns(chore, now_s + FIRST_S) for chore in chores]
        self._start = start
        self._wake = wake

    def ask(self, now_s: float) -> None:
        """Something may have come up: each chore has a turn at once, or after the one in progress."""
        for turns in self._all:
            turns.asked, turns.next_s = True, now_s

    def take(self, now_s: float, *, early: bool) -> None:
        """Note the turns that have ended and start those that are due; ``early``: first turns too."""
        for turns in self._all:
            if turns.done:
                turns.done = turns.running = False
                if not turns.asked:
                    turns.next_s = now_s + (IDLE_S if turns.again_after_s is None else turns.again_after_s)
            if not turns.running and (now_s >= turns.next_s or (early and turns.first)):
                self._turn(turns, now_s)

    def next_s(self) -> float:
        """Monotonic time at which the next turn is due; infinite while all have one in progress."""
        return min((turns.next_s for turns in self._all if not turns.running), default=float("inf"))

    @property
    def rested(self) -> bool:
        """Whether each chore has had a whole turn since it was last asked."""
        return not any(turns.asked or turns.running for turns in self._all)

    @property
    def outstanding(self) -> bool:
        """Whether there may be something left to do for a chore."""
        return any(turns.asked or turns.again_after_s is not None for turns in self._all)

    def _turn(self, turns: _Turns, now_s: float) -> None:
        if turns.asked:
            turns.again_after_s = 0.0
        turns.running, turns.asked, turns.first = True, False, False
        try:
            self._start(turns.chore.name, lambda: self._run(turns))
        except RuntimeError as error:
            log.warning("no thread for %s: %s", turns.chore.name, error)
            turns.running, turns.asked, turns.next_s = False, True, now_s + FAILED_S

    def _run(self, turns: _Turns) -> None:
        try:
            turns.again_after_s = turns.chore.turn()
        except BaseException:  # a defect of one chore stops neither runs nor other chores
            log.exception("chore %s", turns.chore.name)
            turns.again_after_s = FAILED_S
        turns.done = True
        self._wake()
