"""Whether a bucket can be used."""

import time
from collections.abc import Callable

from anubis.model.errors import AnubisError
from anubis.store.bucket.connection import AWAY_S, Bucket


class Watch:
    """Whether a bucket answers, as of a short time ago. A look takes place in a separate thread: nothing waits for it."""

    def __init__(self, bucket: Bucket, start: Callable[[Callable[[], None]], None]) -> None:
        self._bucket = bucket
        self._start = start
        self._looked_s = -1.0
        self._is_looking = False
        self._problem = ""

    def problem(self) -> str:
        """Why the bucket cannot be used; empty if it can."""
        if not self._is_looking and (self._looked_s < 0 or time.monotonic() - self._looked_s > AWAY_S):
            self._is_looking = True
            self._start(self._look)
        return self._problem

    def _look(self) -> None:
        try:
            self._bucket.size("probe")
        except AnubisError as error:
            self._problem = error.message
        else:
            self._problem = ""
        finally:
            self._looked_s, self._is_looking = time.monotonic(), False
