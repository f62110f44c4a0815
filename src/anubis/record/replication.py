"""Replicates the record of one role and rank to a receiver over HTTP, by byte offset.

============================= =================================================================================
``GET <url>``                 200 ``{"files": {name: size}, "parts": true}``: the stored sizes of the growing files
``PUT <url>/<file>?offset=N`` appends to a file that grows; 200 ``{"size": n}``. Stored bytes are compared and
                              skipped. Bytes beyond the end are refused: 409 ``{"error": ..., "expected": n}``
``POST <url>``                appends to several files: a line ``<file> <offset> <length>`` and the bytes, for each;
                              what follows a part that is refused is not stored. 200 ``{"sizes": {file: n}}``, 409
                              with ``file``. Only where the first answer has ``"parts": true``
``PUT <url>/<file>``          replaces a file of ``layout.REPLACED`` atomically
============================= =================================================================================

Every request has the header ``Authorization: Bearer <token>``. A refusal is ``{"error": ...}``; 422 means that other
bytes are stored at that offset. After any other answer, 507 (disk full) included, the request is repeated after a pause.
exit.json is sent last, after all other bytes are acknowledged: if it exists, the replica is complete.
"""

from __future__ import annotations

import http.client
import json
import random
import ssl
from urllib.parse import urlsplit

from anubis.record import layout, liveness, samples, telemetry
from anubis.record.files import FolderFiles, read_whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping, Sequence

    from anubis.record.files import Files, FileState

#: Largest body of a request: of appended bytes, and of a file that is replaced.
MOST_APPENDED_BYTES, MOST_REPLACED_BYTES = 1 << 20, 1 << 26
#: How often a record that does not grow is checked; seconds.
POLL_S = 0.5
#: Pauses after failures double between these; seconds.
SHORTEST_PAUSE_S, LONGEST_PAUSE_S = 0.1, 30.0
#: Number of bytes stored by the receiver that are sent again and compared when a sender continues.
_COMPARED_BYTES = 1 << 16
#: A request without an answer is repeated after this time; seconds.
_TIMEOUT_S = 60.0
_MOST_REPLY_BYTES = 1 << 20
_GAP = 409
#: Refusals that are final if the receiver itself sent them (the answer of a proxy has no body in our format).
_FINAL = {400, 401, 403, 404, 405, 411, 413, 422}


class RefusedError(Exception):
    """The receiver does not accept the record; sending it again cannot succeed."""


class Sender:
    """Sends a record until its agent has ended and the receiver has acknowledged every byte."""

    def __init__(self, folder: str, receiver: Receiver, sleep: Callable[[float], None]) -> None:
        self._folder = folder
        self._files = FolderFiles(folder)
        self._receiver = receiver
        self._sleep = sleep
        #: Bytes of each growing file that the receiver has acknowledged.
        self._sent: dict[str, int] = {}
        self._ends = Ends(self._files)
        #: State of each replaced file when it was sent.
        self._replaced: dict[str, FileState] = {}

    def run(self) -> None:
        """Send until the record is complete. Raises RefusedError."""
        for file, stored in self._receiver.sizes().items():
            self._resume(file, stored)
        while True:
            over = self._is_over()
            moved = self._send_growing(over)
            for file in layout.REPLACED_IN_ORDER:
                if file != layout.EXIT:
                    moved |= self._send_replaced(file)
            if over:
                self._send_replaced(layout.EXIT)
                return
            if not moved:
                self._sleep(POLL_S)

    def _resume(self, file: str, stored: int) -> None:
        """Continue at the position of an earlier sender. The last bytes are sent again, and the receiver compares them."""
        state = self._files.state(file)
        if stored > (state.size_bytes if state else 0):
            raise RefusedError(
                f"the receiver has {stored} bytes of {file}, more than this record: it stores a different record"
            )
        self._sent[file] = max(0, stored - _COMPARED_BYTES)

    def _is_over(self) -> bool:
        """Whether the record is final: it is complete, or its agent has ended."""
        return self._files.state(layout.EXIT) is not None or liveness.state(self._folder) != liveness.ALIVE

    def _send_growing(self, over: bool) -> bool:
        """Send the new bytes of the files; returns whether there were any."""
        ends = self._ends.all(over)
        moved = False
        while parts := self._parts(ends):
            moved = True
            self._sent.update(self._receiver.append(parts))
        return moved

    def _parts(self, ends: Mapping[str, int | None]) -> list[tuple[str, int, bytes]]:
        """The next bytes: file, offset, data; of a file only if those before it are complete, of all in one request."""
        parts, left = [], MOST_APPENDED_BYTES
        for file in layout.GROWING:
            end, at = ends[file], self._sent.get(file, 0)
            if end is None or (file in self._sent and at >= end):
                continue
            data = self._files.read(file, at, min(left, end - at)) if at < end else b""
            if not data and file in self._sent:  # it was truncated meanwhile
                continue
            parts.append((file, at, data))
            left -= len(data)
            if left <= 0 or at + len(data) < end:
                break
        return parts

    def _send_replaced(self, file: str) -> bool:
        """Send a file that is replaced atomically if it has changed; returns whether it has."""
        state = self._files.state(file)
        if state is None or self._replaced.get(file) == state:
            return False
        if state.size_bytes > MOST_REPLACED_BYTES:
            raise RefusedError(f"{file} is larger than {MOST_REPLACED_BYTES} bytes")
        self._receiver.replace(file, read_whole(self._files, file))
        self._replaced[file] = state
        return True


