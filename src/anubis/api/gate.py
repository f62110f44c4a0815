"""Reports of a gate."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from anubis.analysis.samples.multiplicity import mean_effect
from anubis.analysis.verdict_text import bound_text
from anubis.api.json_values import Json
from anubis.api.verdicts import verdict_from_json, verdict_to_json
from anubis.model.plain import from_plain
from anubis.model.verdict import Comparison, CrossedBound, FalseRate, Verdict
from anubis.reporting.gate_report import BenchmarkComparison, Report, title, verdicts, what_decides


def report_to_json(report: Report) -> Json:
    """The report; its mean is that of all verdicts."""
    mean = overall(report)
    return {
        "title": title(report),
        "mean_effect": mean.mean_effect,
        "mean_interval": mean.mean_interval,
        "mean_count": mean.mean_count,
        "to_decide": what_decides(report),
        "controls": asdict(report.controls) if report.controls else None,
        "weighings": [_benchmark_to_json(benchmark) for benchmark in report.comparisons],
    }


def report_from_json(plain: Mapping[str, Any]) -> Report:
    """The report; the means of single benchmarks are computed again from their verdicts."""
    controls = plain.get("controls")
    return Report(
        comparisons=tuple(map(_benchmark_from_json, plain["weighings"])),
        controls=from_plain(FalseRate, controls) if controls else None,
    )


def overall(report: Report) -> Comparison:
    """All verdicts as one comparison, the most severe first."""
    return _comparison(tuple(verdict for _, verdict in verdicts(report)))


def _benchmark_to_json(benchmark: BenchmarkComparison) -> Json:
    return {
        "benchmark": benchmark.benchmark,
        "baseline": benchmark.baseline,
        "baseline_subjects": benchmark.baseline_subjects,
        "contender": benchmark.contender,
        "failure": benchmark.failure,
        "note": benchmark.note,
        "crossed": [{**asdict(bound), "text": bound_text(bound)} for bound in benchmark.crossed],
        "disturbed_baseline": benchmark.disturbed_baseline,
        "disturbed_contender": benchmark.disturbed_contender,
        "verdicts": [
            verdict_to_json(verdict)
            for verdict in (benchmark.comparison.verdicts if benchmark.comparison else ())
        ],
    }


def _benchmark_from_json(plain: Mapping[str, Any]) -> BenchmarkComparison:
    judged = tuple(map(verdict_from_json, plain["verdicts"]))
    return BenchmarkComparison(
        benchmark=plain["benchmark"],
        baseline=plain["baseline"],
        baseline_subjects=plain.get("baseline_subjects", 0),
        contender=plain["contender"],
        comparison=_comparison(judged) if judged else None,
        failure=plain["failure"],
        note=plain["note"],
        crossed=tuple(from_plain(CrossedBound, bound) for bound in plain["crossed"]),
        disturbed_baseline=plain["disturbed_baseline"],
        disturbed_contender=plain["disturbed_contender"],
    )


def _comparison(judged: tuple[Verdict, ...]) -> Comparison:
    effect, interval, count = mean_effect(judged)
    return Comparison(verdicts=judged, mean_effect=effect, mean_interval=interval, mean_count=count)
