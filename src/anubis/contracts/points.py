"""Points of series, and the samples behind them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from anubis.model.points import Point, PointBlock, SampleBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """What is known about one metric of one run without reading its samples."""

    metric: str
    units: str
    count: int
    last: float
    min: float
    max: float
    mean: float


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRow:
    """What a listing of series shows of those that share a key."""

    series_key: str
    benchmark: str
    labels: dict[str, str]
    #: By name.
    metrics: tuple[str, ...]


class Points(Protocol):
    """Points of series, and the samples behind them."""

    def series(self) -> Sequence[SeriesRow]:
        """Everything that has points, by benchmark and series key."""
        ...

    def of(self, run_ids: Sequence[str]) -> Sequence[Point]:
        """All points of these runs."""
        ...

    def history(
        self, series_key: str, metric: str, fingerprint: str | None = None, *, limit: int = 10_000
    ) -> Sequence[Point]:
        """One series, oldest first; when there are more than ``limit`` points, the newest of them."""
        ...

    def histories(
        self,
        series_keys: Sequence[str],
        metrics: Sequence[str],
        *,
        before_s: float = math.inf,
        most: int = 10_000,
    ) -> Sequence[PointBlock]:
        """Many series at once: a block for each series, machine, metric and unit that has points.

        They are those of the newest ``most`` runs of each series and machine among the runs before ``before_s``, in
        the order of ``Point.order_s`` (``Run.order_s``, else when it was submitted).
        """
        ...

    def samples(self, run_id: str, metric: str, *, most: int | None = None) -> SampleBlock:
        """The samples of one metric, thinned to at most ``most`` (each bucket keeps its extremes); NotFoundError."""
        ...

    def summaries(self, run_id: str) -> Sequence[MetricSummary]:
        """One row for each metric of the run."""
        ...
