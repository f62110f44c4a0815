"""Points of many series as columns, for fast reading of thousands of metrics by a gate."""

import json
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from anubis.contracts.points import SeriesId, SeriesRow
from anubis.model.identity import key_in_project
from anubis.model.points import PointBlock
from anubis.store.rows import id_text, number, session_of
from anubis.store.sql.codes import BETTERS
from anubis.store.sql.database import Database, Row, chunked
from anubis.store.text import clean

#: Maximum number of texts in one list; lists of numbers may be longer.
_MAX_TEXTS = 500
#: With more metrics than this, all points of a run are read, which is faster than selecting metrics.
_FEW_METRICS = 100

#: Number of a metric -> its name and unit.
_Names = Mapping[int, tuple[str, str]]


class _Figures(NamedTuple):
    """Columns of the points of one metric, one value for each run."""

    #: None: not a number.
    values: tuple[Any, ...]
    spreads: tuple[float | None, ...]
    counts: tuple[int, ...]
    betters: tuple[int, ...]
    #: 1 for a disturbed machine, else 0.
    contaminated: tuple[int, ...]


@dataclass(frozen=True)
class _Runs:
    """Runs in order, with the columns that their points share."""

    rows: Sequence[Row]

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(id_text(row.id) for row in self.rows)

    @cached_property
    def orders_s(self) -> tuple[float, ...]:
        return tuple(row.order_s for row in self.rows)

    @cached_property
    def sessions(self) -> tuple[str, ...]:
        return tuple(session_of(row) for row in self.rows)

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        return tuple(row.subject for row in self.rows)


def read_series(database: Database, within: Sequence[str] | None) -> list[SeriesRow]:
    """See ``Points.series``; ``within``: names of projects, None: all."""
    projects = [row.name for row in database.rows("projects")] if within is None else within
    measured: dict[str, dict[SeriesId, int]] = defaultdict(dict)
    for row in database.rows("measured_series"):
        measured[row.series_key][row.fingerprint, row.metric, row.units] = row.points
    found = [
        SeriesRow(
            series_key=key,
            benchmark=row.name,
            labels=json.loads(row.labels) if row.labels else {},
            metrics=tuple(sorted({metric for _, metric, _ in measured[key]})),
            points=measured[key],
        )
        for row in database.rows("named_series")
        for key in (key_in_project(row.series_key, project) for project in projects)
        if key in measured
    ]
    return sorted(found, key=lambda row: (row.benchmark, row.series_key))


def read_blocks(
    database: Database, series_keys: Sequence[str], metrics: Sequence[str], before_s: float, most: int
) -> list[PointBlock]:
    """See ``Points.histories``."""
    names = {
        row.id: (row.name, row.units)
        for some in chunked(dict.fromkeys(map(clean, metrics)), _MAX_TEXTS)
        for row in database.rows("find_metrics", names=some)
    }
    if not names:
        return []
    machines: dict[int, tuple[str, str]] = {}
    runs: Mapping[int, list[Row]] = defaultdict(list)
    for some in chunked(dict.fromkeys(map(clean, series_keys)), _MAX_TEXTS):
        for row in database.rows("find_series", series_keys=some):
            machines[row.id] = row.series_key, row.fingerprint
        newest = {"before_s": before_s, "skipped": most - 1}
        for run in database.rows("measured_runs", series_keys=some, **newest):
            runs[run.series].append(run)
    runs = {machine: own[-most:] for machine, own in runs.items()}
    points = _points(database, [run.no for own in runs.values() for run in own], names)
    return [
        block for machine, own in runs.items() for block in _blocks(own, points, names, machines[machine])
    ]


def _points(database: Database, runs: Sequence[int], names: _Names) -> dict[int, Row]:
    """The points of each run that has some of these metrics, as columns."""
    few = {"metrics": list(names)} if len(names) <= _FEW_METRICS else {}
    found: dict[int, Row] = {}
    for some in chunked(runs):
        columns = database.columns("metrics_of_runs" if few else "points_of_runs", numbers=some, **few)
        start, end = 0, len(columns.run)
        while start < end:  # the points of a run follow one another
            after = bisect_right(columns.run, columns.run[start], start)
            found[columns.run[start]] = columns._make(column[start:after] for column in columns)
            start = after
    return found


def _blocks(
    runs: Sequence[Row], points: Mapping[int, Row], names: _Names, machine: tuple[str, str]
) -> Iterator[PointBlock]:
    """The blocks of one series on one machine; ``runs`` are in order."""
    # Runs with the same metrics are transposed together.
    alike: dict[tuple[int, ...], list[Row]] = defaultdict(list)
    for run in runs:
        if run.no in points:
            alike[points[run.no].metric].append(run)
    parts: dict[int, list[tuple[_Runs, _Figures]]] = defaultdict(list)
    for metrics, rows in alike.items():
        own = _Runs(rows)
        of_runs = [points[run.no] for run in rows]
        columns = (
            zip(*(getattr(each, name) for each in of_runs), strict=True)
            for name in ("value", "spread", "count", "better", "contaminated")
        )
        for metric, *figures in zip(metrics, *columns, strict=True):
            if metric in names:
                parts[metric].append((own, _Figures._make(figures)))
    for metric, several in parts.items():
        yield _block(*(several[0] if len(several) == 1 else _merged(several)), names[metric], machine)


def _merged(parts: Sequence[tuple[_Runs, _Figures]]) -> tuple[_Runs, _Figures]:
    """The parts merged into one, with runs in order."""
    rows = [
        (run, figures)
        for runs, columns in parts
        for run, figures in zip(runs.rows, zip(*columns, strict=True), strict=True)
    ]
    rows.sort(key=lambda row: (row[0].order_s, row[0].no))
    figures = _Figures._make(zip(*(figures for _, figures in rows), strict=True))
    return _Runs([run for run, _ in rows]), figures


def _block(runs: _Runs, figures: _Figures, metric: tuple[str, str], machine: tuple[str, str]) -> PointBlock:
    return PointBlock(
        series_key=machine[0],
        fingerprint=machine[1],
        metric=metric[0],
        units=metric[1],
        better=BETTERS[figures.betters[-1]],
        run_ids=runs.ids,
        values=tuple(map(number, figures.values)) if None in figures.values else figures.values,
        spreads=figures.spreads,
        counts=figures.counts,
        orders_s=runs.orders_s,
        subjects=runs.subjects,
        sessions=runs.sessions,
        contaminated=tuple(map(bool, figures.contaminated)),
    )
