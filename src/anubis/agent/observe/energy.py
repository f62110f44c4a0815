"""Energy of the processors and their memory, from the counters that the kernel calls RAPL (powercap in sysfs).

A counter starts again at 0 beyond its range, so it must be read more often than it can run through.
"""

from __future__ import annotations

from glob import glob
from time import monotonic_ns

from anubis.agent.observe.kernel import read

_ZONES = "/class/powercap/intel-rapl:*"
#: The zones that are added up: a package contains its cores; its memory is a separate zone.
_COUNTED = ("package", "dram")
#: No zone takes more power, watts: a counter that was not read for so long that it may have run through is unknown.
_MOST_W = 2000.0


class Energy:
    """The energy between ``start`` and ``stop``."""

    def __init__(self, sysfs: str = "/sys") -> None:
        found = sorted(glob(sysfs + _ZONES))
        self._zones = [zone for zone in found if read(f"{zone}/name").strip().startswith(_COUNTED)]
        self._ranges = {zone: _number(f"{zone}/max_energy_range_uj") for zone in self._zones}
        self._last: dict[str, int] = {}
        self._used_uj = 0
        self._at = 0
        #: Why the energy is unknown; empty: it is known.
        self.why = "" if self._zones else "this machine has no energy counters (RAPL)"

    def start(self) -> None:
        """Begin at 0."""
        if not self._zones:
            return
        self._used_uj, self._at, self.why = 0, monotonic_ns(), ""
        self._last = {}
        for zone in self._zones:
            value = _number(f"{zone}/energy_uj")
            if value is None or not self._ranges[zone]:
                self.why = "the energy counters (RAPL) cannot be read: they need root"
            else:
                self._last[zone] = value

    def update(self) -> None:
        """Add what was used since the last call."""
        if self.why:
            return
        now = monotonic_ns()
        since_s, self._at = (now - self._at) / 1e9, now
        for zone, last in self._last.items():
            value, reach = _number(f"{zone}/energy_uj"), self._ranges[zone] or 0
            if value is None:
                self.why = "the energy counters (RAPL) could not be read to the end"
            elif since_s * _MOST_W * 1e6 > reach:
                self.why = (
                    f"the energy counters (RAPL) were not read for {since_s:.0f} s and may have run through"
                )
            else:
                self._used_uj += value - last if value >= last else value + reach - last
                self._last[zone] = value

    def stop(self) -> dict[str, object]:
        """The energy as it is recorded; null where it is unknown."""
        self.update()
        if not self.why and self._used_uj == 0:
            self.why = "the energy counters (RAPL) did not change: the execution was too short for them"
        return {"cpu_j": None if self.why else self._used_uj / 1e6, "why": self.why or None}


def _number(path: str) -> int | None:
    text = read(path).strip()
    return int(text) if text.isdigit() else None
