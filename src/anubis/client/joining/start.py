"""Starts a joined worker in this process."""

import os
import threading
from collections.abc import Callable, Sequence

from anubis.agent.execute import prctl
from anubis.api.joined import Orders
from anubis.client.joining.connection import WorkerConnection
from anubis.client.joining.machine import ENGINES, Machine
from anubis.client.joining.spool import Spool, Token
from anubis.client.joining.worker import Joined
from anubis.client.registration import checked
from anubis.model.errors import BadInputError
from anubis.model.labels import is_label
from anubis.pipeline.worker import ended_by_signal
from anubis.settings import Settings
from anubis.wiring import build

#: The variable with the token of a worker.
TOKEN = "ANUBIS_WORKER_TOKEN"  # noqa: S105  a name


def join(
    settings: Settings,
    url: str,
    token: Token,
    *,
    labels: Sequence[str],
    engines: Sequence[str],
    joined: Callable[[Orders, Machine], None],
) -> None:
    """Work for the service at an address until SIGTERM or SIGINT. ``joined`` is called after the first answer.

    Raises BadInputError if the service refuses the worker.
    """
    address, secret = checked(url), token.read()
    for label in labels:
        if not all(map(is_label, label.split("=", 1))):
            raise BadInputError(
                f"{label!r} is not a label",
                remedy="use a word like a100, or a name and a value like zone=eu",
            )
    os.environ.pop(TOKEN, None)
    prctl.refuse_inspection()  # a benchmark of the same user must not read the token in this process
    stopped = threading.Event()
    installation, spool = build(settings), Spool(settings.home)
    connection = WorkerConnection(address, settings, secret)
    try:
        with spool.alone(), ended_by_signal(stopped):
            machine = Machine(installation, engines or ENGINES)
            worker = Joined(connection, machine, spool, tuple(labels))
            waker = threading.Thread(target=_wake, args=(stopped, worker), daemon=True)
            waker.start()
            worker.work(stopped, lambda orders: joined(orders, machine))
    finally:
        connection.close()
        installation.close()


def _wake(stopped: threading.Event, worker: Joined) -> None:
    stopped.wait()
    worker.wake()
