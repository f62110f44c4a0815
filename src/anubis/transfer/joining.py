"""Imported runs of several files and of the database, joined by their ids.

Values of one run may come from several files. A value that is given twice is stored once; two different values of one
metric are a conflict.
"""

import math
from collections.abc import Iterable, Iterator

from anubis.contracts.points import Points
from anubis.model.points import Point
from anubis.model.run import Run
from anubis.transfer.history_findings import Findings
from anubis.transfer.measurements import History

#: Runs whose points are looked up in one query.
BATCH = 2_000


class Joined:
    """The runs and points of several files that do not contradict one another or the stored points."""

    def __init__(self, stored: Points | None, findings: Findings) -> None:
        """``stored``: the points of the database to which the files will be added; None: not known."""
        self._stored = stored
        self._findings = findings
        self._runs: dict[str, tuple[Run, str]] = {}
        self._points: dict[tuple[str, str], Point] = {}

    def add(self, history: History) -> None:
        """Add the content of one file. Conflicts are errors in the findings; the first value is kept."""
        for each in history.runs:
            self._runs.setdefault(each[0].id, each)
        stored = self._stored_points(run.id for run, _ in history.runs)
        series = {point.run_id: point.series_key for point in stored.values()}
        for point in history.points:
            key = point.run_id, point.metric
            before = self._points.get(key) or stored.get(key)
            if before is not None and differ(before, point):
                self._conflict(before, point, in_file=key in self._points)
            elif before is None and series.get(point.run_id, point.series_key) != point.series_key:
                self._findings.warn(
                    f"run {point.run_id} was measured here: {point.metric} of the file is not added to it",
                    "import the file into another home folder",
                )
            else:
                self._points.setdefault(key, point)

    @property
    def history(self) -> History:
        """All runs and points so far."""
        return History(list(self._runs.values()), list(self._points.values()))

    def _stored_points(self, run_ids: Iterable[str]) -> dict[tuple[str, str], Point]:
        if self._stored is None:
            return {}
        ids = list(dict.fromkeys(run_ids))
        batches = (ids[start : start + BATCH] for start in range(0, len(ids), BATCH))
        return {(point.run_id, point.metric): point for some in batches for point in self._stored.of(some)}

    def _conflict(self, before: Point, point: Point, *, in_file: bool) -> None:
        name = self._runs[point.run_id][0].descriptor.info.name
        subject = f" of {point.subject}" if point.subject else ""
        other = "an earlier file" if in_file else f"the stored run {point.run_id}"
        self._findings.error(
            f'"{name}"{subject} has {point.metric} = {_shown(point)} here, but {_shown(before)} in {other}',
            "keep the other value with --partial" + ("" if in_file else ", or purge the stored run first"),
        )


def differ(one: Point, other: Point) -> bool:
    """Whether two points of one run and metric have different values; digits beyond those of float64 are ignored."""
    return one.units != other.units or not math.isclose(one.value, other.value, rel_tol=1e-12)


def missing(points: Iterable[Point], stored: Iterable[Point]) -> Iterator[Point]:
    """The points of stored runs that are not stored, in the same series as those that are."""
    known = {(point.run_id, point.metric): point for point in stored}
    series = {point.run_id: point.series_key for point in known.values()}
    for point in points:
        if series.get(point.run_id) == point.series_key and (point.run_id, point.metric) not in known:
            yield point


def _shown(point: Point) -> str:
    return f"{point.value!r}" if point.units == "none" else f"{point.value!r} {point.units}"
