"""Comparisons: two sets of runs with verdicts, or several runs side by side."""

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Response

from anubis.analysis.quantities import common_scale, level_text
from anubis.analysis.verdict_text import next_step, render, verdict_effect
from anubis.api.verdicts import comparison_to_json
from anubis.late import late
from anubis.model.errors import BadInputError
from anubis.model.points import OWN_METRICS, Point
from anubis.model.run import Run
from anubis.model.verdict import Judgement, Verdict
from anubis.reporting.charts.data import DistributionChart, IntervalChart, IntervalRow, Side
from anubis.reporting.charts.distribution import distribution_svg
from anubis.reporting.charts.intervals import intervals_svg
from anubis.reporting.markup import one_line, short_subject
from anubis.web.pages import visit as visits
from anubis.web.pages.parts.charts import safe
from anubis.web.pages.visit import Visit, Visiting

if TYPE_CHECKING:
    from anubis.publishing import series_words
else:  # numpy and scipy, which an idle service does not need
    series_words = late("anubis.publishing.series_words")

router = visits.router()

#: Most runs of a comparison, rows of the interval plot, and metrics whose values are drawn.
_MOST, _INTERVALS, _DRAWN = 1000, 40, 6
#: From the judgement that matters most to a reader.
_RANK = (
    Judgement.REGRESSED,
    Judgement.IMPROVED,
    Judgement.CHANGED,
    Judgement.UNDECIDED,
    Judgement.UNCHANGED,
)
Refs = Annotated[list[str], Query(max_length=_MOST)]


@router.get("/compare")
def compare(
    *,
    visit: Visiting,
    a: Refs = [],  # noqa: B006  read only
    b: Refs = [],  # noqa: B006
    run: Refs = [],  # noqa: B006
    show: str = "",
) -> Response:
    """Runs A with runs B; of marked runs, those of the older subject with those of the newer one."""
    old, new = _runs(visit, a), _runs(visit, b)
    if run and not (old or new):
        marked = sorted(_runs(visit, run), key=lambda each: each.id)
        if len(marked) == 1:
            raise BadInputError("one run is marked", remedy="mark two or more runs, then compare them")
        groups = _groups(marked)
        if len(groups) != 2:
            return _side_by_side(visit, marked)
        old, new = groups
    if not (old and new):
        return visit.page(
            "compare.html",
            title="Compare runs",
            plain=lambda: {"baseline": a, "contender": b},
            comparison=None,
            a=" ".join(a),
            b=" ".join(b),
        )
    return _compared(visit, old, new, show)


def _runs(visit: Visit, refs: Sequence[str]) -> list[Run]:
    """The runs of references, which may be several in one text. Raises NotFoundError."""
    names = [name for text in refs for name in text.replace(",", " ").split()]
    if len(names) > _MOST:
        raise BadInputError(f"{len(names)} runs were named", remedy=f"compare at most {_MOST}")
    found = {found.id: found for found in map(visit.client.runs.get, names)}
    return list(found.values())


