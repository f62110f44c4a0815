"""Following a sweep in the foreground, with one line of progress."""

import sys
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from anubis.cli import terminal
from anubis.cli.sweeps.sweep_view import progress_line
from anubis.cli.views.follow import leaving_with_the_terminal
from anubis.late import late
from anubis.model.errors import AnubisError, StoreError

if TYPE_CHECKING:
    from rich import console, status

    from anubis.client import Client
    from anubis.suites.sweep_state import SweepState
else:  # only a terminal needs rich
    console = late("rich.console")
    status = late("rich.status")

#: Where standard error is not a terminal: seconds between two lines.
LINE_EVERY_S = 10.0


def follow(client: "Client", sweep_id: str) -> "SweepState":
    """Submit the cells of a sweep and drive its runs until it no longer runs.

    Ctrl-C pauses the sweep: cells that run continue in the background, no further cell starts.
    """
    line = _Line()
    try:
        with leaving_with_the_terminal(), line:
            return client.sweeps.wait(sweep_id, line.changed)
    except KeyboardInterrupt:
        with suppress(AnubisError, OSError):
            client.sweeps.pause(sweep_id, why="interrupted by its user")
            client.workers.start()
        terminal.note(f"the sweep is paused: anubis sweep resume {sweep_id}")
        raise
    except BaseException:  # a worker continues the sweep
        with suppress(StoreError, OSError):
            client.workers.start()
        raise


class _Line:
    """One line of progress; without a terminal a line from time to time."""

    def __init__(self) -> None:
        self._status: status.Status | None = None
        self._shown_s = time.monotonic()
        if not terminal.preferences.quiet and terminal.interactive(sys.stderr):
            screen = console.Console(stderr=True, highlight=False, no_color=not terminal.colour_wanted())
            self._status = status.Status("submitting", console=screen, refresh_per_second=4)

    def __enter__(self) -> Self:
        if self._status:
            self._status.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self._status:
            self._status.stop()

    def changed(self, state: "SweepState") -> None:
        """Show the state, which another thread has read."""
        text = progress_line(state)
        if self._status:
            self._status.update(f"{text}  (Ctrl-C pauses)")
        elif time.monotonic() - self._shown_s >= LINE_EVERY_S:
            self._shown_s = time.monotonic()
            terminal.progress(f"{time.strftime('%H:%M:%S')}  {text}")
