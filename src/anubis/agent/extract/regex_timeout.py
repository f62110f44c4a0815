"""A CPU budget for regular expressions: stops a match with catastrophic backtracking.

The ``re`` module checks for signals while it backtracks, so a signal handler that raises ends the match. The timer runs
permanently, and the handler raises only when it sees the same attempt for the second time: an attempt costs one addition
and is stopped after one to two budgets of CPU time of this process (``ITIMER_VIRTUAL``). Works in the main thread only.
"""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: CPU seconds between two signals of the timer.
BUDGET_S = 0.05


class OverrunError(Exception):
    """The attempt took more CPU time than its budget."""


class RegexTimeout:
    """Add 1 to ``attempt`` before and after each guarded match, and catch OverrunError around it."""

    def __init__(self) -> None:
        #: Odd while a match is being attempted.
        self.attempt = 0
        self._seen = -1
        self._before: Any = signal.SIG_DFL

    def start(self) -> None:
        """Start the timer; earlier matches are not guarded."""
        self._before = signal.signal(signal.SIGVTALRM, self._check)
        signal.setitimer(signal.ITIMER_VIRTUAL, BUDGET_S, BUDGET_S)

    def stop(self) -> None:
        """Stop the timer and restore the previous signal handler."""
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, self._before)

    def _check(self, _number: int, _frame: object) -> None:
        if self._seen == self.attempt and self.attempt % 2:
            self._seen = -1
            raise OverrunError
        self._seen = self.attempt
