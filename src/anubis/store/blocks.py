"""Points of many series as columns: what a gate over thousands of metrics can afford to read."""

import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from operator import itemgetter

from anubis.model.points import PointBlock
from anubis.pipeline.contracts import SeriesRow
from anubis.store.codes import BETTERS
from anubis.store.database import Database, Row, chunked
from anubis.store.rows import id_text, number
from anubis.store.text import clean

#: Texts of one list: longer lists are for numbers.
_MOST_TEXTS = 500


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
    keys = list(dict.fromkeys(map(clean, series_keys)))
    names = {
        metric: (name, units)
        for some in chunked(dict.fromkeys(map(clean, metrics)), _MOST_TEXTS)
        for name, units, metric in database.rows("find_metrics", names=some)
    }
    machines = {
        machine: (key, fingerprint)
        for some in chunked(keys, _MOST_TEXTS)
        for key, fingerprint, machine in database.rows("find_series", series_keys=some)
    }
    if not names or not machines:
        return []
    runs: list[Row] = []
    for some in chunked(keys, _MOST_TEXTS):
        runs += database.rows("measured_runs", series_keys=some, before_s=before_s, most=most)
    # Oldest first, across the lists that were asked for.
    ordered = {run[0]: run for run in sorted(runs, key=itemgetter(2, 0))}
    points = _points(database, list(ordered), list(names))
    apart: dict[tuple[int, int], list[Row]] = defaultdict(list)
    for run in ordered:
        for row in points[run]:
            apart[row[1:3]].append(row)
    about = cache(lambda numbers: _about([ordered[run] for run in numbers]))
    return [_block(rows, about, names[metric], machines[key]) for (key, metric), rows in apart.items()]


def _points(database: Database, runs: Sequence[int], metrics: Sequence[int]) -> dict[int, list[Row]]:
    """Run -> its points of these metrics."""
    found: dict[int, list[Row]] = {run: [] for run in runs}
    for some in chunked(runs):
        for few in chunked(metrics):
            rows = database.rows("points_of_runs", numbers=some, metrics=few)
            for run, own in groupby(rows, key=itemgetter(0)):
                found[run] += own
    return found


@dataclass(frozen=True, slots=True)
class _About:
    """What points know from their runs; the metrics of the same runs share one."""

    run_ids: tuple[str, ...]
    orders_s: tuple[float, ...]
    subjects: tuple[str, ...]


def _about(runs: Sequence[Row]) -> _About:
    _, ids, orders_s, subjects = zip(*runs, strict=True)
    return _About(tuple(map(id_text, ids)), orders_s, subjects)


def _block(
    rows: Sequence[Row],
    about: Callable[[tuple[int, ...]], _About],
    metric: tuple[str, str],
    machine: tuple[str, str],
) -> PointBlock:
    runs, _, _, values, spreads, counts, betters = zip(*rows, strict=True)
    own = about(runs)
    return PointBlock(
        series_key=machine[0],
        fingerprint=machine[1],
        metric=metric[0],
        units=metric[1],
        better=BETTERS[betters[-1]],
        run_ids=own.run_ids,
        values=tuple(map(number, values)) if None in values else values,
        spreads=spreads,
        counts=counts,
        orders_s=own.orders_s,
        subjects=own.subjects,
    )
