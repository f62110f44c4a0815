"""``sample``: records one row of telemetry per second while the agent runs.

Also syncs the record to the disk every half second; a slow disk blocks only this process.
"""

from __future__ import annotations

import json
import os
import select
import time

from anubis.agent.clock import now_s
from anubis.agent.observe.gauges import COLUMNS, Gauges
from anubis.agent.sidecar_signals import wake_at_sigterm
from anubis.record import access, layout, liveness, telemetry
from anubis.record.files import FolderFiles
from anubis.record.streams import FLOOD_BYTES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.observe.nvml import Devices
    from anubis.agent.options import Options

PERIOD_S = 1.0
_STREAMS = (*layout.STREAMS, layout.LINES)


def run(options: Options) -> int:
    """Sample until SIGTERM or the end of the agent."""
    wake = wake_at_sigterm()  # SIGTERM means that the benchmark has ended
    devices = _devices()
    gauges = Gauges(os.getppid(), options.record, _peers(options.group), sandboxed=bool(options.sandbox))
    columns = COLUMNS + _device_columns(len(devices) if devices else 0)
    file = access.create(f"{options.record}/{layout.TELEMETRY}", os.O_WRONLY | os.O_APPEND)
    size = telemetry.settled_end(FolderFiles(options.record))  # of an earlier execution of this rank
    os.ftruncate(file, size)
    size = size or os.write(file, telemetry.header(columns, PERIOD_S))
    streams = [Synced(f"{options.record}/{name}") for name in _STREAMS]
    due = time.monotonic() + PERIOD_S
    ended = False
    while not ended and liveness.state(options.record) == liveness.ALIVE:
        for stream in streams:
            stream.sync()
        left_s = max(0.0, due - time.monotonic())
        ended = bool(select.select([wake], [], [], min(left_s, PERIOD_S / 2))[0])
        if not ended and time.monotonic() < due:
            continue
        due = max(due + PERIOD_S, time.monotonic())  # after a suspend of the machine: no burst of rows
        values = gauges.sample() + (devices.sample() if devices else [])
        size += _append(file, size, telemetry.row(now_s(), values))
    return 0


def _peers(path: str) -> list[str]:
    """The records of the other replicas of the run, from the description of the group; empty without one."""
    if not path:
        return []
    with open(path, encoding="utf-8") as file:
        return [peer["record"] for peer in json.load(file)["needs"]]


class Synced:
    """A file that another process writes, and the size up to which it is synced to the disk."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY)
        self._safe = 0

    def sync(self) -> None:
        """Sync the file if it has grown by at most FLOOD_BYTES."""
        size = os.fstat(self._file).st_size
        if 0 < size - self._safe <= FLOOD_BYTES:
            try:
                os.fsync(self._file)
            except OSError:  # disk errors are reported where the data is written
                return
        self._safe = size


def _append(file: int, size: int, row: bytes) -> int:
    """Append a row to a file of that size, completely or not at all (on a full disk); returns the bytes written."""
    try:
        if os.write(file, row) == len(row):
            return len(row)
    except OSError:
        pass
    os.ftruncate(file, size)
    return 0


def _devices() -> Devices | None:
    if not os.path.exists("/dev/nvidiactl"):
        return None
    from anubis.agent.observe.nvml import Devices

    try:
        return Devices()
    except (OSError, AttributeError):  # no driver, or one without these functions
        return None


def _device_columns(count: int) -> list[tuple[str, str]]:
    if not count:
        return []
    from anubis.agent.observe.nvml import GAUGES

    return [(f"gpu{number}_{name}", unit) for number in range(count) for name, unit in GAUGES]
