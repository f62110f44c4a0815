"""Measured values: samples inside a run, points in a series, and the sessions in which they were measured."""

import hashlib
from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

#: Default of the longest pause inside a session, seconds.
SESSION_PAUSE_S = 1800.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One measured value inside a run. Missing values are not stored as samples."""

    metric: str
    value: float
    #: Time of the measurement; UTC, seconds since 1970.
    time_s: float
    units: str = "none"
    #: Counter of the benchmark (iteration, epoch); None: not given.
    step: int | None = None
    #: Number of the measured execution from 0; negative in warm-ups (-1 is the last of them).
    repeat: int = 0
    labels: dict[str, str] = field(default_factory=dict)


#: Metrics that the agent records for every run from its own accounting.
OWN_METRICS = (
    "wall_time",
    "cpu_time",
    "peak_memory",
    "peak_process_memory",
    "cpu_energy",
    "gpu_energy",
    "cpu_energy_per_work",
    "gpu_energy_per_work",
)

#: Value for "no step" in a SampleBlock, whose columns hold only numbers.
NO_STEP = -(2**63)


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleBlock:
    """Samples of one metric of one run, as columns of equal length, in order of arrival."""

    metric: str
    units: str
    #: Shape (n,), float64.
    values: "array[float]"
    #: Shape (n,), float64, UTC seconds.
    times_s: "array[float]"
    #: Shape (n,), int64; NO_STEP for samples without a step.
    steps: "array[int]"
    #: Shape (n,), int32; negative in warm-ups.
    repeats: "array[int]"
    #: Number of samples of the metric before this block. Stored samples from there on are replaced, so a block may be
    #: written again.
    start: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """When and on which machine a run was measured. Periods determine sessions."""

    #: Identifies one machine, unlike a fingerprint, which identifies a kind of machine.
    machine: str
    #: UTC seconds since 1970.
    start_s: float
    end_s: float


def chains(items: Iterable[T], period: Callable[[T], Period], pause_s: float) -> list[list[T]]:
    """Items whose periods are on one machine without a pause longer than ``pause_s`` between them, oldest first.

    The chains depend only on the set of periods, not on the order of the items.
    """
    result: list[list[T]] = []
    machine, end_s = "", 0.0
    for item in sorted(items, key=lambda one: (period(one).machine, period(one).start_s)):
        place = period(item)
        if not result or place.machine != machine or place.start_s > end_s + pause_s:
            result.append([])
            machine, end_s = place.machine, place.end_s
        result[-1].append(item)
        end_s = max(end_s, place.end_s)
    return result


@lru_cache(maxsize=4096)
def session_id(machine: str, start_s: float) -> str:
    """The id of the session that began on a machine at this time: the time (UTC) and a digest of the machine.

    A time outside of the calendar, which an imported file may contain, is given in seconds.
    """
    digest = hashlib.sha256(machine.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    try:
        return f"{datetime.fromtimestamp(start_s, UTC):%Y%m%dT%H%M%SZ}-{digest}"
    except (ValueError, OverflowError, OSError):
        return f"{start_s:.0f}-{digest}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One value of one run and metric in a series."""

    run_id: str
    series_key: str
    #: Digest of the machine facts that must be equal for two points to be comparable.
    fingerprint: str
    metric: str
    units: str
    #: Median over the repeats of each repeat's summary value.
    value: float
    #: Sample standard deviation over the repeats, same unit; None for a single repeat.
    spread: float | None
    #: Number of repeats of the value.
    count: int
    better: str = "none"
    #: Position in the series; UTC seconds (commit time if known, else time of submission).
    order_s: float
    #: Commit, version or empty.
    subject: str = ""
    #: The machine was disturbed while this was measured.
    contaminated: bool = False
    #: Number of runs over which the value is a median; ``spread`` and ``count`` are then over runs.
    runs: int = 1
    #: Id of the session in which it was measured, set by the store from ``Step.period``; empty if unknown.
    session: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PointBlock:
    """Points of one metric on one machine in one series, as columns of equal length, oldest first."""

    series_key: str
    fingerprint: str
    metric: str
    units: str
    #: Direction of the newest point.
    better: str
    run_ids: tuple[str, ...]
    values: tuple[float, ...]
    #: Standard deviation over the repeats of each value, same unit; None for a single repeat.
    spreads: tuple[float | None, ...]
    #: Number of repeats of each value.
    counts: tuple[int, ...]
    #: Position in the series; UTC seconds.
    orders_s: tuple[float, ...]
    #: Commit or version of each value; empty if unknown.
    subjects: tuple[str, ...]
    #: Session of each value; empty if unknown.
    sessions: tuple[str, ...]
    #: Whether the machine was disturbed while each value was measured.
    contaminated: tuple[bool, ...]
