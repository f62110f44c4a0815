"""Computes the points of a run from its samples: one value per metric, with spread and count over the repeats."""

import statistics
from array import array
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from anubis.model.metric import Better, Metric, Summary
from anubis.model.points import Point, SampleBlock
from anubis.model.run import Run
from anubis.record.units import NO_UNITS, conflict, ratio


def percentile(values: Sequence[float], share: float) -> float:
    """Linear interpolation between order statistics (type 7 of Hyndman & Fan 1996, The American Statistician 50:361)."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (place - below) * (ordered[above] - ordered[below])


SUMMARIES: Mapping[Summary, Callable[[Sequence[float]], float]] = {
    Summary.LAST: lambda values: values[-1],
    Summary.FIRST: lambda values: values[0],
    Summary.MEAN: statistics.fmean,
    Summary.MEDIAN: lambda values: percentile(values, 0.5),
    Summary.MIN: min,
    Summary.MAX: max,
    Summary.SUM: lambda values: float(sum(values)),
    Summary.P50: lambda values: percentile(values, 0.5),
    Summary.P90: lambda values: percentile(values, 0.9),
    Summary.P99: lambda values: percentile(values, 0.99),
    Summary.COUNT: lambda values: float(len(values)),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the agent measured about one execution, in addition to its samples."""

    repeat: int
    wall_s: float
    cpu_s: float
    #: Peak memory of its largest process; None if the machine cannot measure it.
    peak_process_bytes: float | None
    #: Largest sampled memory of all its processes together; None without telemetry.
    peak_tree_bytes: float | None = None
    #: Energy of the processors and of the accelerators; None: unknown.
    cpu_energy_j: float | None = None
    gpu_energy_j: float | None = None
    #: Descriptions of what disturbed the machine during the execution.
    disturbances: tuple[str, ...] = ()


def points_of(
    run: Run,
    blocks: Sequence[SampleBlock],
    measured: Sequence[Measured],
    fingerprint: str,
    *,
    reduced: Collection[str] = (),
) -> list[Point]:
    """The points of a run: declared metrics, other emitted metrics, then those that the agent measures.

    A metric's value is the median over repeats of each repeat's summary; its spread their standard deviation.
    Only repeats in ``measured`` count; it contains no warm-ups and no voided repeats. The samples of metrics in
    ``reduced`` are summarised already, over the ranks.
    """
    declared = {
        metric.name: replace(metric, summary=Summary.LAST) if metric.name in reduced else metric
        for metric in run.descriptor.metrics
    }
    kept = {execution.repeat for execution in measured}
    metric_values = [
        (
            declared.get(block.metric, Metric(name=block.metric, units=block.units)),
            _per_repeat(block, kept, declared),
        )
        for block in blocks
    ]
    known = {metric.name for metric, _ in metric_values}
    ours = [*_agent_metrics(measured), *_energy_per_work(metric_values, measured)]
    metric_values += [(metric, values) for metric, values in ours if metric.name not in known]
    contaminated = any(execution.disturbances for execution in measured)
    subject = run.descriptor.subject
    return [
        Point(
            run_id=run.id,
            series_key=run.series_key,
            fingerprint=fingerprint,
            metric=metric.name,
            units=metric.units,
            value=statistics.median(values),
            spread=statistics.stdev(values) if len(values) > 1 else None,
            count=len(values),
            better=metric.better,
            order_s=run.created_s if run.order_s is None else run.order_s,
            subject=subject.commit or subject.version or "",
            contaminated=contaminated,
        )
        for metric, values in metric_values
        if values
    ]


def in_declared_units(
    declared: Sequence[Metric], blocks: Sequence[SampleBlock]
) -> tuple[list[SampleBlock], list[str]]:
    """The samples in the declared units of their metrics, and what cannot be converted, as sentences."""
    units = {metric.name: metric.units for metric in declared if metric.units != NO_UNITS}
    converted, conflicts = [], []
    for block in blocks:
        to = units.get(block.metric, block.units)
        fraction = (1, 1) if block.units == NO_UNITS else ratio(block.units, to)
        if fraction is None:
            conflicts.append(conflict(block.metric, to, block.units))
        elif fraction != (1, 1):
            above, below = fraction
            values = array("d", [value * above / below for value in block.values])
            block = replace(block, units=to, values=values)  # noqa: PLW2901
        converted.append(block)
    return converted, conflicts


def _per_repeat(block: SampleBlock, kept: set[int], declared: Mapping[str, Metric]) -> list[float]:
    summary = declared[block.metric].summary if block.metric in declared else Summary.LAST
    by_repeat: dict[int, list[float]] = defaultdict(list)
    for repeat, value in zip(block.repeats, block.values, strict=True):
        if repeat in kept:
            by_repeat[repeat].append(value)
    return [SUMMARIES[summary](values) for _, values in sorted(by_repeat.items())]


def _agent_metrics(measured: Sequence[Measured]) -> list[tuple[Metric, list[float]]]:
    """The metrics of the agent.

    The peak memory is that of the process tree, and never less than that of its largest process. If the tree of an
    execution is unknown, it is that of the largest process in all of them, because their values are summarised together.
    """
    processes = [one.peak_process_bytes for one in measured if one.peak_process_bytes is not None]
    trees = [
        max(one.peak_tree_bytes, one.peak_process_bytes or 0.0)
        for one in measured
        if one.peak_tree_bytes is not None
    ]
    is_complete = len(trees) == len(measured)
    lower = Better.LOWER
    return [
        (Metric(name="wall_time", units="s", better=lower), [execution.wall_s for execution in measured]),
        (Metric(name="cpu_time", units="s", better=lower), [execution.cpu_s for execution in measured]),
        (Metric(name="peak_memory", units="bytes", better=lower), trees if is_complete else processes),
        (Metric(name="peak_process_memory", units="bytes", better=lower), processes),
        (Metric(name="cpu_energy", units="J", better=lower), _known(measured, "cpu_energy_j")),
        (Metric(name="gpu_energy", units="J", better=lower), _known(measured, "gpu_energy_j")),
    ]


def _known(measured: Sequence[Measured], name: str) -> list[float]:
    """The energy of each execution; empty unless it is known for all of them."""
    values = [getattr(execution, name) for execution in measured]
    return [] if None in values else values


def _energy_per_work(
    metric_values: Sequence[tuple[Metric, list[float]]], measured: Sequence[Measured]
) -> Iterator[tuple[Metric, list[float]]]:
    """The energy per unit of work: mean power over the first rate (a unit per second) of which more is better."""
    rates = [
        (metric, values)
        for metric, values in metric_values
        if metric.units.endswith("/s") and metric.better is Better.HIGHER and len(values) == len(measured)
    ]
    if not rates or min(rates[0][1], default=0.0) <= 0:
        return
    work = rates[0][0].units.removesuffix("/s")
    units = "J" if work == "1" else f"J/{work}"
    for name in ("cpu_energy", "gpu_energy"):
        values = [
            joules / one.wall_s / rate
            for joules, one, rate in zip(_known(measured, f"{name}_j"), measured, rates[0][1], strict=False)
            if one.wall_s > 0
        ]
        yield Metric(name=f"{name}_per_work", units=units, better=Better.LOWER), values
