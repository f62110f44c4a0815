"""The bounds of the descriptor in a gate: the median of the contender's runs against each of them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from anubis.analysis.changes.detection import judge_many
from anubis.analysis.samples.spread import ROBUST_FROM, median
from anubis.judging.baseline import Level
from anubis.judging.thresholds import RELATIVE, Reference, crossed_bounds
from anubis.model.metric import Metric
from anubis.model.series import Series
from anubis.model.verdict import CrossedBound


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedMetric:
    """A metric with bounds, its values in the contender's runs, and the level that relative bounds refer to."""

    metric: Metric
    #: One value per run, at least one, in ``units``.
    values: tuple[float, ...]
    units: str
    #: None: there is no baseline, and relative bounds are not checked.
    baseline: Level | None
    #: The level of the series, from which the noise is estimated; None: unknown.
    history: Level | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedBounds:
    """The outcome for the metrics of one benchmark."""

    crossed: tuple[CrossedBound, ...]
    #: Metrics whose ``sigma`` could not be checked, because the noise of their baseline is not known.
    without_noise: tuple[str, ...]

    @property
    def note(self) -> str:
        """Which bounds were not checked, and why; empty if all were."""
        if not self.without_noise:
            return ""
        names = ", ".join(self.without_noise)
        return f"sigma of {names} was not checked: it needs at least {ROBUST_FROM} earlier values"


def check_bounds(bounded: Iterable[BoundedMetric]) -> CheckedBounds:
    """Check the bounds of each metric. A bound is a rule about the median, without a test of significance."""
    metrics = list(bounded)
    noise = _noise_floors(metrics)
    crossed: list[CrossedBound] = []
    for each in metrics:
        references: dict[str, Reference] = {}
        if each.baseline is not None:
            level = median(sorted(each.baseline.values))
            reference = Reference(level=level, noise_floor=noise.get(each.metric.name))
            references = dict.fromkeys(RELATIVE, reference)
        crossed += crossed_bounds(each.metric, median(sorted(each.values)), each.units, references)
    without = [name for name, value in noise.items() if value is None]
    return CheckedBounds(crossed=tuple(crossed), without_noise=tuple(without))


def _noise_floors(metrics: Iterable[BoundedMetric]) -> Mapping[str, float | None]:
    """Metric with ``sigma`` and a baseline -> noise of one run, as in the verdict of the series; None if unknown."""
    sources: dict[str, tuple[float, ...]] = {}
    for each in metrics:
        if each.baseline is None or each.metric.threshold is None or each.metric.threshold.sigma is None:
            continue
        around = each.history.noise_values if each.history is not None else ()
        sources[each.metric.name] = around if len(around) >= ROBUST_FROM else each.baseline.values
    verdicts = judge_many([Series(values=values) for values in sources.values()])
    return {name: verdict.noise_floor for name, verdict in zip(sources, verdicts, strict=True)}
