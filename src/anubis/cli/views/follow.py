"""Staying with runs until they are final, and what Ctrl-C means meanwhile."""

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from anubis.cli import terminal
from anubis.cli.views.progress import Progress, progress
from anubis.model.errors import AnubisError
from anubis.model.run import Run

if TYPE_CHECKING:
    from anubis.client import Client


def follow(client: "Client", runs: Sequence[Run], *, cancels: bool) -> list[Run]:
    """Drive these runs until they are final; the runs as they ended.

    With ``cancels`` the first Ctrl-C cancels them and goes on waiting, and the second leaves; without, the first
    leaves. So does a terminal that goes away. Raises KeyboardInterrupt after having said how to look later.
    """
    ids = [run.id for run in runs]
    try:
        with (
            _leaving_with_the_terminal(),
            progress(client, runs) as view,
            _interruptible(client, ids, view, cancels=cancels),
        ):
            return client.runs.wait(ids, view.changed)
    except BaseException as error:  # whatever ends this command before its runs, a worker carries them on
        client.workers.start()
        if isinstance(error, KeyboardInterrupt):
            _say_where(client, ids)
        raise


@contextmanager
def _leaving_with_the_terminal() -> Iterator[None]:
    """A closed window or a polite kill interrupts; under nohup nothing happens."""
    before = {number: signal.getsignal(number) for number in (signal.SIGHUP, signal.SIGTERM)}
    for number, disposition in before.items():
        if disposition is not signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number, disposition in before.items():
            signal.signal(number, disposition)


def _say_where(client: "Client", ids: Sequence[str]) -> None:
    whose = "the run" if len(ids) == 1 else f"{len(ids)} runs"
    fate = "being cancelled" if client.runs.get(ids[-1]).cancel_requested else "going on"
    family = " --family" if len(ids) > 1 else ""
    verb = "is" if len(ids) == 1 else "are"
    terminal.note(f"left; {whose} {verb} {fate} in the background: anubis watch {ids[-1]}{family}")


@contextmanager
def _interruptible(client: "Client", ids: Sequence[str], view: Progress, *, cancels: bool) -> Iterator[None]:
    """The first Ctrl-C asks for cancellation from a thread of its own: the main thread may be in a transaction."""
    view.say("Ctrl-C cancels" if cancels else "Ctrl-C leaves, and lets the run go on")
    if not cancels:
        yield
        return

    def cancel() -> None:
        try:
            client.runs.cancel(ids, why="Ctrl-C")
        except AnubisError as error:
            view.say(f"could not be cancelled: {error}")

    def interrupted(_number: int, _frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        view.say("cancelling; Ctrl-C again leaves at once")
        threading.Thread(target=cancel, daemon=True).start()

    before = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
