"""Estimation of the noise of a series around its levels, without knowledge of the levels."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.samples.spread import MAD_TO_SIGMA

Floats = NDArray[np.float64]

#: Points in the running median: long enough for low noise, short enough to follow a level.
WINDOW = 15
#: Minimum number of points for the running median. With fewer points it cannot follow a level near the ends, and the
#: residuals of a step would look like large, autocorrelated noise. Differences of neighbours are used instead: they
#: contain a step only once.
FEW = 2 * WINDOW
#: Assumed lag-1 autocorrelation of few points, which do not suffice for an estimate; typical for real machines.
RHO_OF_FEW = 0.2
#: Upper quartile of the absolute value of a normal deviate; it also reflects differences between two modes.
QUARTILE = 1.1503
#: Minimum noise of a series, as a ratio of its level.
FLOOR = 0.001
#: Residuals beyond this many deviations are outliers, and residuals are clipped here before they are averaged.
OUTLIER, CLIP = 3.0, 2.5
OUTLIER_SHARES = (0.005, 0.35)
#: Maximum deviation of a point in sigmas: such a point has no weight, and the grid of levels covers its surroundings.
WIDEST = 1000.0
#: Effect of the running median on the lag-1 autocorrelation of white and of AR(1) noise, by simulation:
#: observed = BIAS + SLOPE * true for true values from 0 to 0.6.
BIAS, SLOPE = -0.042, 0.79
#: Correction of residuals to a median that contains the point itself; by simulation of white noise.
OWN_SHARE = 1.08


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """One value per series, shape (series,), in working units (log ratios)."""

    #: Standard deviation of a typical point around its level.
    sigma: Floats
    #: The part of sigma that repeats inside a run do not explain; equal to sigma without known errors.
    between: Floats
    #: Share of outliers.
    outliers: Floats
    #: Lag-1 autocorrelation.
    rho: Floats


def estimate_noise(work: Floats, errors: Floats | None = None) -> NoiseModel:
    """Estimate the noise of series of equal length from residuals to a running median, which follows level changes.

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
        repeat_errors = np.sqrt((errors[:, 1:] ** 2 + errors[:, :-1] ** 2) / 2) if few else errors
        between = _between(residuals, repeat_errors, few=few)
        deviations = np.sqrt(between[:, None] ** 2 + repeat_errors**2)
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
    return np.minimum(deviations, WIDEST)


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
    """Robust standard deviation of residuals with these absolute values."""
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
