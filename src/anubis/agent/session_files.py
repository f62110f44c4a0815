"""The files that a session itself writes into the record: ``facts.json``, ``events.jsonl`` and ``exit.json``."""

from __future__ import annotations

import os
from json import dumps

from anubis.agent.clock import now_s
from anubis.record import access, layout
from anubis.record.files import replace

#: Bytes reserved for exit.json at the start, so that it can be written to a full disk, and in addition for each execution.
_RESERVED, _OF_EXECUTION = 1 << 14, 1 << 10


class SessionFiles:
    """Writes to a disk that may be full: the loss of output reports that."""

    def __init__(self, record: str, *, executions: int) -> None:
        """``executions``: the number of executions that exit.json has space for."""
        self._record = record
        self._events = access.create(f"{record}/{layout.EVENTS}", os.O_WRONLY | os.O_APPEND)
        self._exit = access.create(f"{record}/{layout.EXIT}{layout.PART}", os.O_WRONLY | os.O_TRUNC)
        _write_if_possible(self._exit, b" " * (_RESERVED + _OF_EXECUTION * executions))

    def note(self, kind: str, **data: object) -> None:
        """Append an event."""
        line = dumps({"time_s": now_s(), "event": kind, **data})
        _write_if_possible(self._events, line.encode() + b"\n")

    def store_facts(self, facts: dict[str, object]) -> None:
        """Write facts.json."""
        try:
            replace(self._record, layout.FACTS, dumps(facts).encode() + b"\n")
        except OSError:
            pass

    def finish(self, result: dict[str, object], executions: list[dict[str, object]]) -> None:
        """Write exit.json, the last file.

        Without space for all executions it has only the last one, which explains why the run ended.
        """
        result["disk_free_bytes"] = self._disk_free_bytes()
        try:
            self._finish({**result, "executions": executions})
        except OSError:
            self._finish({**result, "executions": executions[-1:]})

    def _finish(self, result: dict[str, object]) -> None:
        text = dumps(result).encode() + b"\n"
        os.pwrite(self._exit, text, 0)
        os.ftruncate(self._exit, len(text))
        os.fsync(self._exit)
        os.rename(f"{self._record}/{layout.EXIT}{layout.PART}", f"{self._record}/{layout.EXIT}")

    def _disk_free_bytes(self) -> int:
        """Space available to unprivileged users on the disk of the record."""
        disk = os.statvfs(self._record)
        return disk.f_bavail * disk.f_frsize


def _write_if_possible(file: int, data: bytes) -> None:
    try:
        os.write(file, data)
    except OSError:
        pass
