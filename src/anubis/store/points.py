"""Points of series, and their samples."""

import math
from collections.abc import Sequence
from itertools import product
from operator import attrgetter

from anubis.contracts.points import MetricSummary, SeriesRow
from anubis.model.points import Point, PointBlock, SampleBlock
from anubis.store.blocks import read_blocks, read_series
from anubis.store.rows import id_bytes, number, point_of
from anubis.store.samples import read_samples
from anubis.store.sql.database import Database, chunked
from anubis.store.text import clean


class StoredPoints:
    """``Points`` (see the contract) in a database."""

    def __init__(self, database: Database, within: Sequence[str] | None = None) -> None:
        """``within``: names of the projects whose series are listed; None: all."""
        self._within = within
        self._database = database

    def series(self) -> Sequence[SeriesRow]:
        return read_series(self._database, self._within)

    def of(self, run_ids: Sequence[str]) -> Sequence[Point]:
        """See the contract. Oldest run first, metrics by name."""
        ids = sorted(set(map(id_bytes, run_ids)))
        found = [point_of(row) for some in chunked(ids) for row in self._database.rows("points", ids=some)]
        # Sorted in Python, because the order of text in a database depends on its locale.
        order = {run_id: at for at, run_id in enumerate(dict.fromkeys(point.run_id for point in found))}
        return sorted(found, key=lambda point: (order[point.run_id], point.metric))

    def history(
        self, series_key: str, metric: str, fingerprint: str | None = None, *, limit: int = 10_000
    ) -> Sequence[Point]:
        """See the contract. When there are more than ``limit`` points, the newest ones."""
        machines = [
            row.id
            for row in self._database.rows("find_series", series_keys=[clean(series_key)])
            if fingerprint in {None, row.fingerprint}
        ]
        metrics = [row.id for row in self._database.rows("find_metrics", names=[clean(metric)])]
        rows = [
            row
            for machine, number in product(machines, metrics)
            for row in self._database.rows("history", series=machine, metric=number, most=limit)
        ]
        rows.sort(key=attrgetter("order_s", "run"))
        return [point_of(row) for row in rows[-limit:]]

    def histories(
        self,
        series_keys: Sequence[str],
        metrics: Sequence[str],
        *,
        before_s: float = math.inf,
        most: int = 10_000,
    ) -> Sequence[PointBlock]:
        return read_blocks(self._database, series_keys, metrics, before_s, most)

    def samples(self, run_id: str, metric: str, *, most: int | None = None) -> SampleBlock:
        return read_samples(self._database, run_id, metric, most)

    def summaries(self, run_id: str) -> Sequence[MetricSummary]:
        found = [
            MetricSummary(
                metric=row.name,
                units=row.units,
                count=row.count,
                last=number(row.last),
                min=number(row.min),
                max=number(row.max),
                mean=number(row.sum) / row.count,
            )
            for row in self._database.rows("summaries", run_id=id_bytes(run_id))
        ]
        return sorted(found, key=lambda summary: summary.metric)
