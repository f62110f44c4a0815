"""Measured values: samples inside a run and points in a series."""

from array import array
from dataclasses import dataclass, field


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
OWN_METRICS = ("wall_time", "cpu_time", "peak_memory", "peak_process_memory")

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
    #: Whether the machine was disturbed while each value was measured.
    contaminated: tuple[bool, ...]
