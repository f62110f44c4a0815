"""The metrics that a descriptor declares."""

from dataclasses import dataclass, field
from enum import StrEnum


class Better(StrEnum):
    """The direction of a metric. It determines whether a change is a regression or an improvement, not its detection."""

    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


class Summary(StrEnum):
    """How the samples of one execution are summarised to one value."""

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


class Ranks(StrEnum):
    """How the values of several processes that run the same benchmark become one value."""

    FIRST = "first"
    SUM = "sum"
    MAX = "max"
    MIN = "min"
    MEAN = "mean"


@dataclass(frozen=True, slots=True, kw_only=True)
class Threshold:
    """Bounds of a metric; all are optional. A crossed bound opens an alert and fails ``anubis check``."""

    #: Smallest acceptable value, in the metric's unit.
    min: float | None = None
    #: Largest acceptable value, in the metric's unit.
    max: float | None = None
    #: Largest acceptable distance from the level of the series, in standard deviations.
    sigma: float | None = None
    #: Largest acceptable change for the worse, as a ratio: 0.05 is 5 %.
    change: float | None = None
    #: Smaller effects raise no alert, as a ratio; default: the service default of 0.02.
    min_effect: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One declared metric."""

    #: Name of the metric; unique in the descriptor.
    name: str
    #: Unit; "none" for a plain number.
    units: str = "none"
    #: Python regular expression applied to every output line. Group `value`, else the first group that is not `step`, is
    #: the value; group `step`, as in `(?P<step>\d+)`, is the step of the benchmark (iteration, epoch), a whole number.
    #: Default: the benchmark emits the metric with `emit()`.
    pattern: str | None = None
    #: The better direction.
    better: Better = Better.NONE
    #: How the samples of one execution are summarised to one value.
    summary: Summary = Summary.LAST
    #: How the values of the ranks of a distributed benchmark become one: `first` is that of the lowest rank that has one;
    #: the others need a value of every rank.
    ranks: Ranks = Ranks.FIRST
    #: A required metric without a sample fails the run with cause `metric_missing`.
    required: bool = True
    #: Bounds; all are optional. A crossed bound opens an alert and fails `anubis check`.
    threshold: Threshold | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """The metrics to read from the benchmark."""

    #: The declared metrics.
    metrics: tuple[Metric, ...] = field(default=())
