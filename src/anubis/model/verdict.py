"""What comparison says."""

from dataclasses import dataclass
from enum import StrEnum


class Judgement(StrEnum):
    """UNDECIDED is an answer: the runs at hand cannot tell. CHANGED: it changed, and the metric has no direction."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Baseline against contender for one metric."""

    metric: str
    units: str
    judgement: Judgement
    #: Contender over baseline, minus one: -0.044 is 4.4 % lower. None when a side has no value.
    #: Where a value is zero or negative: the difference over the absolute median of the baseline.
    effect: float | None
    #: 95 % interval of the effect; None with fewer than 3 runs a side and no history.
    interval: tuple[float, float] | None
    #: Probability of data like these if nothing changed; None when no test was made.
    p: float | None
    #: Runs on each side.
    n_baseline: int
    n_contender: int
    #: Medians over runs, in the metric's unit.
    baseline: float | None
    contender: float | None
    #: Smallest effect that counts, as a ratio.
    min_effect: float
    #: Relative run-to-run spread of the noisier side, as a ratio; None when unknown.
    noise_floor: float | None = None
    #: Smallest effect these numbers of runs could have shown with 80 % power, as a ratio; None when unknown.
    detectable: float | None = None
    #: Runs to add on each side before an undecided verdict is likely to be settled; None when not known.
    more_runs: int | None = None
    #: The direction of the metric decided the name of the change; "none" when it has no direction.
    better: str = "none"
    #: ``p`` adjusted for the other metrics judged at the same time; None when it was judged alone.
    adjusted_p: float | None = None


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
    #: Earlier values of the same series at one level, one per run; they supply the noise when a side has few runs.
    history: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Many metrics judged together."""

    #: In the order they were given.
    verdicts: tuple[Verdict, ...]
    #: Geometric mean of the ratios minus one, each turned so that up is better; over metrics with a direction,
    #: or over all of them, unturned, when none has one. None when there is no ratio.
    mean_effect: float | None
    #: 95 % interval of ``mean_effect``; None with fewer than 3 ratios.
    mean_interval: tuple[float, float] | None
    #: How many ratios the mean is made of.
    mean_count: int
