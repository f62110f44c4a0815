"""Conversion of measured values to the working values of the detector."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.levels import Costs, costs_of
from anubis.analysis.changes.noise import NoiseModel, deviations_of, estimate_noise
from anubis.analysis.changes.windows import Noise, inflation_of
from anubis.model.errors import BadInputError

Floats = NDArray[np.float64]

#: Minimum number of points of a series: each side of a change needs three.
FEWEST_POINTS = 6
#: Maximum error as a ratio of the value (of a typical value, if some are not positive).
LARGEST_ERROR = 10.0
#: Limit of working values, in sigmas from the first.
FARTHEST = 1e6


def checkpoint(length: int) -> int:
    """Number of points for the noise estimate of a series of ``length``: the largest of 8 12 16 24 32 48 64 128 256 ...

    Between checkpoints the model is fixed, so that an appended point costs one vector operation and yields exactly the
    same result as judging the whole series.
    """
    if length < 8:
        return length
    power = 1 << (length.bit_length() - 1)
    return power * 3 // 2 if power * 3 // 2 <= length and power < 64 else power


def next_checkpoint(length: int) -> int:
    """The smallest checkpoint above ``length``."""
    if length < 8:
        return length + 1
    power = 1 << (length.bit_length() - 1)
    return 2 * power if power >= 64 or length >= power * 3 // 2 else power * 3 // 2


def check_finite(values: Sequence[float] | Floats, what: str) -> None:
    """Raise BadInputError where a value is NaN or infinite."""
    array = np.asarray(values, dtype=np.float64)
    if not np.isfinite(array).all():
        at = int(np.flatnonzero(~np.isfinite(array))[0])
        raise BadInputError(
            f"point {at} of {what} is {float(array[at])}, which is not a finite number",
            remedy="leave out the points without a value, or correct the benchmark",
        )


@dataclass(frozen=True, slots=True)
class Scale:
    """The scale of working values: log ratios if all values are positive, else differences in units of a typical value."""

    logs: bool
    #: Divisor of the values; 1 for logs.
    unit: float

    @classmethod
    def of(cls, values: Floats) -> "Scale":
        """``values`` has shape (points,), the whole series."""
        if (values > 0).all():
            return cls(logs=True, unit=1.0)
        size = np.abs(values[: checkpoint(len(values))])
        # A quarter, because the two middle values are added: their sum must not overflow.
        unit = 4 * float(np.median(size / 4)) or float(size.max()) or 1.0
        return cls(logs=False, unit=max(unit, float(np.abs(values).max()) * 1e-100))

    def work(self, values: Floats) -> Floats:
        return np.log(values) if self.logs else values / self.unit

    def errors(self, values: Floats, errors: Floats) -> Floats:
        """Standard errors in working units, at most ``LARGEST_ERROR``."""
        with np.errstate(over="ignore"):
            return np.minimum(errors / (values if self.logs else self.unit), LARGEST_ERROR)

    def effect(self, difference: float) -> float:
        """A working difference as a ratio minus one."""
        return math.expm1(min(difference, 709.0)) if self.logs else difference

    def smallest(self, min_effect: float) -> tuple[float, float]:
        """The smallest working differences down and up that count as an effect."""
        if not self.logs:
            return -min_effect, min_effect
        return math.log1p(-min_effect) if min_effect < 1 else -math.inf, math.log1p(min_effect)

    def value(self, work: float) -> float:
        """A working value in the metric's unit."""
        return math.exp(min(work, 709.0)) if self.logs else work * self.unit


@dataclass(frozen=True, slots=True)
class Prepared:
    """Series of equal length, prepared for both stages."""

    scales: list[Scale]
    #: Shape (series, points); the first point of every series is 0.
    work: Floats
    #: The subtracted values of the first points; shape (series,).
    origin: Floats
    model: NoiseModel
    noise: Noise
    costs: Costs

    @property
    def scaled(self) -> Floats:
        """Working values in sigmas."""
        return np.clip(self.work / self.model.sigma[:, None], -FARTHEST, FARTHEST)

    @property
    def inflation(self) -> Floats:
        """Variance of a mean over that of independent points; shape (series,)."""
        return inflation_of(self.noise.rho)


def prepare(values: Floats, errors: Floats | None) -> Prepared:
    """Prepare values and their standard errors, both (series, points) with at least FEWEST_POINTS points."""
    if (values > 0).all():  # the most common case, for all series at once
        scales = [Scale(logs=True, unit=1.0)] * len(values)
        work = np.log(values)
    else:
        scales = [Scale.of(row) for row in values]
        work = np.array([scale.work(row) for scale, row in zip(scales, values, strict=True)])
    origin = work[:, 0].copy()
    work -= origin[:, None]
    known = None
    if errors is not None:
        known = np.array([s.errors(v, e) for s, v, e in zip(scales, values, errors, strict=True)])
    first = checkpoint(values.shape[1])
    model = estimate_noise(work[:, :first], None if known is None else known[:, :first])
    relative = None if known is None else deviations_of(model, known)
    noise = Noise(model.sigma, model.rho, relative)
    return Prepared(scales, work, origin, model, noise, costs_of(model, first))