def _groups(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs of the same benchmark, subject and cell together; two runs are always two groups."""
    if len(runs) == 2:
        return [[runs[0]], [runs[1]]]
    groups: dict[tuple[str, str, str], list[Run]] = defaultdict(list)
    for each in runs:
        cell = {name: value for name, value in each.cell.items() if name != "round"}
        groups[each.descriptor.info.name, _subject(each), str(cell)].append(each)
    return list(groups.values())


def _subject(run: Run) -> str:
    return run.descriptor.subject.version or run.descriptor.subject.commit or ""


def _name(runs: Sequence[Run]) -> str:
    """What a side is: its subjects, or its benchmark."""
    subjects = list(dict.fromkeys(short_subject(_subject(run)) for run in runs if _subject(run)))
    names = list(dict.fromkeys(one_line(run.descriptor.info.name, 60) for run in runs))
    about = ", ".join(subjects[:3]) + (", …" if len(subjects) > 3 else "")
    return f"{', '.join(names[:2])}{f' @ {about}' if about else ''} ({len(runs)} run{'s' * (len(runs) != 1)})"


def _compared(visit: Visit, old: Sequence[Run], new: Sequence[Run], show: str) -> Response:
    sides = [[run.id for run in side] for side in (old, new)]
    comparison = visit.client.gate.compare(*sides)
    verdicts = sorted(comparison.verdicts, key=_matters)
    if show == "changed":
        verdicts = [each for each in verdicts if _RANK.index(each.judgement) < 3]
    points = visit.client.results.points([*sides[0], *sides[1]])
    return visit.page(
        "compare.html",
        title=_title(comparison.verdicts),
        plain=lambda: comparison_to_json(comparison, baseline=sides[0], contender=sides[1]),
        comparison=comparison,
        rows=[_row(each) for each in verdicts],
        names=[_name(old), _name(new)],
        sides=[old, new],
        a=" ".join(sides[0]),
        b=" ".join(sides[1]),
        show=show,
        intervals=safe(intervals_svg(_intervals(verdicts[:_INTERVALS]))),
        values=[safe(distribution_svg(_values(each, points, sides))) for each in verdicts[:_DRAWN]],
    )


def _matters(verdict: Verdict) -> tuple[bool, int, float, str]:
    size = abs(verdict.effect) if verdict.effect is not None else 0.0
    return verdict.metric in OWN_METRICS, _RANK.index(verdict.judgement), -size, verdict.metric


def _row(verdict: Verdict) -> dict[str, Any]:
    factor, unit = common_scale((verdict.baseline, verdict.contender), verdict.units)
    a, b = (
        "" if value is None else f"{level_text(value * factor)} {unit}".rstrip()
        for value in (verdict.baseline, verdict.contender)
    )
    word, tone = series_words.WORDS[verdict.judgement]
    return {
        "metric": verdict.metric,
        "better": verdict.better,
        "a": a,
        "b": b,
        "effect": verdict_effect(verdict),
        "word": word,
        "tone": tone.value,
        "line": render(verdict),
        "next": next_step(verdict),
    }


def _intervals(verdicts: Sequence[Verdict]) -> IntervalChart:
    rows = [
        IntervalRow(
            label=each.metric,
            effect=each.effect,
            interval=each.interval,
            tone=series_words.WORDS[each.judgement][1],
            verdict=series_words.WORDS[each.judgement][0],
        )
        for each in verdicts
    ]
    least = min((each.min_effect for each in verdicts), default=0.02)
    return IntervalChart(
        title="B relative to A, with 95 % intervals",
        description=_title(verdicts),
        rows=tuple(rows),
        min_effect=least,
    )


def _values(verdict: Verdict, points: Sequence[Point], sides: Sequence[Sequence[str]]) -> DistributionChart:
    """The value of every run of both sides."""
    values = {point.run_id: point.value for point in points if point.metric == verdict.metric}
    return DistributionChart(
        title=verdict.metric,
        description=render(verdict),
        units=verdict.units,
        better=verdict.better,
        sides=tuple(
            Side(label=name, values=tuple(values[run_id] for run_id in side if run_id in values))
            for name, side in zip("AB", sides, strict=True)
        ),
    )


def _title(verdicts: Sequence[Verdict]) -> str:
    counts = [
        (sum(each.judgement is judgement for each in verdicts), word)
        for judgement in _RANK
        for word, _ in [series_words.WORDS[judgement]]
    ]
    return (
        ", ".join(f"{count} {word}" for count, word in counts if count)
        or "No metric has values on both sides"
    )


def _side_by_side(visit: Visit, runs: Sequence[Run]) -> Response:
    """The values of several runs, relative to the first one."""
    points = visit.client.results.points([run.id for run in runs])
    of: dict[str, dict[str, Point]] = defaultdict(dict)
    for point in points:
        of[point.metric][point.run_id] = point
    metrics = sorted(of, key=lambda name: (name in OWN_METRICS, name))
    return visit.page(
        "compare_many.html",
        title=f"{len(runs)} runs side by side",
        plain=lambda: {
            "runs": [run.id for run in runs],
            "metrics": {
                name: {run_id: point.value for run_id, point in of[name].items()} for name in metrics
            },
        },
        runs=runs,
        subjects={run.id: _subject(run) for run in runs},
        metrics=[(name, of[name]) for name in metrics],
    )
