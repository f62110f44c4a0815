"""Series and their changes of level. Shares are ratios."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from anubis.api.json_values import Json
from anubis.api.points import point_from_json, point_to_json
from anubis.judging.series import subject_range
from anubis.judging.series_overview import SeriesOverview, SeriesState
from anubis.model.plain import from_plain
from anubis.model.series import ChangePoint, SeriesVerdict


def series_row_to_json(series: SeriesOverview) -> Json:
    """A series in a listing: its last change and no points."""
    point, verdict = series.points[-1], series.verdict
    changes = verdict.changes
    return {
        "benchmark": series.benchmark,
        "labels": dict(series.labels),
        "series_key": point.series_key,
        "fingerprint": point.fingerprint,
        "metric": point.metric,
        "units": point.units,
        "better": point.better,
        "n": verdict.n,
        "earlier": series.earlier,
        "level": verdict.level,
        "expected": verdict.expected,
        "noise_floor": verdict.noise_floor,
        "noise_between": series.noise_between,
        "noise_within": series.noise_within,
        "detectable": verdict.detectable,
        "state": series.state.value,
        "instability": None if verdict.instability is None else asdict(verdict.instability),
        "last_change": _change_to_json(series, changes[-1]) if changes else None,
        "suspected": None if verdict.suspected is None else _change_to_json(series, verdict.suspected),
    }


def series_to_json(series: SeriesOverview) -> Json:
    """A series with its changes, oldest first, and its points."""
    return {
        **series_row_to_json(series),
        "changes": [_change_to_json(series, change) for change in series.verdict.changes],
        "points": [point_to_json(point) for point in series.points],
    }


def series_from_json(plain: Mapping[str, Any]) -> SeriesOverview:
    """The series of ``series_to_json``."""
    return SeriesOverview(
        benchmark=plain["benchmark"],
        labels=plain["labels"],
        points=tuple(map(point_from_json, plain["points"])),
        verdict=from_plain(SeriesVerdict, plain),
        state=SeriesState(plain["state"]),
        noise_between=plain["noise_between"],
        noise_within=plain["noise_within"],
        earlier=plain.get("earlier", 0),
    )


def _change_to_json(series: SeriesOverview, change: ChangePoint) -> Json:
    subjects = asdict(subject_range(series.points, change))
    run_id = series.points[change.index].run_id
    return {**asdict(change), **subjects, "run_id": run_id}
