"""Points of series, and the samples from which they are computed."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from anubis.model.points import Point, PointBlock, SampleBlock


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSummary:
    """Statistics of the samples of one metric of one run, without those of warm-ups."""

    metric: str
    units: str
    count: int
    last: float
    min: float
    max: float
    mean: float


#: Fingerprint, metric and unit: what distinguishes series with one key.
SeriesId = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRow:
    """A row in a listing of series: those with the same key."""

    series_key: str
    benchmark: str
    labels: dict[str, str]
    #: By name.
    metrics: tuple[str, ...]
    #: Number of stored points.
    points: Mapping[SeriesId, int]


class Points(Protocol):
    """Points of series, and the samples from which they are computed."""

    def series(self) -> Sequence[SeriesRow]:
        """All series that have points, by benchmark and series key."""
        ...

    def of(self, run_ids: Sequence[str]) -> Sequence[Point]:
        """All points of these runs."""
        ...

    def history(
        self, series_key: str, metric: str, fingerprint: str | None = None, *, limit: int = 10_000
    ) -> Sequence[Point]:
        """The points of one series, oldest first; at most the newest ``limit``."""
        ...

    def histories(
        self,
        series_keys: Sequence[str],
        metrics: Sequence[str],
        *,
        before_s: float = math.inf,
        most: int = 10_000,
    ) -> Sequence[PointBlock]:
        """The points of many series: one block for each series, machine, metric and unit that has points.

        Contains the newest ``most`` runs of each series and machine before ``before_s``, in the order of
        ``Point.order_s`` (``Run.order_s``, or else the time of submission).
        """
        ...

    def samples(self, run_id: str, metric: str, *, most: int | None = None) -> SampleBlock:
        """The samples of one metric, thinned to at most ``most`` (each bucket keeps its extremes).

        Raises NotFoundError.
        """
        ...

    def summaries(self, run_id: str) -> Sequence[MetricSummary]:
        """One row for each metric of the run that has samples outside warm-ups."""
        ...
