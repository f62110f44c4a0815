"""Points in memory: what every real store has to agree with."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import inf, isnan

from anubis.contracts.points import MetricSummary, SeriesRow
from anubis.model.errors import NotFoundError
from anubis.model.points import Point, PointBlock, SampleBlock
from anubis.testing.builders import block_of
from anubis.testing.memory_state import MemoryState


class FakePoints:
    """``Points`` in memory."""

    def __init__(self, shelf: MemoryState) -> None:
        self._shelf = shelf

    def series(self) -> Sequence[SeriesRow]:
        infos = {run.series_key: run.descriptor.info for run in self._shelf.runs.values()}
        rows = []
        for key, info in infos.items():
            points = Counter(
                (one.fingerprint, one.metric, one.units)
                for one in self._shelf.measured()
                if one.series_key == key
            )
            if points:
                metrics = tuple(sorted({metric for _, metric, _ in points}))
                rows.append(
                    SeriesRow(
                        series_key=key,
                        benchmark=info.name,
                        labels=info.labels,
                        metrics=metrics,
                        points=points,
                    )
                )
        return sorted(rows, key=lambda row: (row.benchmark, row.series_key))

    def of(self, run_ids: Sequence[str]) -> Sequence[Point]:
        order = list(self._shelf.runs)
        points = [point for point in self._shelf.measured() if point.run_id in set(run_ids)]
        return sorted(points, key=lambda point: (order.index(point.run_id), point.metric))

    def history(
        self, series_key: str, metric: str, fingerprint: str | None = None, *, limit: int = 10_000
    ) -> Sequence[Point]:
        order = list(self._shelf.runs)
        points = [
            point
            for point in self._shelf.measured()
            if (point.series_key, point.metric) == (series_key, metric)
            and fingerprint in {None, point.fingerprint}
        ]
        return sorted(points, key=lambda point: (point.order_s, order.index(point.run_id)))[-limit:]

    def histories(
        self, series_keys: Sequence[str], metrics: Sequence[str], *, before_s: float = inf, most: int = 10_000
    ) -> Sequence[PointBlock]:
        order = {run_id: at for at, run_id in enumerate(self._shelf.runs)}
        keys, names = set(series_keys), set(metrics)
        runs: dict[tuple[str, str], set[tuple[float, int, str]]] = {}
        for point in self._shelf.measured():
            if point.series_key in keys and point.order_s < before_s:
                place = (point.order_s, order[point.run_id], point.run_id)
                runs.setdefault((point.series_key, point.fingerprint), set()).add(place)
        apart: dict[tuple[str, str, str, str], list[Point]] = {}
        measured = self._shelf.measured()
        for key, places in runs.items():
            for _, _, run_id in sorted(places)[-most:]:
                for point in [one for one in measured if one.run_id == run_id]:
                    if point.metric in names and (point.series_key, point.fingerprint) == key:
                        apart.setdefault((*key, point.metric, point.units), []).append(point)
        return [block_of(points) for points in apart.values()]

    def samples(self, run_id: str, metric: str, *, most: int | None = None) -> SampleBlock:
        block = self._shelf.samples.get((run_id, metric))
        if block is None:
            raise NotFoundError(f"run {run_id} has no samples of {metric!r}", remedy="look at its results")
        length = len(block.values)
        if most is None or length <= most:
            return block
        if most < 1:
            raise ValueError("most must be at least 1")
        kept: set[int] = set() if most > 1 else {length - 1}
        for bucket in range(most // 2):
            places = range(length * bucket // (most // 2), length * (bucket + 1) // (most // 2))
            kept |= {min(places, key=block.values.__getitem__), max(places, key=block.values.__getitem__)}
        return replace(
            block,
            values=type(block.values)("d", [block.values[i] for i in sorted(kept)]),
            times_s=type(block.times_s)("d", [block.times_s[i] for i in sorted(kept)]),
            steps=type(block.steps)("q", [block.steps[i] for i in sorted(kept)]),
            repeats=type(block.repeats)("i", [block.repeats[i] for i in sorted(kept)]),
        )

    def summaries(self, run_id: str) -> Sequence[MetricSummary]:
        return [
            _summary(block, values)
            for (owner_id, _), block in sorted(self._shelf.samples.items())
            if owner_id == run_id and (values := _measured(block))
        ]


def _measured(block: SampleBlock) -> list[float]:
    """The values outside warm-ups."""
    return [value for value, repeat in zip(block.values, block.repeats, strict=True) if repeat >= 0]


def _summary(block: SampleBlock, values: list[float]) -> MetricSummary:
    numbers = [value for value in values if not isnan(value)]
    return MetricSummary(
        metric=block.metric,
        units=block.units,
        count=len(values),
        last=values[-1],
        min=min(numbers, default=float("nan")),
        max=max(numbers, default=float("nan")),
        mean=sum(values) / len(values),
    )
