"""Starts the turns of chores: each chore in a separate thread, one turn at a time."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from anubis.contracts.chores import Chore
from anubis.pipeline.threads import StartThread

log = logging.getLogger(__name__)

#: Interval between turns of a chore without outstanding work, seconds: another process may have added some.
IDLE_S = 5.0
#: Pause after a chore failed or its thread could not start, seconds.
FAILED_S = 5.0
#: Delay of the first turns while runs are held, seconds.
FIRST_S = 1.0


@dataclass(slots=True)
class _Turns:
    chore: Chore
    #: Monotonic time of the next turn.
    next_s: float
    running: bool = False
    first: bool = True
    #: Whether there may be new work since its last turn began.
    asked: bool = True
    #: What its last turn returned, 0 while that is unknown; written by its thread before ``done``.
    again_after_s: float | None = 0.0
    done: bool = False


class ChoreTurns:
    """The chores of one reconciler. Used by one thread; only the turns themselves run in other threads."""

    def __init__(
        self, chores: Sequence[Chore], now_s: float, start: StartThread, wake: Callable[[], None]
    ) -> None:
        self._all = [_Turns(chore, now_s + FIRST_S) for chore in chores]
        self._start = start
        self._wake = wake

    def ask(self, now_s: float) -> None:
        """Request a turn of each chore, at once or after the turn in progress: there may be new work."""
        for turns in self._all:
            turns.asked, turns.next_s = True, now_s

    def take(self, now_s: float, *, early: bool) -> None:
        """Note the turns that have ended and start those that are due; ``early``: also first turns."""
        for turns in self._all:
            if turns.done:
                turns.done = turns.running = False
                if not turns.asked:
                    turns.next_s = now_s + (IDLE_S if turns.again_after_s is None else turns.again_after_s)
            if not turns.running and (now_s >= turns.next_s or (early and turns.first)):
                self._turn(turns, now_s)

    def next_s(self) -> float:
        """Monotonic time at which the next turn is due; infinite while every chore has a turn in progress."""
        return min((turns.next_s for turns in self._all if not turns.running), default=float("inf"))

    @property
    def rested(self) -> bool:
        """Whether each chore has completed a turn since the last request."""
        return not any(turns.asked or turns.running for turns in self._all)

    @property
    def outstanding(self) -> bool:
        """Whether a chore may have work left."""
        return any(turns.asked or turns.again_after_s is not None for turns in self._all)

    def _turn(self, turns: _Turns, now_s: float) -> None:
        if turns.asked:
            turns.again_after_s = 0.0
        turns.running, turns.asked, turns.first = True, False, False
        try:
            self._start(turns.chore.name, lambda: self._run(turns))
        except RuntimeError as error:
            log.warning("cannot start a thread for %s: %s", turns.chore.name, error)
            turns.running, turns.asked, turns.next_s = False, True, now_s + FAILED_S

    def _run(self, turns: _Turns) -> None:
        try:
            turns.again_after_s = turns.chore.turn()
        except BaseException:  # a defect in one chore must not stop runs or other chores
            log.exception("chore %s failed", turns.chore.name)
            turns.again_after_s = FAILED_S
        turns.done = True
        self._wake()
