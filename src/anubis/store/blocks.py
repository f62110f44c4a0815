"""Points of many series as columns: what a gate over thousands of metrics can afford to read."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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

_Names = Mapping[int, tuple[str, str]]


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
        number: (name, units)
        for some in chunked(dict.fromkeys(map(clean, metrics)), _MOST_TEXTS)
        for name, units, number in database.rows("find_metrics", names=some)
    }
    series = {
        number: (key, fingerprint)
        for some in chunked(dict.fromkeys(map(clean, series_keys)), _MOST_TEXTS)
        for key, fingerprint, number in database.rows("find_series", series_keys=some)
    }
    return [
        block
        for some in chunked(names)
        for keys in chunked(series)
        for block in _blocks(
            database.rows("histories", metrics=some, series=keys, before_s=before_s, most=most), names, series
        )
    ]


def _blocks(rows: Sequence[Row], names: _Names, series: _Names) -> Iterator[PointBlock]:
    ids: dict[bytes, str] = {}
    for (key, metric), group in groupby(rows, key=itemgetter(0, 1)):
        _, _, betters, runs, values, spreads, counts, orders_s, subjects = zip(*group, strict=True)
        yield PointBlock(
            series_key=series[key][0],
            fingerprint=series[key][1],
            metric=names[metric][0],
            units=names[metric][1],
            better=BETTERS[betters[-1]],
            run_ids=tuple(ids.get(run) or ids.setdefault(run, id_text(run)) for run in runs),
            values=tuple(map(number, values)),
            spreads=spreads,
            counts=counts,
            orders_s=orders_s,
            subjects=subjects,
        )
