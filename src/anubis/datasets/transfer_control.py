"""What all requests for one dataset share: progress, the end on request, retries and the lowest rate."""

import random
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from anubis.contracts.datasets import FetchProgress
from anubis.contracts.source import ByteStream
from anubis.datasets.limits import FetchSettings
from anubis.model.cause import Cause
from anubis.model.errors import SourceError

T = TypeVar("T")

#: Fetching ends if no run has asked about it for so long, seconds.
ABANDONED_S = 60.0
#: Longest pause between two attempts, and longest pause that a server may ask for, seconds.
LONGEST_BACK_OFF_S, LONGEST_REQUESTED_S = 30.0, 300.0
#: After so many bytes, the attempts are counted from the start again.
PROGRESS_BYTES = 1 << 20
#: Seconds between two reports of the progress.
REPORT_S = 0.5
#: Bytes that one read requests.
BUFFER_BYTES = 1 << 18


class AbandonedError(Exception):
    """No run asks about the dataset any more."""


class Transfer:
    """The state of fetching one dataset. Thread-safe."""

    def __init__(self, settings: FetchSettings, report: Callable[[FetchProgress], None]) -> None:
        """``report`` is called with the progress, not more often than every ``REPORT_S`` seconds."""
        self.settings = settings
        self._report = report
        self._lock = threading.Lock()
        self._asked_s = time.monotonic()
        self._reported_s = float("-inf")
        self._stop = threading.Event()
        self._done_bytes = 0
        self._size_bytes: int | None = None

    @property
    def progress(self) -> FetchProgress:
        return FetchProgress(done_bytes=self._done_bytes, size_bytes=self._size_bytes)

    def asked(self) -> None:
        """Note that a run waits for the dataset."""
        self._asked_s = time.monotonic()

    def begin(self, size_bytes: int | None) -> None:
        """Count from zero; ``size_bytes`` are expected."""
        with self._lock:
            self._done_bytes, self._size_bytes = 0, size_bytes

    def add(self, count: int) -> None:
        """Count bytes (a negative number: bytes that are fetched again). Raises AbandonedError."""
        with self._lock:
            self._done_bytes += count
            now_s = time.monotonic()
            due = now_s - self._reported_s >= REPORT_S
            if due:
                self._reported_s = now_s
        if due:
            self.check()
            self._report(self.progress)

    def check(self) -> None:
        """Raises AbandonedError if no run waits for the dataset."""
        if time.monotonic() - self._asked_s > ABANDONED_S:
            self._stop.set()
            raise AbandonedError

    def pause(self, seconds: float) -> None:
        """Wait. Raises AbandonedError."""
        self._stop.wait(seconds)
        self.check()

    def retried(self, request: Callable[[], T]) -> T:
        """The result of a request, which is repeated while it fails temporarily. Raises SourceError."""
        attempts = Attempts(self)
        while True:
            try:
                return request()
            except SourceError as error:
                attempts.failed(error)


class Attempts:
    """Decides whether a failed request is repeated, and waits before it."""

    def __init__(self, transfer: Transfer) -> None:
        self._transfer = transfer
        self._failures = 0
        self._received_bytes = 0

    def received(self, count: int) -> None:
        """Note bytes that arrived: a transfer that advances has all its attempts again."""
        self._received_bytes += count

    def failed(self, error: SourceError) -> None:
        """Return when the request may be repeated. Raises the error if a repetition does not help."""
        settings = self._transfer.settings
        if self._received_bytes >= PROGRESS_BYTES:
            self._failures = 0
        self._received_bytes = 0
        self._failures += 1
        if not error.temporary or self._failures >= settings.attempts:
            raise error
        wait_s = settings.back_off_s * 2.0 ** (self._failures - 1) * random.uniform(0.5, 1.0)
        wait_s = min(wait_s, LONGEST_BACK_OFF_S)
        if error.again_after_s is not None:
            wait_s = min(error.again_after_s, LONGEST_REQUESTED_S)
        self._transfer.pause(wait_s)


class Reader:
    """Reads one stream to its end and enforces the lowest rate."""

    def __init__(self, stream: ByteStream, transfer: Transfer) -> None:
        self._stream = stream
        self._transfer = transfer
        self._since_s = time.monotonic()
        self._bytes = 0

    def read(self, most: int) -> bytes:
        """Up to ``most`` bytes; none at the end. Raises SourceError."""
        data = self._stream.read1(min(most, BUFFER_BYTES))
        self._bytes += len(data)
        settings = self._transfer.settings
        now_s = time.monotonic()
        if now_s - self._since_s >= settings.patience_s:
            if data and self._bytes < settings.min_bytes_per_s * (now_s - self._since_s):
                raise SourceError(
                    f"the server sent only {self._bytes} bytes in {now_s - self._since_s:.0f} s",
                    cause=Cause.DATA_SLOW,
                    temporary=True,
                )
            self._since_s, self._bytes = now_s, 0
        return data
