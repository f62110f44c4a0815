"""Reports about a benchmark, and about an alert."""

from collections import Counter
from collections.abc import Iterator, Sequence

from anubis.analysis.quantities import effect_text, levels_text
from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.world import World
from anubis.judging.series_overview import SeriesOverview, series_overviews
from anubis.model.alert import Alert, AlertKind
from anubis.model.cause import Cause
from anubis.model.errors import NotFoundError
from anubis.model.run import Event
from anubis.model.status import Status
from anubis.publishing import parts
from anubis.publishing.series_words import words_of
from anubis.reporting import alert_text
from anubis.reporting.charts.data import Tone
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
from anubis.reporting.status_words import event_word

#: Newest failed runs that are listed.
FAILED = 20
TONES = {
    AlertKind.REGRESSION: Tone.WORSE,
    AlertKind.DRIFT: Tone.WORSE,
    AlertKind.THRESHOLD: Tone.WORSE,
    AlertKind.FAILURE: Tone.WORSE,
    AlertKind.IMPROVEMENT: Tone.BETTER,
    AlertKind.RECOVERY: Tone.BETTER,
    AlertKind.CHANGE: Tone.CHANGED,
}
FAILED_COLUMNS = (
    Column(title="Benchmark"),
    Column(title="Run"),
    Column(title="Submitted"),
    Column(title="Cause"),
    Column(title="Reason"),
    Column(title="Remedy"),
)


def benchmark_report(world: World, name: str) -> Document:
    """Every series of a benchmark with its chart, its changes, its open alerts and its failed runs. Raises NotFoundError."""
    overviews = series_overviews(world, benchmark=name)
    failed = world.runs.find(RunQuery(name=name, statuses=(Status.FAILED,), limit=FAILED))
    if not overviews and not world.runs.find(RunQuery(name=name, limit=1)):
        raise NotFoundError(f"no run has the benchmark {name!r}", remedy="see anubis series list")
    alerts = world.alerts.find(benchmark=name)
    verdict, tone = summary_of(overviews)
    changes = [(one, change) for one in overviews for change in reversed(one.verdict.changes)]
    return Document(
        title=f"Benchmark {name}",
        verdict=verdict,
        tone=tone,
        made_s=world.clock.now_s(),
        sections=(
            Section(title="Series", blocks=(Block(table=parts.series_table(overviews)),)),
            Section(title="Charts", blocks=tuple(parts.charts(overviews, overviews, alerts))),
            Section(title="Changes of level", blocks=(Block(table=parts.changes_table(changes)),)),
            Section(title="Open alerts", blocks=(Block(table=alerts_table(alerts)),)),
            Section(title="Failed runs", blocks=(Block(table=failed_table(failed)),)),
        ),
    )


def summary_of(overviews: Sequence[SeriesOverview]) -> tuple[str, Tone]:
    """How many series are worse, better and so on, and the tone of the worst of them."""
    found = [words_of(one) for one in overviews]
    if not found:
        return "no series has a point", Tone.UNSURE
    counts = Counter(each.word for each in found)
    order = ("worse", "changed", "unstable", "suspected", "better", "stable", "new")
    text = ", ".join(f"{counts[word]} {word}" for word in order if counts[word])
    tones = {each.tone for each in found}
    tone = next(
        (each for each in (Tone.WORSE, Tone.CHANGED, Tone.UNSURE, Tone.BETTER) if each in tones),
        Tone.NEUTRAL,
    )
    if len(found) == 1:
        return f"{found[0].word}: {found[0].sentence}", tone
    return f"{len(found)} series: {text}", tone


def failed_table(rows: Sequence[RunRow], empty: str = "none") -> Table:
    """A table of failed runs in their order."""
    return Table(columns=FAILED_COLUMNS, rows=tuple(map(_failed_row, rows)), empty=empty)


def _failed_row(row: RunRow) -> tuple[Cell, ...]:
    remedy = Cause(row.cause).remedy if row.cause in {each.value for each in Cause} else ""
    return (
        text_cell(row.name),
        text_cell(row.id),
        text_cell(parts.when(row.created_s)),
        text_cell(row.cause or "unknown", tone=Tone.WORSE),
        text_cell(row.reason),
        text_cell(remedy),
    )


def alerts_table(alerts: Sequence[Alert]) -> Table:
    """A table of the open alerts among these."""
    titles = ("Alert", "Kind", "State", "What", "Since")
    rows = tuple(
        (
            text_cell(alert.id),
            text_cell(alert.kind.value, tone=TONES[alert.kind]),
            text_cell(alert.state.value),
            text_cell(alert_text.title(alert, with_state=False)),
            text_cell(parts.when(alert.opened_s)),
        )
        for alert in alerts
        if alert_text.is_open(alert)
    )
    return Table(columns=tuple(Column(title=title) for title in titles), rows=rows)


def alert_report(world: World, alert_id: str) -> Document:
    """An alert with its rows, the charts of the series that it is about, and its history. Raises NotFoundError."""
    alert = world.alerts.get(alert_id)
    every = series_overviews(world, benchmark=alert.benchmark)
    keys = {(row.series_key, row.fingerprint, row.metric) for row in alert.rows}
    own = [one for one in every if one.judged.key in keys]
    steps = alert_text.decisions(alert)
    trail = world.alerts.trail(alert.id)
    return Document(
        title=f"Alert {alert.id}",
        verdict=alert_text.title(alert),
        tone=TONES[alert.kind] if alert_text.is_open(alert) else Tone.NEUTRAL,
        made_s=world.clock.now_s(),
        sections=(
            Section(title="Metrics", blocks=(Block(table=_rows_table(alert)), *_sentences(alert))),
            Section(title="Charts", blocks=tuple(parts.charts(own, every, [alert]))),
            Section(
                title="Next steps",
                blocks=(Block(facts=tuple(Fact(name=each.command, text=each.purpose) for each in steps)),),
            ),
            Section(title="History", blocks=(Block(table=_trail_table(trail)),)),
        ),
    )


def _sentences(alert: Alert) -> Iterator[Block]:
    for sentence in alert_text.sentences(alert):
        yield Block(text=sentence)


def _rows_table(alert: Alert) -> Table:
    columns = (
        Column(title="Metric"),
        Column(title="Kind"),
        Column(title="Levels"),
        Column(title="Effect", is_number=True),
        Column(title="Note"),
    )
    rows = tuple(
        (
            text_cell(row.metric),
            text_cell(row.kind.value, tone=TONES[row.kind]),
            text_cell(levels_text(row.before, row.after, row.units)),
            number_cell(row.effect, effect_text(row.effect, row.interval)),
            text_cell(row.note),
        )
        for row in alert.rows
    )
    return Table(columns=columns, rows=rows)


def _trail_table(trail: Sequence[Event]) -> Table:
    rows = tuple(
        (
            text_cell(parts.when(event.time_s)),
            text_cell(event_word(event.kind)),
            text_cell(event.message),
            text_cell(person(event.actor)),
        )
        for event in trail
    )
    return Table(columns=tuple(Column(title=title) for title in ("Time", "Event", "What", "Who")), rows=rows)
