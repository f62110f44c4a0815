"""Points of many series as columns: what a gate over thousands of metrics can afford to read."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

from anubis.contracts.points import SeriesRow
from anubis.model.points import PointBlock
from anubis.store.codes import BETTERS
from anubis.store.database import Database, Row, chunked
from anubis.store.rows import id_text, number
from anubis.store.text import clean

#: Texts of one list: longer lists are for numbers.
_MAX_TEXTS = 500
#: With more metrics than this, whole runs are read: to look each one up would take longer.
_FEW_METRICS = 100

#: Number of a metric -> its name and unit.
_Names = Mapping[int, tuple[str, str]]
#: Metrics (ascending), values, spreads, counts and directions of the points of a run.
_Columns = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class _Runs:
    """Runs in order, and what their points know from them."""

    rows: Sequence[Row]

    @cached_property
    def ids(self) -> tuple[str, ...]:
        return tuple(id_text(row[1]) for row in self.rows)

    @cached_property
    def orders_s(self) -> tuple[float, ...]:
        return tuple(row[2] for row in self.rows)

    @cached_property
    def subjects(self) -> tuple[str, ...]:
        return tuple(row[3] for row in self.rows)


def read_series(database: Database) -> list[SeriesRow]:
    """See ``Points.series``."""
    measured: dict[str, set[str]] = defaultdict(set)
    for key, metric in database.rows("measured_series"):
        measured[key].add(metric)
    found = [
        SeriesRow(
            series_key=key,
            benchmark=name,
            labels=json.loads(labels) if labels else {},
            metrics=tuple(sorted(measured[key])),
        )
        for key, name, labels in database.rows("named_series")
        if key in measured
    ]
    return sorted(found, key=lambda row: (row.benchmark, row.series_key))


def read_blocks(
    database: Database, series_keys: Sequence[str], metrics: Sequence[str], before_s: float, most: int
) -> list[PointBlock]:
    """See ``Points.histories``."""
    names = {
        metric: (name, units)
        for some in chunked(dict.fromkeys(map(clean, metrics)), _MAX_TEXTS)
        for name, units, metric in database.rows("find_metrics", names=some)
    }
    if not names:
        return []
    machines: dict[int, tuple[str, str]] = {}
    runs: dict[int, list[Row]] = defaultdict(list)
    for some in chunked(dict.fromkeys(map(clean, series_keys)), _MAX_TEXTS):
        for key, fingerprint, machine in database.rows("find_series", series_keys=some):
            machines[machine] = key, fingerprint
        for run in database.rows("measured_runs", series_keys=some, before_s=before_s, most=most):
            runs[run[4]].append(run)
    points = _points(database, [run[0] for own in runs.values() for run in own], names)
    return [
        block for machine, own in runs.items() for block in _blocks(own, points, names, machines[machine])
    ]


def _points(database: Database, runs: Sequence[int], names: _Names) -> dict[int, _Columns]:
    """The points of each run that has some of these metrics."""
    few = {"metrics": list(names)} if len(names) <= _FEW_METRICS else {}
    found: dict[int, _Columns] = {}
    for some in chunked(runs):
        rows = database.rows("metrics_of_runs" if few else "points_of_runs", numbers=some, **few)
        for run, own in groupby(rows, key=itemgetter(0)):
            found[run] = tuple(zip(*own, strict=True))[1:]
    return found


def _blocks(
    runs: Sequence[Row], points: Mapping[int, _Columns], names: _Names, machine: tuple[str, str]
) -> Iterator[PointBlock]:
    """The blocks of one series on one machine; ``runs`` are in order."""
    # Runs that measured the same are turned from rows to columns all at once.
    alike: dict[tuple[int, ...], list[Row]] = defaultdict(list)
    for run in runs:
        if run[0] in points:
            alike[points[run[0]][0]].append(run)
    parts: dict[int, list[tuple[_Runs, _Columns]]] = defaultdict(list)
    for metrics, rows in alike.items():
        own = _Runs(rows)
        tables = zip(*(points[run[0]][1:] for run in rows), strict=True)
        columns = [zip(*table, strict=True) for table in tables]
        for metric, *figures in zip(metrics, *columns, strict=True):
            if metric in names:
                parts[metric].append((own, figures))
    for metric, several in parts.items():
        yield _block(*(several[0] if len(several) == 1 else _merged(several)), names[metric], machine)


def _merged(parts: Sequence[tuple[_Runs, _Columns]]) -> tuple[_Runs, _Columns]:
    """The parts as one, its runs in order."""
    rows = [
        (run, figures)
        for runs, columns in parts
        for run, figures in zip(runs.rows, zip(*columns, strict=True), strict=True)
    ]
    rows.sort(key=lambda row: (row[0][2], row[0][0]))
    return _Runs([run for run, _ in rows]), list(zip(*(figures for _, figures in rows), strict=True))


def _block(runs: _Runs, figures: _Columns, metric: tuple[str, str], machine: tuple[str, str]) -> PointBlock:
    values, spreads, counts, betters = figures
    return PointBlock(
        series_key=machine[0],
        fingerprint=machine[1],
        metric=metric[0],
        units=metric[1],
        better=BETTERS[betters[-1]],
        run_ids=runs.ids,
        values=tuple(map(number, values)) if None in values else values,
        spreads=spreads,
        counts=counts,
        orders_s=runs.orders_s,
        subjects=runs.subjects,
    )
