"""Tests that use the other metrics of a comparison: for the tail of p values and for the variance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from anubis.analysis.samples.calibration import Calibration, leave_one_out
from anubis.analysis.samples.estimates import Estimate
from anubis.analysis.samples.moderation import Prior
from anubis.analysis.samples.ranks import Shift
from anubis.analysis.samples.sessions import student

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Together:
    """What the metrics of a comparison show together."""

    prior: Prior
    #: Of p values that do not, and that do use the prior.
    own: Calibration
    among: Calibration

    @classmethod
    def of(cls, estimates: Sequence[Estimate]) -> "Together":
        """Create from the estimates of all metrics."""
        spreads = [one.spread for one in estimates if one.spread is not None]
        prior = Prior.of([one.variance for one in spreads], [one.freedom for one in spreads])
        left_out = leave_one_out(one.level for one in estimates)
        own = Calibration.of(left_out.tested(Prior()))
        return cls(prior, own, Calibration.of(left_out.tested(prior)) if prior.freedom else own)

    def differences(self, estimates: Sequence[Estimate]) -> list[Shift | None]:
        """The difference of each metric; of tests against a history with p and interval by the tails that were seen."""
        found = [one.difference for one in estimates]
        tested = [at for at, one in enumerate(estimates) if one.level]
        values, spreads = _columns(estimates, tested)
        p = self.own.p(_student_p(values, *spreads)).tolist()
        for at, p_of_metric in zip(tested, p, strict=True):
            spread, difference = estimates[at].spread, found[at]
            assert spread is not None
            assert difference is not None
            error = math.sqrt(spread.variance * spread.factor)
            shift = student(difference.estimate, error, spread.freedom, self.own.level)
            found[at] = Shift(shift.estimate, shift.low, shift.high, p_of_metric)
        return found

    def p_values(self, estimates: Sequence[Estimate]) -> list[float | None]:
        """P of each metric with a variance that is shrunk towards those of the others; None: no test was made."""
        found = [None if one.difference is None else one.difference.p for one in estimates]
        tested = [at for at, one in enumerate(estimates) if one.spread and one.difference]
        values, (variances, freedoms, factors) = _columns(estimates, tested)
        p = _student_p(values, *self.prior.shrink(variances, freedoms), factors)
        of_history = np.array([bool(estimates[at].level) for at in tested], dtype=np.bool_)
        p[of_history] = self.among.p(p[of_history])
        for at, value in zip(tested, p.tolist(), strict=True):
            found[at] = value
        return found


def _columns(
    estimates: Sequence[Estimate], positions: Sequence[int]
) -> tuple[Floats, tuple[Floats, Floats, Floats]]:
    """Differences, and variances, degrees of freedom and factors of their noise; shape (positions,) each."""
    rows = [
        (difference.estimate, spread.variance, spread.freedom, spread.factor)
        for at in positions
        if (spread := estimates[at].spread) and (difference := estimates[at].difference)
    ]
    values, variances, freedoms, factors = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    return values, (variances, freedoms, factors)


def _student_p(differences: Floats, variances: Floats, freedoms: Floats, factors: Floats) -> Floats:
    """Two-sided p of differences with these errors."""
    p: Floats = np.minimum(1.0, 2 * stdtr(freedoms, -np.abs(differences) / np.sqrt(variances * factors)))
    return p
