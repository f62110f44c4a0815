"""Change points of one series or of many series at once.

``anubis.analysis.changes.online.Detector`` is the same algorithm point by point; all three forms give the same changes.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from anubis.analysis.changes.assessment import report, too_short
from anubis.analysis.changes.backward_elimination import BackwardElimination
from anubis.analysis.changes.candidates import fit
from anubis.analysis.changes.scaling import FEWEST_POINTS, Prepared, check_finite, prepare
from anubis.analysis.changes.stability import instability
from anubis.model.errors import BadInputError
from anubis.model.series import Instability, Sensitivity, Series, SeriesVerdict

Floats = NDArray[np.float64]

#: Required size of a change in standard errors; docs/concepts/verdicts.md has the false alarm rates and the power.
THRESHOLDS = {Sensitivity.QUIET: 5.5, Sensitivity.NORMAL: 4.5, Sensitivity.SENSITIVE: 4.0}


def judge_series(
    series: Series, *, sensitivity: Sensitivity = Sensitivity.NORMAL, min_effect: float = 0.02
) -> SeriesVerdict:
    """Every confirmed change of one series, and whether its newest points are suspect or have no stable level.

    Raises BadInputError for values that are not finite, errors below 0 and lists of different length.
    """
    return judge_many([series], sensitivity=sensitivity, min_effect=min_effect)[0]


def judge_many(
    series: Sequence[Series], *, sensitivity: Sensitivity = Sensitivity.NORMAL, min_effect: float = 0.02
) -> list[SeriesVerdict]:
    """``judge_series`` for many series at once, with much less time per series."""
    verdicts = [too_short(one) for one in series]
    threshold = THRESHOLDS[sensitivity]
    for group, prepared in _groups(series):
        candidates = candidates_of(prepared)
        elimination = BackwardElimination(prepared.work, prepared.noise)
        changes = elimination.run(candidates, threshold, _edges(prepared, min_effect))
        unstable = instabilities(
            prepared, elimination, candidates, threshold=threshold, min_effect=min_effect
        )
        found = report([series[at] for at in group], prepared, changes, unstable, threshold=threshold)
        for at, verdict in zip(group, found, strict=True):
            verdicts[at] = verdict
    return verdicts


def find_changes(
    series: Sequence[Series], *, sensitivity: Sensitivity = Sensitivity.NORMAL, min_effect: float = 0.02
) -> list[list[int]]:
    """The change positions of each series: first points of new levels, ascending; also those of unstable series."""
    positions: list[list[int]] = [[] for _ in series]
    for group, prepared in _groups(series):
        elimination = BackwardElimination(prepared.work, prepared.noise)
        edges = _edges(prepared, min_effect)
        changes = elimination.run(candidates_of(prepared), THRESHOLDS[sensitivity], edges)
        for at, own in zip(group, changes, strict=True):
            positions[at] = [change.at for change in own]
    return positions


def candidates_of(prepared: Prepared) -> list[list[int]]:
    """Run stage 1 for series of equal length."""
    return fit(prepared.scaled, prepared.noise.relative, prepared.costs)


def instabilities(
    prepared: Prepared,
    elimination: BackwardElimination,
    candidates: Sequence[Sequence[int]],
    *,
    threshold: float,
    min_effect: float,
) -> list[Instability | None]:
    """Why each series has no stable level; None if it has one."""
    of_any_size = elimination.run(candidates, threshold, _edges(prepared, 0.0))
    columns = zip(prepared.work, of_any_size, prepared.scales, prepared.origin.tolist(), strict=True)
    return [instability(*each, min_effect) for each in columns]


def _edges(prepared: Prepared, min_effect: float) -> list[tuple[float, float]]:
    """For every series the smallest differences down and up of a large enough change."""
    edges = {scale: scale.smallest(min_effect) for scale in set(prepared.scales)}
    return [edges[scale] for scale in prepared.scales]


def _groups(series: Sequence[Series]) -> list[tuple[list[int], Prepared]]:
    """Groups of series with equal length, with or without errors; series too short for a change are left out."""
    alike: dict[tuple[int, bool], list[int]] = defaultdict(list)
    for at, one in enumerate(series):
        _check_lengths(one)
        if len(one.values) >= FEWEST_POINTS:
            alike[len(one.values), any(one.errors)].append(at)
        else:
            _check_finite(one)
    groups = []
    for (_, known), group in alike.items():
        values = np.array([series[at].values for at in group], dtype=np.float64)
        errors = np.array([series[at].errors for at in group], dtype=np.float64) if known else None
        if not np.isfinite(values).all() or (errors is not None and not (errors >= 0).all()):
            for at in group:
                _check_finite(series[at])
        groups.append((group, prepare(values, errors)))
    return groups


def _check_finite(series: Series) -> None:
    name = _name(series)
    check_finite(series.values, name)
    check_finite(series.errors, f"the errors of {name}")
    if any(error < 0 for error in series.errors):
        raise BadInputError(
            f"{name} has a standard error below 0", remedy="give 0 where the error is not known"
        )


def _check_lengths(series: Series) -> None:
    for what, values in (("errors", series.errors), ("subjects", series.subjects)):
        if values and len(values) != len(series.values):
            raise BadInputError(
                f"{_name(series)} has {len(series.values)} values and {len(values)} {what}",
                remedy="give one for every value, or leave them out",
            )


def _name(series: Series) -> str:
    return f"series '{series.metric}'" if series.metric else "the series"
