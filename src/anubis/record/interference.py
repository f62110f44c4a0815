"""Was the machine disturbed while something was measured? Telemetry answers, second by second.

Figures are means over the seconds of one execution. An execution shorter than the sampler's period has no telemetry
and counts as clean: what is unknown is not held against a run.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from anubis.record.telemetry import Telemetry


@dataclass(frozen=True, slots=True)
class Limit:
    """What a telemetry column may reach on average before the measurement is not to be trusted."""

    column: str
    most: float
    #: How it is said; ``{}`` takes the mean.
    words: str


#: A share of the processors' time or a rate that moves results by about as much as a verdict looks for (2 %).
LIMITS = (
    Limit("cpu_steal", 0.02, "the hypervisor took {:.0%} of the processors' time away"),
    Limit("throttle_events", 0.0, "the processor throttled itself {:.3g} times a second"),
    Limit("group_throttled", 0.02, "the CPU quota held the processes up {:.0%} of the time"),
    Limit("swap_in", 1 << 20, "memory was swapped in at {:.3g} bytes a second"),
    Limit("swap_out", 1 << 20, "memory was swapped out at {:.3g} bytes a second"),
    Limit("others_cpus", 0.25, "other processes used {:.2f} processors"),
)


#: NVML's reasons for lower clocks that are no choice of the operator: hardware slowdown, thermal limits of software
#: and hardware, power brake (nvmlClocksEventReasons).
GPU_SLOWDOWN = 0x08 | 0x20 | 0x40 | 0x80
GPU_MOST = 0.02


def disturbances(telemetry: "Telemetry", started_s: float, ended_s: float) -> Sequence[str]:
    """What disturbed the machine between two times (UTC seconds), in words; empty when nothing is known to have."""
    rows = [number for number, time_s in enumerate(telemetry.times_s) if started_s < time_s <= ended_s + 1.0]
    found = []
    for limit in LIMITS:
        known = _known(telemetry, limit.column, rows)
        if known and (mean := sum(known) / len(known)) > limit.most:
            found.append(limit.words.format(mean))
    for column in telemetry.columns:
        if column.endswith("_throttle_reasons") and (known := _known(telemetry, column, rows)):
            slowed = sum(bool(int(bits) & GPU_SLOWDOWN) for bits in known) / len(known)
            if slowed > GPU_MOST:
                found.append(f"{column.partition('_')[0]} was slowed down {slowed:.0%} of the time")
    return found


def _known(telemetry: "Telemetry", column: str, rows: Sequence[int]) -> list[float]:
    values = telemetry.columns.get(column)
    return [values[row] for row in rows if not math.isnan(values[row])] if values else []
