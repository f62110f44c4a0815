"""What comparison says."""

from dataclasses import dataclass
from enum import StrEnum


class Judgement(StrEnum):
    """UNDECIDED is an answer: the runs at hand cannot tell."""

    REGRESSED = "regressed"
    IMPROVED = "improved"
    UNCHANGED = "unchanged"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Baseline against contender for one metric."""

    metric: str
    units: str
    judgement: Judgement
    #: Contender over baseline, minus one: -0.044 is 4.4 % lower. None when a side has no value.
    effect: float | None
    #: 95 % interval of the effect; None with fewer than 3 runs a side.
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
