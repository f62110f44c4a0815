"""What a descriptor declares about the figures a benchmark gives out."""

from dataclasses import dataclass, field
from enum import StrEnum


class Better(StrEnum):
    """The direction of a metric. It decides only the name of a change (regression, improvement), never its detection."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


class Summary(StrEnum):
    """How the samples of one execution become its one value."""

    LAST = "last"
    FIRST = "first"
    MEAN = "mean"
    MEDIAN = "median"
    MIN = "min"
    MAX = "max"
    SUM = "sum"
    P50 = "p50"
    P90 = "p90"
    P99 = "p99"
    COUNT = "count"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Bounds on a metric; any of them may be set."""

    #: Smallest acceptable value, in the metric's unit.
    min: float | None = None
    #: Largest acceptable value, in the metric's unit.
    max: float | None = None
    #: Distance from the series, in its standard deviations.
    sigma: float | None = None
    #: Largest acceptable change for the worse, as a ratio: 0.05 is 5 %.
    change: float | None = None
    #: Effects smaller than this never alert, as a ratio; left out: the service's default of 0.02.
    min_effect: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One declared figure."""

    #: What the metric is called; unique in the descriptor.
    name: str
    #: Unit as it is shown; "none" for a plain number.
    units: str = "none"
    #: Python regular expression applied to every output line; group `value`, else group 1, is the value.
    #: Left out: the benchmark gives the metric with `emit()`.
    pattern: str | None = None
    #: The better direction.
    better: Better = Better.NONE
    #: How the samples of one execution become its one value.
    summary: Summary = Summary.LAST
    #: Declared but never seen fails the run with cause `metric_missing`.
    required: bool = True
    #: Bounds; any of them may be set.
    threshold: Threshold | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What to read from the benchmark."""

    #: The declared figures.
    metrics: tuple[Metric, ...] = field(default=())
