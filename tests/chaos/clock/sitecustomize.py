"""Shifts the wall clock of every Python that loads this module by the seconds in the file ``CHAOS_CLOCK``."""

import os
import time
from pathlib import Path

_path = Path(os.environ["CHAOS_CLOCK"])
_time_s, _time_ns = time.time, time.time_ns


def _shift_s():
    try:
        return float(_path.read_text())
    except (OSError, ValueError):  # it is being written
        return 0.0


time.time = lambda: _time_s() + _shift_s()
time.time_ns = lambda: _time_ns() + int(_shift_s() * 1e9)
