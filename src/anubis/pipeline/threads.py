"""Reusable daemon threads, which do not keep a process alive."""

import queue
import threading
from collections.abc import Callable

#: Runs work in a thread with this name; tests replace it. RuntimeError: no thread can be started.
StartThread = Callable[[str, Callable[[], None]], None]
Work = Callable[[], None]

#: A thread without work ends after this long, seconds.
LINGER_S = 10.0


class Threads:
    """``StartThread`` with daemon threads: work that hangs cannot stop its process from ending.

    A thread that has completed its work waits for more: starting a thread takes longer than most stages.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        #: The inboxes of threads without work; the thread that worked last is used first.
        self._idle: list[queue.SimpleQueue[tuple[str, Work]]] = []

    @property
    def idle(self) -> int:
        """How many threads wait for work."""
        return len(self._idle)

    def __call__(self, name: str, work: Work) -> None:
        with self._lock:
            inbox = self._idle.pop() if self._idle else None
        if inbox is None:
            inbox = queue.SimpleQueue()
            threading.Thread(target=self._serve, args=(inbox,), daemon=True).start()
        inbox.put((name, work))

    def _serve(self, inbox: "queue.SimpleQueue[tuple[str, Work]]") -> None:
        thread = threading.current_thread()
        while True:
            try:
                thread.name, work = inbox.get(timeout=LINGER_S)
            except queue.Empty:
                with self._lock:
                    if inbox in self._idle:
                        self._idle.remove(inbox)
                        return
                continue  # work was assigned at the last moment
            work()
            with self._lock:
                self._idle.append(inbox)
