"""The frequency governor of this machine, set for one run and put back afterwards, also after kill -9 of the agent.

The previous governors are in a state file before the first one changes; the lock beside it is held while they are changed.
A state file whose lock is free is what a killed agent left: the next agent, or ``anubis doctor``, puts its governors back.
"""

from __future__ import annotations

import json
import os
import re
from glob import glob

from anubis.agent.execute.file_lock import is_locked

#: In the folder of the machine's state.
STATE, LOCK = "governor.json", "governor.lock"
_CPUS = "/devices/system/cpu/cpu[0-9]*/cpufreq"
_NAME = "scaling_governor"
_PATH = re.compile(rf"/devices/system/cpu/cpu[0-9]+/cpufreq/{_NAME}")
_WORD = re.compile(r"[a-z_]{1,16}")


class Governor:
    """The governor that a run has set; ``why`` says why it is not set."""

    def __init__(self, folder: str, wanted: str, sysfs: str = "/sys") -> None:
        self._folder, self._sysfs = folder, sysfs
        self.why = self._set(wanted)

    def _set(self, wanted: str) -> str:
        """Set it on all CPUs or on none; returns why it is not set, empty if it is."""
        if not self._folder:
            return "the engine does not let a run change the machine"
        files = sorted(f"{folder}/{_NAME}" for folder in glob(self._sysfs + _CPUS))
        if not files:
            return "this machine has no frequency governors (a virtual machine has none)"
        self._lock = os.open(f"{self._folder}/{LOCK}", os.O_RDWR | os.O_CREAT, 0o600)
        if not is_locked(self._lock):
            os.close(self._lock)
            return "another run has set the governor of this machine"
        try:
            _put_back(self._folder, self._sysfs)
            before = {path[len(self._sysfs) :]: _read(path) for path in files}
            self._store(before)
            for path in files:
                _write(path, wanted)
        except OSError as error:
            try:
                self.close()
            except OSError:  # what cannot be written now was not changed either
                pass
            return f"cannot be set to {wanted}: {error.strerror}"
        return ""

    def _store(self, before: dict[str, str]) -> None:
        path = f"{self._folder}/{STATE}"
        file = os.open(f"{path}.part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(file, json.dumps(before).encode())
        os.fsync(file)
        os.close(file)
        os.rename(f"{path}.part", path)

    def close(self) -> None:
        """Put the previous governors back."""
        _put_back(self._folder, self._sysfs)
        os.close(self._lock)


def put_back_left(folder: str, sysfs: str = "/sys") -> bool:
    """Put back what a killed agent left; whether something was left. Raises OSError if that is not permitted."""
    if not os.access(f"{folder}/{STATE}", os.F_OK):
        return False
    lock = os.open(f"{folder}/{LOCK}", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        return is_locked(lock) and _put_back(folder, sysfs)
    finally:
        os.close(lock)


def _put_back(folder: str, sysfs: str) -> bool:
    path = f"{folder}/{STATE}"
    try:
        before = json.loads(_read(path))
    except FileNotFoundError:
        return False
    except ValueError:
        before = {}
    for name, governor in before.items() if isinstance(before, dict) else ():
        if _PATH.fullmatch(name) and isinstance(governor, str) and _WORD.fullmatch(governor):
            _write(sysfs + name, governor)
    os.unlink(path)
    return True


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        return file.read(65_536).strip()


def _write(path: str, text: str) -> None:
    file = os.open(path, os.O_WRONLY | os.O_TRUNC)
    try:
        os.write(file, text.encode())
    finally:
        os.close(file)
