"""Progress of runs: one line for each change, or a live view on a terminal."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, Self

from anubis.cli import terminal
from anubis.cli.views import status_text
from anubis.cli.views.run_labels import labels_of
from anubis.late import late
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.reporting.status_words import WORDS

if TYPE_CHECKING:
    from anubis.cli.views import live
    from anubis.client import Client
else:  # rich, which only a terminal needs
    live = late("anubis.cli.views.live")


class Progress(Protocol):
    """Shows the changes of the runs for which it was created."""

    def changed(self, run: Run) -> None:
        """A run has a new status or reason."""
        ...

    def say(self, text: str) -> None:
        """Show a sentence to the user."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...


def progress(client: "Client", runs: Sequence[Run], *, in_lines: bool = True) -> Progress:
    """The view that suits standard error; without ``in_lines`` nothing is shown where there is no terminal."""
    if terminal.preferences.quiet:
        return Silence()
    if terminal.interactive(sys.stderr):
        return live.LiveView(client, runs)
    return Lines(client, runs) if in_lines else Silence()


class Silence:
    """Shows nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        """No resources need to be released."""

    def changed(self, run: Run) -> None:
        """Not shown."""

    def say(self, text: str) -> None:
        """Not shown."""


#: Seconds between two lines about data that are being fetched.
FETCHING_S = 10.0


class Lines:
    """One line on standard error when a run waits for its engine, starts (or is already running), and is final.

    While data are fetched, one line every ``FETCHING_S`` seconds.
    """

    def __init__(self, client: "Client", runs: Sequence[Run]) -> None:
        self._runs = {run.id: run for run in runs}
        self._short = client.runs.short_ids(self._runs)
        labels = labels_of(runs)
        names = {run.id: f"{run.descriptor.info.name}  {labels[run.id]}".rstrip() for run in runs}
        width = max(map(len, names.values()), default=0)
        self._names = {run_id: name.ljust(width) for run_id, name in names.items()}
        #: Run id -> when its fetching was last shown.
        self._fetching_s: dict[str, float] = {}

    def __enter__(self) -> Self:
        for run in self._runs.values():
            if run.status is Status.WATCH:
                self._print(run)
        return self

    def __exit__(self, *error: object) -> None:
        """No resources need to be released."""

    def changed(self, run: Run) -> None:
        last, self._runs[run.id] = self._runs[run.id], run
        if (run.status is not last.status and (run.status.final or run.status is Status.WATCH)) or (
            run.status is Status.PLACE and run.reason and not last.reason
        ):
            self._print(run)
        elif run.status is Status.FETCH and run.reason:
            shown_s, now_s = self._fetching_s.get(run.id), time.monotonic()
            if shown_s is None or now_s - shown_s >= FETCHING_S:
                self._fetching_s[run.id] = now_s
                self._print(run)

    def say(self, text: str) -> None:
        """Hints are shown only on terminals."""

    def _print(self, run: Run) -> None:
        took = status_text.took(run.placed_s, run.ended_s) if run.status.final else ""
        clock = time.strftime("%H:%M:%S")
        reason = run.reason if run.status in {Status.FAILED, Status.FETCH, Status.PLACE} else ""
        about = f"{clock}  {self._short[run.id]}  {self._names[run.id]}"
        terminal.line(f"{about}  {WORDS[run.status]:9}  {took}  {reason}".rstrip(), err=True)
