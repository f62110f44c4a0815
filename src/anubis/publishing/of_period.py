"""Reports about a period: what became better, worse and unstable, and what failed; and the averages of a day."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from anubis.analysis.quantities import level_text, percent
from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.world import World
from anubis.judging.series_overview import SeriesOverview, SeriesState, series_overviews
from anubis.model.cause import Cause
from anubis.model.labels import is_control
from anubis.model.points import OWN_METRICS
from anubis.model.series import ChangePoint
from anubis.model.status import Status
from anubis.model.verdict import Judgement
from anubis.publishing import parts
from anubis.publishing.request import ReportRequest
from anubis.publishing.series_words import words_of
from anubis.reporting.charts.data import Tone
from anubis.reporting.documents.document import (
    Block,
    Cell,
    Column,
    Document,
    Section,
    Table,
    number_cell,
    text_cell,
)

DAY_S = 86_400.0
#: Newest runs of a series by which it is judged.
JUDGED_RUNS = 1000
#: Metrics beside each other in the daily table; more continue in a further table.
WIDE = 10
_ALL = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Period:
    """What was measured in a period, in one group of benchmarks."""

    #: Runs that were submitted in it.
    runs: Sequence[RunRow]
    #: Series with such a run.
    series: Sequence[SeriesOverview]

    def changes(self, *judgements: Judgement) -> list[tuple[SeriesOverview, ChangePoint]]:
        """The confirmed changes whose first run belongs to the period."""
        ids = {run.id for run in self.runs}
        return [
            (one, change)
            for one in self.series
            for change in one.verdict.changes
            if change.judgement in judgements and one.points[change.index].run_id in ids
        ]

    def in_state(self, state: SeriesState) -> list[SeriesOverview]:
        """The series that are in a state now."""
        return [one for one in self.series if one.state is state]

    @property
    def failed(self) -> list[RunRow]:
        """The failed runs, newest first."""
        return [run for run in self.runs if run.status is Status.FAILED]


def period_report(world: World, request: ReportRequest) -> Document:
    """What changed and failed between two times, for each value of a label."""
    since_s, until_s = _bounds(world, request, 7 * DAY_S)
    period = _measured(world, since_s, until_s)
    groups = grouped(period, request.group_by)
    return Document(
        title=f"{parts.when(since_s)} to {parts.when(until_s)}",
        verdict=period_text(period),
        tone=_tone(period),
        made_s=world.clock.now_s(),
        sections=tuple(
            section
            for name, each in groups.items()
            for section in _sections(each, f"{request.group_by} {name}" if request.group_by else "")
        ),
    )


def _bounds(world: World, request: ReportRequest, default_s: float) -> tuple[float, float]:
    until_s = world.clock.now_s() if request.until_s is None else request.until_s
    return (until_s - default_s if request.since_s is None else request.since_s), until_s


def _measured(world: World, since_s: float, until_s: float) -> Period:
    rows = world.runs.find(RunQuery(since_s=since_s, until_s=until_s, limit=_ALL))
    runs = [row for row in rows if not is_control(row.labels)]
    names = {row.name for row in runs}
    ids = {row.id for row in runs}
    # most installations measure nearly all their benchmarks in a week, and judging all is one pass
    found = series_overviews(world, newest=JUDGED_RUNS)
    series = [
        one for one in found if one.benchmark in names and any(point.run_id in ids for point in one.points)
    ]
    return Period(runs=runs, series=series)


def grouped(period: Period, label: str) -> dict[str, Period]:
    """The period of each value of a label, by value; benchmarks without the label are the last group."""
    if not label:
        return {"": period}
    runs: dict[str, list[RunRow]] = defaultdict(list)
    series: dict[str, list[SeriesOverview]] = defaultdict(list)
    for run in period.runs:
        runs[run.labels.get(label, "")].append(run)
    for one in period.series:
        series[one.labels.get(label, "")].append(one)
    values = sorted(runs.keys() | series.keys(), key=lambda value: (not value, value))
    return {value or "none": Period(runs=runs[value], series=series[value]) for value in values}


def period_text(period: Period) -> str:
    """``2 worse, 1 better, 3 failed runs (of 120 runs)``."""
    counts = (
        (len(period.changes(Judgement.REGRESSED)), "worse"),
        (len(period.changes(Judgement.IMPROVED)), "better"),
        (len(period.changes(Judgement.CHANGED)), "changed"),
        (len(period.in_state(SeriesState.UNSTABLE)), "unstable"),
        (len(period.in_state(SeriesState.SUSPECTED)), "suspected"),
    )
    words = [f"{count} {word}" for count, word in counts if count]
    if period.failed:
        words.append(parts.counted(len(period.failed), "failed run"))
    runs = parts.counted(len(period.runs), "run")
    if not period.runs:
        return "nothing was measured"
    return f"{', '.join(words)} (of {runs})" if words else f"no change in {runs}"


def _tone(period: Period) -> Tone:
    if period.changes(Judgement.REGRESSED) or period.failed:
        return Tone.WORSE
    return Tone.BETTER if period.changes(Judgement.IMPROVED) else Tone.NEUTRAL


def _sections(period: Period, group: str) -> list[Section]:
    prefix = f"{group}: " if group else ""
    worse, better = period.changes(Judgement.REGRESSED), period.changes(Judgement.IMPROVED)
    changed = period.changes(Judgement.CHANGED)
    unstable = period.in_state(SeriesState.UNSTABLE)
    suspected = period.in_state(SeriesState.SUSPECTED)
    shown = list({id(one): one for one, _ in [*worse, *changed, *better]}.values())
    found = [
        Section(title=f"{prefix}worse", blocks=(Block(table=parts.changes_table(worse)),)),
        Section(title=f"{prefix}better", blocks=(Block(table=parts.changes_table(better)),)),
        Section(
            title=f"{prefix}changed, without a direction", blocks=(Block(table=parts.changes_table(changed)),)
        ),
        Section(title=f"{prefix}unstable", blocks=(Block(table=parts.series_table(unstable)),)),
        Section(title=f"{prefix}suspected", blocks=(Block(table=parts.series_table(suspected)),)),
        Section(title=f"{prefix}failed", blocks=(Block(table=_failures(period.failed)),)),
    ]
    found = [section for section in found if section.blocks[0].table and section.blocks[0].table.rows]
    if shown:
        found.append(Section(title=f"{prefix}charts", blocks=tuple(parts.charts(shown, period.series, ()))))
    if group and not found:
        found.append(Section(title=group, blocks=(Block(text=period_text(period)),)))
    return found


def _failures(failed: Sequence[RunRow]) -> Table:
    """Failed runs by benchmark and cause, most frequent first."""
    columns = (
        Column(title="Benchmark"),
        Column(title="Cause"),
        Column(title="Runs", is_number=True),
        Column(title="Newest run"),
        Column(title="Reason"),
        Column(title="Remedy"),
    )
    counts = Counter((run.name, run.cause or "unknown") for run in failed)
    newest = {(run.name, run.cause or "unknown"): run for run in reversed(failed)}
    rows = tuple(
        (
            text_cell(name),
            text_cell(cause, tone=Tone.WORSE),
            number_cell(float(count), str(count)),
            text_cell(newest[name, cause].id),
            text_cell(newest[name, cause].reason),
            text_cell(Cause(cause).remedy if cause in {each.value for each in Cause} else ""),
        )
        for (name, cause), count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    )
    return Table(columns=columns, rows=rows)


def daily_report(world: World, request: ReportRequest) -> Document:
    """The average of every metric over the last day, with the change since the day before, by benchmark."""
    since_s, until_s = _bounds(world, request, DAY_S)
    before = _averages(world, since_s - (until_s - since_s), since_s)
    period = _measured(world, since_s, until_s)
    averages = _averages(world, since_s, until_s)
    tones = {(one.benchmark, one.points[-1].metric): words_of(one).tone for one in period.series}
    sections = []
    for name, each in grouped(period, request.group_by).items():
        names = sorted({run.name for run in each.runs})
        tables = _daily_tables(names, averages, before, tones)
        title = f"{request.group_by} {name}" if request.group_by else "All benchmarks"
        sections.append(Section(title=title, blocks=tuple(Block(table=table) for table in tables)))
    return Document(
        title=f"Averages of {parts.when(since_s)} to {parts.when(until_s)}",
        verdict=period_text(period),
        tone=_tone(period),
        made_s=world.clock.now_s(),
        sections=tuple(sections),
    )


#: Benchmark -> (metric, unit) -> average.
_Averages = Mapping[str, Mapping[tuple[str, str], float]]


def _averages(world: World, since_s: float, until_s: float) -> _Averages:
    """The averages over the runs that succeeded between two times."""
    query = RunQuery(since_s=since_s, until_s=until_s, statuses=(Status.SUCCEEDED,), limit=_ALL)
    values: dict[str, dict[tuple[str, str], list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in world.runs.find(query):
        own = {metric: each for metric, each in row.values.items() if metric not in OWN_METRICS}
        if not is_control(row.labels):
            for metric, (value, units) in (own or row.values).items():
                values[row.name][metric, units].append(value)
    return {name: {key: fmean(each) for key, each in metrics.items()} for name, metrics in values.items()}


def _daily_tables(
    names: Sequence[str], averages: _Averages, before: _Averages, tones: Mapping[tuple[str, str], Tone]
) -> list[Table]:
    """One table for every ten metrics; a benchmark without a value has an empty cell."""
    metrics = sorted({key for name in names for key in averages.get(name, {})})
    tables = []
    for start in range(0, max(1, len(metrics)), WIDE):
        keys = metrics[start : start + WIDE]
        columns = [Column(title="Benchmark")] + [
            Column(title=f"{metric} [{units}]" if units != "none" else metric, is_number=True)
            for metric, units in keys
        ]
        rows = []
        for name in names:
            found = averages.get(name, {})
            cells = [
                _daily_cell(found.get(key), before.get(name, {}).get(key), tones.get((name, key[0])))
                for key in keys
            ]
            if any(cell.value is not None for cell in cells) or not start:
                rows.append((text_cell(name), *cells))
        title = f"metrics {start + 1} to {start + len(keys)}" if len(metrics) > WIDE else ""
        tables.append(
            Table(title=title, columns=tuple(columns), rows=tuple(rows), empty="nothing was measured")
        )
    return tables


def _daily_cell(value: float | None, before: float | None, tone: Tone | None) -> Cell:
    if value is None:
        return Cell()
    text = level_text(value)
    if before:
        text += f" ({percent((value - before) / abs(before), sign=True)} %)"
    return number_cell(value, text, tone=tone or Tone.NEUTRAL)
