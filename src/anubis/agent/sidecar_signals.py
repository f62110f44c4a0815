"""Signals of the sidecars: the agent ends them, the terminal does not."""

from __future__ import annotations

import os
import signal


def wake_at_sigterm() -> int:
    """Ignore SIGINT and SIGHUP; returns a pipe that becomes readable when SIGTERM arrives."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    wake, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGTERM, _note_signal)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    return wake


def _note_signal(_number: int, _frame: object) -> None:
    """The wake-up pipe ends the wait."""
