"""The noise floor of this machine: the variation of the time of repeated equal work."""

import math
import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING

from anubis.late import late

if TYPE_CHECKING:
    from anubis.analysis.samples import spread
else:  # scipy
    spread = late("anubis.analysis.samples.spread")

#: Seconds that ``anubis doctor --noise`` spends on each kernel, and target duration of one execution.
BUDGET_S = 5.0
PIECE_S = 0.02
#: Runs on each side for which the smallest detectable effect is computed.
RUNS = 10
_MEMORY_BYTES = 32 << 20
#: Kernels whose noise shows what pinning saves.
CPU, PINNED = "cpu", "cpu, pinned"


@dataclass(frozen=True, slots=True)
class Noise:
    """The variation of one kernel's time between executions."""

    kernel: str
    executions: int
    #: Mean time of one execution, seconds.
    mean_s: float
    #: Standard deviation over mean, as a ratio.
    variation: float
    #: Robust spread of one execution (verdicts use it as the noise floor), as a ratio.
    noise_floor: float
    #: Smallest effect that ``RUNS`` runs on each side detect with 80 % power, as a ratio.
    detectable: float


def measured(
    *, budget_s: float = BUDGET_S, clock: Callable[[], float] = time.perf_counter
) -> Iterator[Noise]:
    """The noise of a computing kernel and of one that copies memory; about ``budget_s`` seconds each.

    Where processes can be bound to CPUs and there are several, also of the computing kernel on one of them.
    """
    source = bytes(_MEMORY_BYTES)
    for name, kernel in ((CPU, _compute), ("memory", lambda count: _move(source, count))):
        yield judged(name, _times(kernel, budget_s, clock))
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if len(usable) > 1:
        os.sched_setaffinity(0, {max(usable)})
        try:
            yield judged(PINNED, _times(_compute, budget_s, clock))
        finally:
            os.sched_setaffinity(0, usable)


def judged(name: str, times: list[float]) -> Noise:
    """The noise of at least two times of equal work."""
    floor = spread.noise_floor(sorted(math.log(seconds) for seconds in times)) or 0.0
    mean_s = fmean(times)
    detectable = spread.smallest_detectable(floor, RUNS, RUNS)
    return Noise(
        kernel=name,
        executions=len(times),
        mean_s=mean_s,
        variation=stdev(times) / mean_s,
        noise_floor=math.expm1(floor),
        detectable=math.expm1(detectable) if detectable is not None else math.nan,
    )


def _times(kernel: Callable[[int], object], budget_s: float, clock: Callable[[], float]) -> list[float]:
    """Seconds of each execution; the count of repetitions is chosen so that one takes about ``PIECE_S``."""
    count, took = 1, _timed(kernel, 1, clock)
    while took < PIECE_S / 2 and count < 1 << 30:
        count *= 2
        took = _timed(kernel, count, clock)
    times = [_timed(kernel, count, clock) for _ in range(2)]
    end = clock() + budget_s
    while clock() < end:
        times.append(_timed(kernel, count, clock))
    return times


def _timed(kernel: Callable[[int], object], count: int, clock: Callable[[], float]) -> float:
    began = clock()
    kernel(count)
    return max(clock() - began, 1e-9)


def _compute(count: int) -> int:
    """A linear congruential generator (Knuth's MMIX constants): integer arithmetic that cannot be optimised away."""
    state = 1
    for _ in range(1000 * count):
        state = (6364136223846793005 * state + 1442695040888963407) & 0xFFFF_FFFF_FFFF_FFFF
    return state


def _move(source: bytes, count: int) -> None:
    """Copies larger than most caches."""
    for _ in range(count):
        bytearray(source)
