"""Conversion of detected changes to verdicts in the unit of the metric."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from anubis.analysis.changes.backward_elimination import Change
from anubis.analysis.changes.drift import drifting
from anubis.analysis.changes.localization import localize_range
from anubis.analysis.changes.prediction import Prediction, predict
from anubis.analysis.changes.scaling import Prepared, Scale
from anubis.analysis.changes.stability import WINDOW
from anubis.analysis.changes.windows import SIDE, Rows
from anubis.analysis.samples.compare import direction_judgement
from anubis.analysis.samples.spread import median, smallest_shift
from anubis.model.series import ChangeKind, ChangePoint, ChangeState, Instability, Series, SeriesVerdict

Floats = NDArray[np.float64]

#: Number of further points to which "detectable" of a series refers.
FURTHER_POINTS = 10


def too_short(series: Series) -> SeriesVerdict:
    """The verdict of a series without enough points for any change."""
    level = median(sorted(series.values)) if series.values else None
    return SeriesVerdict(
        n=len(series.values),
        changes=(),
        suspected=None,
        level=level,
        expected=None,
        noise_floor=None,
        detectable=None,
    )


def report(
    series: Sequence[Series],
    prepared: Prepared,
    changes: Sequence[Sequence[Change]],
    unstable: Sequence[Instability | None],
    *,
    threshold: float,
) -> list[SeriesVerdict]:
    """One verdict for each series of equal length, from the confirmed changes.

    The newest points of a series that has no stable level (``unstable``) contain no changes and are not suspect.
    """
    calm_from = prepared.work.shape[1] - WINDOW
    changes = [
        own if why is None else [change for change in own if change.at < calm_from]
        for own, why in zip(changes, unstable, strict=True)
    ]
    keys = [(at, one.low, one.at, one.high) for at, of_series in enumerate(changes) for one in of_series]
    ranges: Iterator[tuple[int, int]] = iter(())
    if keys:
        earliest, latest = localize_range(prepared.work, Rows.of(keys), prepared.noise)
        ranges = iter(zip(earliest.tolist(), latest.tolist(), strict=True))
    verdicts = []
    for at, of_series in enumerate(changes):
        labels = drifting(prepared.work[at], of_series)
        points = tuple(
            _point(series[at], prepared, at, one, next(ranges), threshold=threshold, drift=drift)
            for one, drift in zip(of_series, labels, strict=True)
        )
        verdict = _verdict(series[at], prepared, at, points, threshold)
        if why := unstable[at]:
            verdict = replace(verdict, suspected=None, instability=why)
        verdicts.append(verdict)
    return verdicts


def _point(
    series: Series,
    prepared: Prepared,
    at: int,
    change: Change,
    position_range: tuple[int, int],
    *,
    threshold: float,
    drift: bool,
) -> ChangePoint:
    scale = prepared.scales[at]
    n_before, n_after = change.at - change.low, change.high - change.at
    half = float(stdtrit(n_before + n_after - 2, 0.975)) * change.error
    shift = smallest_shift(
        change.deviation,
        n_before,
        n_after,
        threshold=threshold,
        inflation=float(prepared.inflation[at]),
    )
    return ChangePoint(
        index=change.at,
        earliest=position_range[0],
        latest=position_range[1],
        state=ChangeState.CONFIRMED,
        kind=ChangeKind.DRIFT if drift else ChangeKind.STEP,
        judgement=direction_judgement(upwards=change.difference > 0, better=series.better),
        effect=scale.effect(change.difference),
        interval=(scale.effect(change.difference - half), scale.effect(change.difference + half)),
        z=change.z,
        before=median(sorted(series.values[change.low : change.at])),
        after=median(sorted(series.values[change.at : change.high])),
        n_before=n_before,
        n_after=n_after,
        noise_floor=scale.effect(change.deviation),
        detectable=scale.effect(shift),
    )


def _verdict(
    series: Series, prepared: Prepared, at: int, points: tuple[ChangePoint, ...], threshold: float
) -> SeriesVerdict:
    scale, origin = prepared.scales[at], float(prepared.origin[at])
    count = len(series.values)
    start = max(points[-1].index if points else 0, count - SIDE)
    ahead = predict(prepared.work[at, start:].tolist(), float(prepared.model.sigma[at]))
    if ahead is None:
        return SeriesVerdict(
            n=count,
            changes=points,
            suspected=None,
            level=median(sorted(series.values[start:])),
            expected=None,
            noise_floor=None,
            detectable=None,
        )
    shift = smallest_shift(
        ahead.deviation,
        ahead.n,
        FURTHER_POINTS,
        threshold=threshold,
        inflation=float(prepared.inflation[at]),
    )
    return SeriesVerdict(
        n=count,
        changes=points,
        suspected=_suspected(series, scale, ahead, start) if ahead.outside else None,
        level=median(sorted(series.values[start : count - ahead.outside])),
        expected=(
            scale.value(origin + ahead.level - ahead.margin),
            scale.value(origin + ahead.level + ahead.margin),
        ),
        noise_floor=scale.effect(ahead.deviation),
        detectable=scale.effect(shift),
    )


def _suspected(series: Series, scale: Scale, ahead: Prediction, start: int) -> ChangePoint:
    index = len(series.values) - ahead.outside
    before, after = sorted(series.values[start:index]), sorted(series.values[index:])
    low, high = scale.work(np.array([median(before), median(after)])).tolist()
    error = ahead.deviation * math.sqrt(1 / len(before) + 1 / len(after))
    half = float(stdtrit(len(before) + len(after) - 2, 0.975)) * error
    return ChangePoint(
        index=index,
        earliest=index,
        latest=index,
        state=ChangeState.SUSPECTED,
        kind=ChangeKind.STEP,
        judgement=direction_judgement(upwards=high > low, better=series.better),
        effect=scale.effect(high - low),
        interval=(scale.effect(high - low - half), scale.effect(high - low + half)),
        z=abs(high - low) / error,
        before=median(before),
        after=median(after),
        n_before=len(before),
        n_after=len(after),
        noise_floor=scale.effect(ahead.deviation),
        detectable=scale.effect(ahead.margin),
    )
