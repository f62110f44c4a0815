"""Reports about a run, and about a family of runs."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from statistics import fmean
from typing import Any

from anubis.contracts.records import RecordKey, RoleFiles
from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.world import World
from anubis.judging.series_overview import SeriesOverview, series_overviews
from anubis.model.errors import NotFoundError
from anubis.model.points import OWN_METRICS, Point, SampleBlock
from anubis.model.run import Event, Run
from anubis.model.status import Status
from anubis.publishing import parts
from anubis.publishing.series_charts import chart_of, measured_together
from anubis.publishing.series_words import value_text, words_of
from anubis.record.reading import Record
from anubis.reporting.charts.data import ChartPoint, HeatCell, HeatChart, SeriesChart, Tone
from anubis.reporting.documents.document import (
    Block,
    Cell,
    Column,
    Document,
    Fact,
    Section,
    Table,
    number_cell,
    text_cell,
)
from anubis.reporting.markup import person
from anubis.reporting.status_words import WORDS, event_word
from anubis.suites.sweep_actions import current_runs

#: Most samples and most metrics of a run that are drawn, and most heat maps of a family.
SAMPLES, METRICS, MAPS = 2000, 8, 6
_ALL = 1_000_000
_TONES = {Status.SUCCEEDED: Tone.NEUTRAL, Status.FAILED: Tone.WORSE}


def run_report(world: World, run_id: str) -> Document:
    """A run: its values beside the levels of their series, its samples, timeline, machine and descriptor. Raises NotFoundError."""
    run = world.runs.get(run_id)
    points = _shown(world.points.of([run.id]))
    every = series_overviews(world, benchmark=run.descriptor.info.name)
    own = [one for one in every if any(point.run_id == run.id for point in one.points)]
    alerts = world.alerts.find(benchmark=run.descriptor.info.name)
    cause = f" ({run.cause.value}: {run.cause.remedy})" if run.cause else ""
    reason = f": {run.reason}" if run.reason and run.status is not Status.SUCCEEDED else ""
    samples = list(_samples(world, run, points[:METRICS]))
    history = [
        Block(series=chart_of(one, alerts=alerts, measured=measured_together(one, every))) for one in own
    ]
    sections = (
        Section(title="Values", blocks=(Block(table=_values(points, own)),)),
        Section(title="Samples", blocks=tuple(_sample_charts(samples, points))),
        Section(title="History of its series", blocks=tuple(history)),
        Section(title="About the run", blocks=(Block(facts=tuple(_facts(run))),)),
        Section(title="Timeline", blocks=(Block(table=_timeline(world.events.read(run.id), run)),)),
        Section(title="Machine", blocks=(Block(facts=tuple(_machine(world, run))),)),
        Section(title="Descriptor", blocks=(Block(code=world.runs.text(run.id)),)),
    )
    return Document(
        title=f"Run {run.id} of {run.descriptor.info.name}",
        verdict=f"{WORDS[run.status]}{reason}{cause}",
        tone=_TONES.get(run.status, Tone.UNSURE),
        made_s=world.clock.now_s(),
        sections=tuple(section for section in sections if any(map(_has_content, section.blocks))),
    )


def _samples(world: World, run: Run, points: Sequence[Point]) -> Iterator[SampleBlock]:
    """The samples of these metrics; an imported run may have none."""
    for point in points:
        with suppress(NotFoundError):
            yield world.points.samples(run.id, point.metric, most=SAMPLES)


def _has_content(block: Block) -> bool:
    return block != Block()


def _shown(points: Sequence[Point]) -> list[Point]:
    """The metrics of the benchmark before those that the agent adds."""
    return sorted(points, key=lambda point: (point.metric in OWN_METRICS, point.metric))


def _values(points: Sequence[Point], own: Sequence[SeriesOverview]) -> Table:
    columns = (
        Column(title="Metric"),
        Column(title="Value", is_number=True),
        Column(title="Unit", data_only=True),
        Column(title="Better"),
        Column(title="Spread", is_number=True),
        Column(title="Repeats", is_number=True),
        Column(title="Level of its series", is_number=True),
        Column(title="Verdict of its series"),
    )
    by_metric = {one.points[-1].metric: one for one in own}
    return Table(
        columns=columns, rows=tuple(_value_row(point, by_metric.get(point.metric)) for point in points)
    )


def _value_row(point: Point, series: SeriesOverview | None) -> tuple[Cell, ...]:
    words = words_of(series) if series else None
    level = series.verdict.level if series else None
    return (
        text_cell(point.metric),
        number_cell(point.value, value_text(point.value, point.units)),
        text_cell("" if point.units == "none" else point.units),
        text_cell(point.better),
        number_cell(point.spread, value_text(point.spread, point.units)),
        number_cell(float(point.count), str(point.count)),
        number_cell(level, value_text(level, point.units)),
        text_cell(f"{words.word}: {words.sentence}", tone=words.tone) if words else Cell(),
    )


def _sample_charts(samples: Sequence[SampleBlock], points: Sequence[Point]) -> Iterator[Block]:
    """The samples of each metric that has several, in order of arrival; those of warm-ups are hollow."""
    better = {point.metric: point.better for point in points}
    for block in samples:
        if len(block.values) < 2:
            continue
        start_s = min(block.times_s)
        drawn = sorted(zip(block.times_s, block.values, block.repeats, strict=True), key=lambda one: one[0])
        yield Block(
            series=SeriesChart(
                title=block.metric,
                description=f"{len(block.values)} samples of the run; hollow: warm-up",
                units=block.units,
                better=better.get(block.metric, "none"),
                points=tuple(
                    ChartPoint(
                        x=at_s - start_s, value=value, label=f"{at_s - start_s:.3g} s", disturbed=repeat < 0
                    )
                    for at_s, value, repeat in drawn
                ),
            )
        )


def _facts(run: Run) -> Iterator[Fact]:
    took = "" if run.placed_s is None or run.ended_s is None else f"{run.ended_s - run.placed_s:.3g} s"
    cost = "" if run.cost is None or run.cost.amount is None else f"{run.cost.amount:.4g} {run.cost.currency}"
    labels = ", ".join(f"{name}={value}" for name, value in run.descriptor.info.labels.items())
    cell = ", ".join(f"{name}={value}" for name, value in run.cell.items())
    for name, text in (
        ("benchmark", run.descriptor.info.name),
        ("status", WORDS[run.status]),
        ("submitted", f"{parts.when(run.created_s)} by {person(run.owner)}"),
        ("took", took),
        ("engine", run.engine),
        ("machine type", run.descriptor.hardware.instance_type or ""),
        ("cost", cost),
        ("labels", labels),
        ("cell", cell),
        ("family", run.family_id or ""),
        ("digest", run.digest),
    ):
        if text:
            yield Fact(name=name, text=text)


def _timeline(events: Sequence[Event], run: Run) -> Table:
    columns = (Column(title="After", is_number=True), Column(title="Event"), Column(title="What"))
    rows = tuple(
        (
            number_cell(event.time_s - run.created_s, f"{event.time_s - run.created_s:.3f} s"),
            text_cell(event_word(event.kind)),
            text_cell(event.message),
        )
        for event in events
    )
    return Table(columns=columns, rows=rows)


def _machine(world: World, run: Run) -> Iterator[Fact]:
    """The facts of the machine that are one value."""
    facts = Record(RoleFiles(world.records, RecordKey(run.id, run.attempt))).facts
    for name, value in sorted(facts.items()):
        if isinstance(value, str | int | float) and value not in ("", None):
            yield Fact(name=name, text=str(value))


def family_report(world: World, family_id: str) -> Document:
    """The matrix of a family as heat maps, its best and failed cells, and every cell. Raises NotFoundError."""
    rows = cells_of(world, family_id)
    points = world.points.of([row.id for row in rows])
    better = {point.metric: (point.better, point.units) for point in points}
    metrics = [metric for metric in better if metric not in OWN_METRICS] or list(better)
    axes = _axes(rows)
    counts = {status: sum(row.status is status for row in rows) for status in Status}
    words = ", ".join(f"{count} {WORDS[status]}" for status, count in counts.items() if count)
    maps = [Block(heat=_heat(rows, axes, metric, *better[metric])) for metric in metrics[:MAPS]]
    best = [row for metric in metrics if (row := _best(rows, metric, better[metric][0]))]
    failed = [row for row in rows if row.status is Status.FAILED]
    sections = [
        Section(
            title="Best cells",
            blocks=(
                Block(
                    table=_cell_table(
                        list(dict.fromkeys(best_row.id for best_row in best)), rows, axes, metrics
                    )
                ),
            ),
        ),
        Section(title="Failed cells", blocks=(Block(table=_failed(failed, axes)),)),
        Section(
            title="All cells",
            blocks=(Block(table=_cell_table([row.id for row in rows], rows, axes, metrics)),),
        ),
    ]
    if len(axes) > 1:
        sections.insert(0, Section(title="Matrix", blocks=tuple(maps)))
    return Document(
        title=f"Family {family_id} of {rows[0].name}",
        verdict=f"{len(rows)} cells: {words}",
        tone=Tone.WORSE if failed else Tone.NEUTRAL,
        made_s=world.clock.now_s(),
        sections=tuple(sections),
    )


def cells_of(world: World, family_id: str) -> list[RunRow]:
    """The runs of a family; of a sweep, those of the current tries. Raises NotFoundError."""
    try:
        sweep = world.sweeps.get(family_id)
    except NotFoundError:
        rows = world.runs.find(RunQuery(family_id=family_id, limit=_ALL, newest_first=False))
        if not rows:
            raise NotFoundError(f"there is no family {family_id}", remedy="see anubis history") from None
        return list(rows)
    found = current_runs(world, sweep)
    if not found:
        raise NotFoundError(f"the sweep {sweep.id} has no run yet", remedy="wait for its first run")
    return [found[position] for position in sorted(found)]


def _axes(rows: Sequence[RunRow]) -> dict[str, list[str]]:
    """The axes with several values, those with the most values first."""
    found: dict[str, dict[str, None]] = {}
    for axis, value in chain.from_iterable(row.cell.items() for row in rows):
        found.setdefault(axis, {})[str(value)] = None
    wide = {axis: list(values) for axis, values in found.items() if len(values) > 1}
    return dict(sorted(wide.items(), key=lambda item: -len(item[1])))


def _heat(
    rows: Sequence[RunRow], axes: Mapping[str, list[str]], metric: str, better: str, units: str
) -> HeatChart:
    """The metric over the two axes with the most values; the mean over the others."""
    (down, across), others = list(axes)[:2], list(axes)[2:]
    values: dict[tuple[str, str], list[float]] = {}
    failures: dict[tuple[str, str], str] = {}
    for row in rows:
        place = str(row.cell.get(down, "")), str(row.cell.get(across, ""))
        if metric in row.values and math.isfinite(row.values[metric][0]):
            values.setdefault(place, []).append(row.values[metric][0])
        elif row.status is Status.FAILED:
            failures[place] = row.cause or "unknown"
    cells = [HeatCell(row=r, column=c, value=fmean(each)) for (r, c), each in values.items()]
    cells += [
        HeatCell(row=r, column=c, failure=why) for (r, c), why in failures.items() if (r, c) not in values
    ]
    over = f"mean over {', '.join(others)}; " if others else ""
    return HeatChart(
        title=metric,
        description=f"{over}{len(values)} of {len(axes[down]) * len(axes[across])} cells have a value",
        units=units,
        better=better,
        row_axis=down,
        column_axis=across,
        rows=tuple(axes[down]),
        columns=tuple(axes[across]),
        cells=tuple(cells),
    )


def _best(rows: Sequence[RunRow], metric: str, better: str) -> RunRow | None:
    """The run with the best value; None if the metric has no direction."""
    measured = [row for row in rows if metric in row.values and row.status is Status.SUCCEEDED]
    if not measured or better not in ("higher", "lower"):
        return None
    choose = max if better == "higher" else min
    return choose(measured, key=lambda row: row.values[metric][0])


def _cell_table(
    ids: Sequence[str], rows: Sequence[RunRow], axes: Mapping[str, list[str]], metrics: Sequence[str]
) -> Table:
    by_id = {row.id: row for row in rows}
    columns = [Column(title=title) for title in (*axes, "Run", "Status")]
    units = {metric: unit for row in rows for metric, (_, unit) in row.values.items()}
    columns += [Column(title=f"{metric} [{units[metric]}]", is_number=True) for metric in metrics]
    return Table(
        columns=tuple(columns), rows=tuple(_cell_row(by_id[run_id], axes, metrics) for run_id in ids)
    )


def _cell_row(row: RunRow, axes: Mapping[str, Any], metrics: Sequence[str]) -> tuple[Cell, ...]:
    tone = Tone.WORSE if row.status is Status.FAILED else Tone.NEUTRAL
    return (
        *(text_cell(str(row.cell.get(axis, ""))) for axis in axes),
        text_cell(row.id),
        text_cell(WORDS[row.status], tone=tone),
        *(
            number_cell(row.values[metric][0], value_text(*row.values[metric]))
            if metric in row.values
            else Cell()
            for metric in metrics
        ),
    )


def _failed(rows: Sequence[RunRow], axes: Mapping[str, Any]) -> Table:
    columns = [Column(title=title) for title in (*axes, "Run", "Cause", "Reason")]
    cells = tuple(
        (
            *(text_cell(str(row.cell.get(axis, ""))) for axis in axes),
            text_cell(row.id),
            text_cell(row.cause or "unknown", tone=Tone.WORSE),
            text_cell(row.reason),
        )
        for row in rows
    )
    return Table(columns=tuple(columns), rows=cells)
