"""Many metrics at once: adjusted p values and the mean effect."""

import math
from collections.abc import Sequence

import numpy as np
from scipy.special import stdtrit

from anubis.model.verdict import Verdict

#: Minimum number of ratios for an interval.
FEWEST_RATIOS = 3


def adjusted(probabilities: Sequence[float]) -> list[float]:
    """Adjusted p values that control the false discovery rate.

    Step-up procedure of Benjamini & Hochberg 1995, J. R. Statist. Soc. B 57:289-300; holds under the positive
    dependence that metrics of one run have (Benjamini & Yekutieli 2001, Ann. Statist. 29:1165-1188).
    """
    count = len(probabilities)
    if count == 0:
        return []
    p = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    scaled = p[order] * count / np.arange(1, count + 1)
    stepped = np.clip(np.minimum.accumulate(scaled[::-1])[::-1], p[order], 1.0)  # never below p by rounding
    result = np.empty(count)
    result[order] = stepped
    adjusted_values: list[float] = result.tolist()
    return adjusted_values


def mean_effect(verdicts: Sequence[Verdict]) -> tuple[float | None, tuple[float, float] | None, int]:
    """Geometric mean of the ratios minus one, its 95 % interval, and the number of ratios in it.

    Ratios are inverted where lower is better (Fleming & Wallace 1986, Comm. ACM 29:218-221, on why the mean is
    geometric). Metrics without direction are included only if no metric has a direction. The interval is
    Student's over the log ratios: it shows how much the mean depends on the choice of metrics. There is
    none if a metric has none, because it was measured in too few runs.
    """
    ratios = [
        (math.log1p(verdict.effect), verdict.better)
        for verdict in verdicts
        if verdict.effect is not None and verdict.effect > -1
    ]
    directed = [(-log if better == "lower" else log) for log, better in ratios if better != "none"]
    logs = np.asarray(directed or [log for log, _ in ratios], dtype=np.float64)
    count = len(logs)
    if count == 0:
        return None, None, 0
    mean = float(logs.mean())
    if count < FEWEST_RATIOS or any(verdict.interval is None for verdict in verdicts):
        return math.expm1(mean), None, count
    half = float(stdtrit(count - 1, 0.975)) * float(logs.std(ddof=1)) / math.sqrt(count)
    return math.expm1(mean), (math.expm1(mean - half), math.expm1(min(mean + half, 709.0))), count