class Ends:
    """The ends of the growing files of a record, up to which their writers do not rewrite them."""

    def __init__(self, files: Files) -> None:
        self._files = files
        #: End of the part of the samples that the extractor does not rewrite.
        self._settled = 0

    def all(self, over: bool) -> dict[str, int | None]:
        """The end of each file, None where there is no file; ``over``: the record is final."""
        # The ends of the index and the samples are read before those of the streams to which they refer.
        return {file: self._end(file, over) for file in reversed(layout.GROWING)}

    def _end(self, file: str, over: bool) -> int | None:
        state = self._files.state(file)
        if state is None:
            return None
        if file == layout.TELEMETRY and not over:
            return telemetry.settled_end(self._files)
        if file == layout.SAMPLES and not over:
            self._settled = samples.settled_end(self._files, self._settled)
            return self._settled
        return state.size_bytes


class Receiver:
    """Client of the receiver of one record. Every request is repeated until it is answered."""

    def __init__(
        self, url: str, token: str, sleep: Callable[[float], None], report: Callable[[str], None]
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise RefusedError(f"{url!r} is not an http or https address")
        if not token.isprintable() or not token.isascii():
            raise RefusedError("the token contains characters that are not allowed in a header")
        self._path = parts.path.rstrip("/")
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
        self._sleep = sleep
        #: Called with every failure that differs from the previous one.
        self._report = report
        self._failure = ""
        self._pause_s = SHORTEST_PAUSE_S
        #: Whether it accepts several files in one request. A receiver of an earlier version does not.
        self._takes_parts = False
        self._connection: http.client.HTTPConnection
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._connection = http.client.HTTPSConnection(
                parts.hostname, parts.port, timeout=_TIMEOUT_S, context=context
            )
        else:
            self._connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=_TIMEOUT_S)

    def sizes(self) -> dict[str, int]:
        """The stored sizes of the growing files."""
        _, reply = self._ask("GET", self._path, b"")
        stored = reply.get("files")
        if not isinstance(stored, dict):
            raise RefusedError("the answer of the receiver does not contain the sizes of files")
        self._takes_parts = reply.get("parts") is True
        return {file: stored[file] for file in layout.GROWING if isinstance(stored.get(file), int)}

    def append(self, parts: Sequence[tuple[str, int, bytes]]) -> dict[str, int]:
        """Append to files (file, offset, data), in one request if the receiver can; the offsets at which to continue."""
        if self._takes_parts and len(parts) > 1:
            body = b"".join(
                b"%s %d %d\n%s" % (file.encode(), at, len(data), data) for file, at, data in parts
            )
            status, reply = self._ask("POST", self._path, body)
        else:
            parts = parts[:1]
            file, at, data = parts[0]
            status, reply = self._ask("PUT", f"{self._path}/{file}?offset={at}", data)
        if status != _GAP:
            return {file: at + len(data) for file, at, data in parts}
        offsets = {file: at for file, at, _ in parts}
        file = reply.get("file", parts[0][0])
        if 0 <= reply["expected"] < offsets.get(file, 0):
            return {file: int(reply["expected"])}
        raise RefusedError(f"the receiver does not accept {file} at offset {offsets.get(file)}")

    def replace(self, file: str, data: bytes) -> None:
        """Replace a file."""
        self._ask("PUT", f"{self._path}/{file}", data)

    def _ask(self, method: str, target: str, body: bytes) -> tuple[int, Mapping[str, Any]]:
        """Send a request; returns the status (200 or 409) and the answer. Raises RefusedError."""
        while True:
            try:
                status, reply = self._try(method, target, body)
                failure = f"{status} {reply.get('error', '')}"
            except (OSError, http.client.HTTPException, ValueError) as error:
                status, reply, failure = 0, {}, str(error) or repr(error)
                self._connection.close()
            if status == 200 or (status == _GAP and isinstance(reply.get("expected"), int)):
                self._pause_s, self._failure = SHORTEST_PAUSE_S, ""
                return status, reply
            if status in _FINAL and "error" in reply:
                raise RefusedError(f"{method} {target}: {failure}")
            if failure != self._failure:
                self._failure = failure
                self._report(f"{method} {target}: {failure}; the request is repeated until it succeeds")
            self._sleep(self._pause_s * random.uniform(0.5, 1.0))
            self._pause_s = min(self._pause_s * 2, LONGEST_PAUSE_S)

    def _try(self, method: str, target: str, body: bytes) -> tuple[int, Mapping[str, Any]]:
        self._connection.request(method, target, body, self._headers)
        response = self._connection.getresponse()
        content = response.read(_MOST_REPLY_BYTES)
        if response.will_close or not response.isclosed():
            self._connection.close()
        try:
            reply = json.loads(content)
        except ValueError:
            reply = None
        if not isinstance(reply, dict):  # not from the receiver, for example the page of a proxy
            raise http.client.HTTPException(
                f"{response.status} {response.reason}, without a JSON object as answer"
            )
        return response.status, reply
