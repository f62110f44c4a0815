"""Detects disturbances of the machine during a measurement, from telemetry.

The values are means over the duration of one execution. An execution shorter than the sampler's period has no telemetry
and counts as undisturbed.
"""

from __future__ import annotations

import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

    from anubis.record.telemetry import Telemetry

#: Telemetry column, the largest mean that is acceptable, and the sentence for a larger one (``{}`` is the mean).
#: The limits are the shares and rates that change results by about as much as a verdict detects (2 %).
LIMITS = (
    ("cpu_steal", 0.02, "the hypervisor used {:.0%} of the processor time (steal)"),
    ("throttle_events", 0.0, "the processor was throttled {:.3g} times a second"),
    ("group_throttled", 0.02, "the CPU quota stopped the processes {:.0%} of the time"),
    ("swap_in", float(1 << 20), "memory was swapped in at {:.3g} bytes a second"),
    ("swap_out", float(1 << 20), "memory was swapped out at {:.3g} bytes a second"),
    ("others_cpus", 0.25, "other processes used {:.2f} processors"),
)

#: NVML's reasons for lower clocks that the operator did not choose: hardware slowdown, thermal limits of software
#: and hardware, power brake (nvmlClocksEventReasons).
GPU_SLOWDOWN = 0x08 | 0x20 | 0x40 | 0x80
#: Largest acceptable share of the time with such a reason.
GPU_MOST = 0.02


def disturbances(telemetry: Telemetry, started_s: float, ended_s: float) -> Sequence[str]:
    """Disturbances between two times (UTC seconds), as sentences; empty when nothing is known."""
    rows = [number for number, time_s in enumerate(telemetry.times_s) if started_s < time_s <= ended_s + 1.0]
    sentences = []
    for column, limit, sentence in LIMITS:
        known = _known(telemetry, column, rows)
        if known and (mean := sum(known) / len(known)) > limit:
            sentences.append(sentence.format(mean))
    for column in telemetry.columns:
        if column.endswith("_throttle_reasons") and (known := _known(telemetry, column, rows)):
            slowed = sum(bool(int(bits) & GPU_SLOWDOWN) for bits in known) / len(known)
            if slowed > GPU_MOST:
                sentences.append(f"{column.partition('_')[0]} was slowed down {slowed:.0%} of the time")
    return sentences


def _known(telemetry: Telemetry, column: str, rows: Sequence[int]) -> list[float]:
    values = telemetry.columns.get(column)
    return [values[row] for row in rows if math.isfinite(values[row])] if values else []
