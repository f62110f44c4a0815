"""Verdicts of comparisons."""

from dataclasses import dataclass
from enum import StrEnum


class Judgement(StrEnum):
    """The result of a comparison. UNDECIDED: more runs are needed. CHANGED: a change of a metric without direction."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"


class Estimator(StrEnum):
    """How an effect is estimated; except for MEDIANS it may differ from the ratio of the medians beside it."""

    MEDIANS = "medians"
    HODGES_LEHMANN = "Hodges-Lehmann"
    GEOMETRIC_MEANS = "geometric means"
    MEANS = "means"
    PAIRS = "alternated pairs"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Comparison of contender and baseline for one metric."""

    metric: str
    units: str
    judgement: Judgement
    #: Contender over baseline, minus one: -0.044 is 4.4 % lower. None if a side has no value.
    #: If a value is zero or negative: the difference over the absolute median of the baseline.
    effect: float | None
    #: 95 % interval of the effect; None with fewer than 3 runs a side and no history.
    interval: tuple[float, float] | None
    #: P value of the test; None if no test was made.
    p: float | None
    #: Runs on each side.
    n_baseline: int
    n_contender: int
    #: Medians over runs, in the metric's unit.
    baseline: float | None
    contender: float | None
    #: Smallest effect that counts, as a ratio.
    min_effect: float
    #: Relative run-to-run spread of the noisier side, as a ratio; None if unknown.
    noise_floor: float | None = None
    #: Smallest effect that these numbers of runs detect with 80 % power, as a ratio; None if unknown.
    detectable: float | None = None
    #: Further runs on each side after which an undecided verdict is probably decided; None if unknown.
    more_runs: int | None = None
    #: The better direction of the metric: "higher", "lower" or "none".
    better: str = "none"
    #: ``p`` adjusted for the metrics judged together; None if the metric was judged alone.
    adjusted_p: float | None = None
    #: Numbers of sessions on both sides of a comparison with a history; None: sessions were not considered.
    sessions: tuple[int, int] | None = None
    #: ``noise_floor`` split: standard deviation of sessions around the level, and of runs around their session, as
    #: ratios; None if unknown.
    noise_between: float | None = None
    noise_within: float | None = None
    #: Further sessions of the contender after which an undecided verdict is probably decided, where further runs in the
    #: same sessions do not suffice; None: see ``more_runs``, which then counts runs of the contender.
    more_sessions: int | None = None
    #: How ``effect`` was estimated.
    estimator: Estimator = Estimator.MEDIANS
    #: Second run of a round over the first one, minus one, where it is significant: it was removed from ``effect`` and
    #: from the noise. None: it is not significant, or the runs were not alternated.
    slot_effect: float | None = None
    #: Whether so few runs were compared, without earlier values, that a metric with two modes may look changed.
    two_modes_possible: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FalseRate:
    """How often A/A controls, which compare the same code with itself, found a change."""

    #: Numbers of controls, and of those with a change.
    count: int
    false: int
    #: 95 % interval of the rate, as a ratio.
    interval: tuple[float, float]
    #: The rate that is published, as a ratio; and whether that of the controls is significantly higher.
    published: float
    is_above: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CrossedBound:
    """A bound in the ``threshold`` of a metric that a value crosses."""

    metric: str
    units: str
    #: "min", "max", "sigma" or "change".
    bound: str
    #: In the metric's unit.
    value: float
    #: What the value is compared with, in the metric's unit: the bound, or the level of the series (sigma, change).
    reference: float
    #: Relative noise of the series, as a ratio; None if unknown or not used.
    noise_floor: float | None = None
    #: How the value crosses the bound, for example "below its minimum of 50 ms".
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides:
    """The values of one metric on both sides of a comparison: one value per run, its median."""

    metric: str
    baseline: tuple[float, ...]
    contender: tuple[float, ...]
    units: str = "none"
    #: "higher", "lower" or "none".
    better: str = "none"
    #: Smallest effect that counts, as a ratio.
    min_effect: float = 0.02
    #: Earlier values of the series at one level, one per run: the source of the noise if a side has few runs.
    history: tuple[float, ...] = ()
    #: For a comparison with a history: the number of runs in each session, in the order of the values; else empty.
    baseline_sessions: tuple[int, ...] = ()
    contender_sessions: tuple[int, ...] = ()
    #: Runs that were measured directly after each other: positions of one value of the baseline and one of the contender.
    pairs: tuple[tuple[int, int], ...] = ()
    #: For each pair, whether the contender was measured after the baseline; empty: the order is not known.
    contender_second: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """The verdicts of metrics that were judged together."""

    #: In the order of the input.
    verdicts: tuple[Verdict, ...]
    #: Geometric mean of the ratios minus one, over the metrics with a direction, inverted where lower is better; over
    #: all metrics if none has a direction. None without a ratio.
    mean_effect: float | None
    #: 95 % interval of ``mean_effect``; None with fewer than 3 ratios.
    mean_interval: tuple[float, float] | None
    #: Number of ratios in the mean.
    mean_count: int
