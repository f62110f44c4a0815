"""The comparison of two sets of runs: verdicts, warnings about them, and their text."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from anubis.analysis.quantities import effect_text
from anubis.analysis.verdict_text import next_step, render
from anubis.api.environments import differences_to_json
from anubis.api.json_values import Json
from anubis.api.verdicts import comparison_to_json
from anubis.cli import exit_codes, terminal
from anubis.cli.views import tables
from anubis.cli.views.plot import strips
from anubis.judging.environments import Difference, differences
from anubis.model.errors import BadInputError, NotFoundError
from anubis.model.points import OWN_METRICS, Point
from anubis.model.run import Run
from anubis.model.verdict import Comparison, Judgement, Sides, Verdict
from anubis.record.environment import RecordedEnvironment
from anubis.record.reading import Record
from anubis.reporting import name_suggestions

if TYPE_CHECKING:
    from anubis.client import Client

COLOURS = {
    Judgement.REGRESSED: "red",
    Judgement.IMPROVED: "green",
    Judgement.CHANGED: "yellow",
    Judgement.UNDECIDED: "cyan",
}
#: Maximum number of strips, so that verdicts stay visible.
MOST_STRIPS = 4
#: Runs of a side whose environments are compared, variables that are named, and characters of their values.
MOST_ENVIRONMENTS, MOST_DIFFERENCES, LONGEST_VALUES = 100, 8, 60


@dataclass(frozen=True, slots=True)
class Judged:
    """Two sets of runs and their comparison."""

    #: Run ids.
    baseline: Sequence[str]
    contender: Sequence[str]
    #: The points of both sides.
    old: Sequence[Point]
    new: Sequence[Point]
    comparison: Comparison
    #: The variables in which the environments of the sides differ.
    environment: Sequence[Difference] = ()
    #: Names of the benchmarks of both sides, if they have none in common and were not submitted together.
    benchmarks: tuple[Sequence[str], Sequence[str]] | None = None
    #: Runs of both sides whose warm-up of automatic length reached no steady state.
    not_steady: tuple[Sequence[str], Sequence[str]] = ((), ())


def judged(
    client: "Client",
    baseline: Sequence[str],
    contender: Sequence[str],
    *,
    min_effect: float = 0.02,
    metrics: Sequence[str] = (),
) -> Judged:
    """Compare two sets of runs, by id. Raises BadInputError or NotFoundError if they cannot be compared."""
    if both := set(baseline) & set(contender):
        raise BadInputError(
            f"run {min(both)} is on both sides", remedy="name each run on one side of the comparison only"
        )
    old, new = client.results.points(baseline), client.results.points(contender)
    common = {point.metric for point in old} & {point.metric for point in new}
    if missing := sorted(set(metrics) - common):
        raise NotFoundError(
            f"metric {missing[0]!r} was not measured on both sides",
            remedy=name_suggestions.remedy(missing[0], sorted(common), otherwise="see anubis results RUN"),
        )
    if not common:
        raise NotFoundError(
            "the two sides have no metric in common", remedy="see their metrics with anubis results RUN"
        )
    chosen = metrics or sorted(common - set(OWN_METRICS)) or sorted(common)
    comparison = client.gate.compare(baseline, contender, min_effect=min_effect, metrics=chosen)
    runs = [
        [client.runs.get(run_id) for run_id in side[:MOST_ENVIRONMENTS]] for side in (baseline, contender)
    ]
    environment = differences(*(_environments(client, side) for side in runs))
    return Judged(
        baseline,
        contender,
        old,
        new,
        comparison,
        environment,
        _different_benchmarks(*runs),
        (_not_steady(client, runs[0]), _not_steady(client, runs[1])),
    )


def show(result: Judged, *, plot: bool, about: str = "", mean: bool = False) -> None:
    """Print a line and the next step for each metric, and the runs as strips of dots.

    ``mean``: also the geometric mean of unlike metrics.
    """
    if about:
        terminal.line(terminal.style(about, bold=True))
    width = terminal.width()
    for at, verdict in enumerate(result.comparison.verdicts):
        if at:
            terminal.line()
        for line in verdict_lines(verdict, width):
            terminal.line(line)
        if plot and at < MOST_STRIPS:
            for line in strips(_values(result, verdict), width=width or 80):
                terminal.line(f"  {line}")
    if line := mean_line(result.comparison, unlike=mean):
        terminal.line(f"\n{line}")
    for text in _doubts(result):
        terminal.warn(text)


def verdict_lines(verdict: Verdict, width: int | None) -> Iterator[str]:
    """The verdict in one line, or in as many as the terminal needs; then the next step."""
    for line in in_parts(render(verdict), width):
        yield terminal.style(line, fg=COLOURS.get(verdict.judgement), bold=True)
    for line in tables.folded(next_step(verdict), width and width - 4):
        yield f"    {line}"


def in_parts(line: str, width: int | None) -> list[str]:
    """A line of parts with two spaces between them, broken between parts where it is too long."""
    lines: list[str] = []
    for part in line.split("  "):
        if lines and (width is None or len(lines[-1]) + 2 + len(part) <= width):
            lines[-1] += f"  {part}"
        else:
            lines.append(f"    {part}" if lines else part)
    return lines


def mean_line(comparison: Comparison, *, unlike: bool) -> str:
    """The geometric mean over several metrics; empty for one, and for unlike metrics unless ``unlike``."""
    if comparison.mean_effect is None or comparison.mean_count < 2:
        return ""
    if not unlike and len({(verdict.units, verdict.better) for verdict in comparison.verdicts}) > 1:
        return ""
    text = effect_text(comparison.mean_effect, comparison.mean_interval)
    has_direction = any(verdict.better != "none" for verdict in comparison.verdicts)
    what = "metrics" if len({verdict.metric for verdict in comparison.verdicts}) > 1 else "cells"
    return f"geometric mean of {comparison.mean_count} {what}{' (up is better)' if has_direction else ''}  {text}"


def as_json(result: Judged) -> Json:
    """The comparison and its exit status."""
    resource = comparison_to_json(result.comparison, baseline=result.baseline, contender=result.contender)
    resource["environment"] = differences_to_json(result.environment)
    disturbed = {
        "disturbed_baseline": len(_disturbed(result.old)),
        "disturbed_contender": len(_disturbed(result.new)),
    }
    not_steady = {
        "not_steady_baseline": len(result.not_steady[0]),
        "not_steady_contender": len(result.not_steady[1]),
    }
    resource["benchmarks"] = result.benchmarks and dict(
        zip(("baseline", "contender"), result.benchmarks, strict=True)
    )
    return {**resource, **disturbed, **not_steady, "exit_code": exit_code([result])}


def exit_code(results: Iterable[Judged]) -> int:
    """3 if a metric regressed, else 4 if one is undecided, else 0."""
    judgements = {verdict.judgement for result in results for verdict in result.comparison.verdicts}
    if Judgement.REGRESSED in judgements:
        return exit_codes.REGRESSION
    return exit_codes.UNDECIDED if Judgement.UNDECIDED in judgements else exit_codes.OK


def _values(result: Judged, verdict: Verdict) -> Sides:
    old, new = (
        tuple(point.value for point in side if point.metric == verdict.metric)
        for side in (result.old, result.new)
    )
    return Sides(metric=verdict.metric, units=verdict.units, baseline=old, contender=new)


def _different_benchmarks(
    old: Sequence[Run], new: Sequence[Run]
) -> tuple[Sequence[str], Sequence[str]] | None:
    """The names of both sides; None if they share one, or if the sides were submitted together to be compared."""
    families = [{run.family_id for run in side} - {None} for side in (old, new)]
    names = [sorted({run.descriptor.info.name for run in side}) for side in (old, new)]
    if families[0] & families[1] or set(names[0]) & set(names[1]):
        return None
    return names[0], names[1]


def _environments(client: "Client", runs: Sequence[Run]) -> list[RecordedEnvironment]:
    """The recorded environments of runs; the image of a container is a value too."""
    found = []
    for run in runs:
        if (environment := client.records.environment(run)) is not None:
            digest = Record(client.records.files(run)).image_digest
            found.append(environment.with_value("docker_image", digest) if digest else environment)
    return found


def _not_steady(client: "Client", runs: Sequence[Run]) -> list[str]:
    """The runs, by id, whose warm-up of automatic length reached no steady state."""
    automatic = [run for run in runs if run.descriptor.measure.warmups == "auto"]
    ended = [(run.id, Record(client.records.files(run)).warm_up) for run in automatic]
    return [run_id for run_id, warm_up in ended if warm_up is not None and not warm_up.is_steady]


def _differences(environment: Sequence[Difference]) -> str:
    """The names of the variables, with their values where the record keeps them and they are short."""
    texts = [_difference(each) for each in environment[:MOST_DIFFERENCES]]
    more = len(environment) - len(texts)
    return ", ".join(texts) + (f" and {more} more" if more else "")


def _difference(each: Difference) -> str:
    if each.baseline is None or each.contender is None:
        return each.name
    sides = [
        "/".join("unset" if value is None else value for value in side)
        for side in (each.baseline, each.contender)
    ]
    text = ", ".join(sides)
    return f"{each.name} ({text})" if len(text) <= LONGEST_VALUES else each.name


def _disturbed(points: Iterable[Point]) -> set[str]:
    """The runs during which the machine was disturbed."""
    return {point.run_id for point in points if point.contaminated}


def _doubts(result: Judged) -> Iterator[str]:
    """Reasons to doubt the verdicts."""
    everything = (*result.old, *result.new)
    if result.benchmarks:
        old, new = map(", ".join, result.benchmarks)
        yield f"the runs are of different benchmarks: {old} and {new}"
    if len({point.fingerprint for point in everything}) > 1:
        yield "the runs were made on different machines, so the verdicts do not depend on the code alone"
    if result.environment:
        yield f"the environment differs: {_differences(result.environment)}"
    if disturbed := _disturbed(everything):
        yield f"the machine was disturbed during {len(disturbed)} of the runs: see anubis show RUN"
    if not_steady := sum(map(len, result.not_steady)):
        yield f"no steady state in the warm-ups of {not_steady} of the runs: see anubis show RUN"
