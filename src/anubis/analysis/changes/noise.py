"""How much the points of a series scatter around its levels, without knowing the levels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.samples.spread import MAD_TO_SIGMA

Floats = NDArray[np.float64]

#: Points in the running median: long enough to be quiet, short enough to follow a level.
WINDOW = 15
#: In fewer points the running median cannot follow a level near either end, and what a step leaves there would pass
#: for noise that is large and autocorrelated. Differences of neighbours see a step once, so they are used instead.
FEW = 2 * WINDOW
#: Lag-1 autocorrelation of so few points: they cannot tell, and histories of real machines have some.
RHO_OF_FEW = 0.2
#: The upper quartile of a normal deviate's size: differences between two modes are seldom among the smaller half.
QUARTILE = 1.1503
#: No series of measurements is quieter than this, as a ratio of its level.
FLOOR = 0.001
#: Residuals beyond this many deviations are outliers, and residuals are clipped here before they are averaged.
OUTLIER, CLIP = 3.0, 2.5
OUTLIER_SHARES = (0.005, 0.35)
#: What the running median does to the lag-1 autocorrelation of white and of AR(1) noise, by simulation:
#: seen = BIAS + SLOPE * true for true values from 0 to 0.6.
BIAS, SLOPE = -0.042, 0.79
#: Residuals to a median that contains the point itself are a little too small; by simulation of white noise.
OWN_SHARE = 1.08


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """One value per series, shape (series,), in working units (log ratios)."""

    #: Standard deviation of a typical point around its level.
    sigma: Floats
    #: The part of it that repeats inside a run do not explain; equals sigma where no errors are known.
    between: Floats
    #: Share of points that belong to no level.
    outliers: Floats
    #: Lag-1 autocorrelation.
    rho: Floats


def estimate_noise(work: Floats, errors: Floats | None = None) -> NoiseModel:
    """Noise of series of equal length from residuals to a running median, which level changes do not disturb.

    ``work`` and ``errors`` (standard error of each point's own repeats, 0 where unknown) have shape
    (series, points). Sigma is 1.4826 MAD (Rousseeuw & Croux 1993); with errors, each point's variance is
    between^2 + error^2, and ``between`` solves for residuals whose scaled MAD is 1 (the estimating equation of
    DerSimonian & Laird 1986, Control. Clin. Trials 7:177-188, with a robust scale in place of the variance).
    Fewer than ``FEW`` points: from differences of neighbours (von Neumann et al. 1941, Ann. Math. Statist. 12:153).
    """
    few = work.shape[1] < FEW
    residuals = np.diff(work, axis=1) / np.sqrt(2) if few else OWN_SHARE * _residuals(work)
    if errors is None:
        between = np.maximum(_scale(np.abs(residuals), few=few), FLOOR)
        deviations = between[:, None]
        sigma = between
    else:
        own = np.sqrt((errors[:, 1:] ** 2 + errors[:, :-1] ** 2) / 2) if few else errors
        between = _between(residuals, own, few=few)
        deviations = np.sqrt(between[:, None] ** 2 + own**2)
        sigma = np.median(np.sqrt(between[:, None] ** 2 + errors**2), axis=1)
    if few:
        shares = (np.abs(residuals / deviations) > OUTLIER).mean(axis=1)
        return NoiseModel(sigma, between, np.clip(shares, *OUTLIER_SHARES), np.full(len(work), RHO_OF_FEW))
    scaled = residuals / (OWN_SHARE * deviations)
    outliers = np.clip((np.abs(scaled) > OUTLIER).mean(axis=1), *OUTLIER_SHARES)
    clipped = np.clip(scaled, -CLIP, CLIP)
    products = (clipped[:, 1:] * clipped[:, :-1]).sum(axis=1)
    power = np.maximum((clipped**2).sum(axis=1), 1e-300)
    rho = np.clip((products / power - BIAS) / SLOPE, -0.9, 0.9)
    return NoiseModel(sigma, between, outliers, rho)


def deviations_of(noise: NoiseModel, errors: Floats) -> Floats:
    """Standard deviation of every point in units of its series' sigma; shape (series, points)."""
    deviations: Floats = np.sqrt(noise.between[:, None] ** 2 + errors**2) / noise.sigma[:, None]
    return deviations


def _residuals(work: Floats) -> Floats:
    count = work.shape[1]
    window = min(WINDOW, count - 1 + count % 2)
    frames = np.lib.stride_tricks.sliding_window_view(work, window, axis=1)
    middle = np.partition(frames, window // 2, axis=2)[:, :, window // 2]
    ends = window // 2
    levels = np.concatenate(
        [np.repeat(middle[:, :1], ends, axis=1), middle, np.repeat(middle[:, -1:], count, axis=1)], axis=1
    )
    residuals: Floats = work - levels[:, :count]
    return residuals


def _scale(size: Floats, *, few: bool) -> Floats:
    """Standard deviation of what has these sizes, whatever the largest of them are."""
    scale: Floats = MAD_TO_SIGMA * np.median(size, axis=1)
    return np.maximum(scale, np.quantile(size, 0.75, axis=1) / QUARTILE) if few else scale


def _between(residuals: Floats, errors: Floats, *, few: bool) -> Floats:
    size = np.abs(residuals)
    low = np.full(len(size), FLOOR)
    high = np.maximum(3 * np.median(size, axis=1), 2 * FLOOR)
    for _ in range(12):
        middle = np.sqrt(low * high)
        scale = _scale(size / np.sqrt(middle[:, None] ** 2 + errors**2), few=few)
        low, high = np.where(scale > 1, middle, low), np.where(scale > 1, high, middle)
    between: Floats = np.sqrt(low * high)
    return between
