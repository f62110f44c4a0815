"""Waiting for runs until they are final, with Ctrl-C."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import FrameType
from typing import TYPE_CHECKING

from anubis.cli import terminal
from anubis.cli.views.progress import Progress, progress
from anubis.model.errors import AnubisError, StoreError
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.client import Client


def follow(client: "Client", runs: Sequence[Run], *, cancels: bool, in_detail: bool = True) -> list[Run]:
    """Drive these runs until they are final; the runs as they ended.

    With ``cancels`` the first Ctrl-C cancels them and the command continues to wait; the second Ctrl-C exits. Without
    ``cancels`` the first one exits, and so does a closed terminal. Raises KeyboardInterrupt after a note on how to
    watch the runs later. Without ``in_detail`` only a terminal shows the runs.
    """
    ids = [run.id for run in runs]
    try:
        with (
            leaving_with_the_terminal(),
            progress(client, runs, in_lines=in_detail) as view,
            _interruptible(client, ids, view, cancels=cancels),
        ):
            return client.runs.wait(ids, view.changed)
    except BaseException as error:  # if this command ends before its runs, a worker continues them
        with suppress(StoreError, OSError):  # the first error is the one to report
            client.workers.start()
        if isinstance(error, KeyboardInterrupt):
            _note_how_to_watch(client, ids)
        raise


@contextmanager
def leaving_with_the_terminal() -> Iterator[None]:
    """SIGHUP and SIGTERM interrupt, unless they are ignored (nohup)."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    for number, disposition in before.items():
        if disposition is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, disposition in before.items():
            signal.signal(number, disposition)


def _note_how_to_watch(client: "Client", ids: Sequence[str]) -> None:
    subject = "the run" if len(ids) == 1 else f"{len(ids)} runs"
    state = "being cancelled" if client.runs.get(ids[-1]).cancel_requested else "continuing"
    family = " --family" if len(ids) > 1 else ""
    verb = "is" if len(ids) == 1 else "are"
    terminal.note(f"{subject} {verb} {state} in the background: anubis watch {ids[-1]}{family}")


@contextmanager
def _interruptible(client: "Client", ids: Sequence[str], view: Progress, *, cancels: bool) -> Iterator[None]:
    """The first Ctrl-C asks for cancellation from another thread, because the main thread may be in a transaction."""
    view.say("Ctrl-C cancels" if cancels else "Ctrl-C exits; the run continues")
    if not cancels:
        yield
        return

    def cancel() -> None:
        try:
            client.runs.cancel(ids, why="Ctrl-C")
        except AnubisError as error:
            view.say(f"cannot cancel: {error}")

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        view.say("cancelling; Ctrl-C again exits at once")
        threading.Thread(target=cancel, daemon=True).start()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
