"""Parts that several reports have."""

import time
from collections.abc import Iterable, Iterator, Sequence

from anubis.analysis.quantities import effect_between, levels_text, percent
from anubis.judging.series import subject_range
from anubis.judging.series_overview import SeriesOverview
from anubis.model.alert import Alert
from anubis.model.series import ChangePoint, ChangeState
from anubis.publishing.series_charts import chart_of, measured_together
from anubis.publishing.series_words import WORDS, value_text, words_of
from anubis.reporting.alert_text import ESTIMATOR
from anubis.reporting.charts.data import Tone
from anubis.reporting.documents.document import Block, Cell, Column, Table, number_cell, text_cell
from anubis.reporting.markup import short_subject

#: Values of a small line.
SPARK = 30
#: Most charts of a report.
MOST_CHARTS = 60

SERIES_COLUMNS = (
    Column(title="Benchmark"),
    Column(title="Metric"),
    Column(title="Machine"),
    Column(title="Now", is_number=True),
    Column(title="Unit", data_only=True),
    Column(title="Level", is_number=True),
    Column(title="Verdict"),
    Column(title="Why"),
    Column(title="Noise", is_number=True),
    Column(title="Points", is_number=True),
    Column(title="Last values"),
)
CHANGE_COLUMNS = (
    Column(title="Benchmark"),
    Column(title="Metric"),
    Column(title="Change"),
    Column(title="Last old"),
    Column(title="First new"),
    Column(title="Levels"),
    Column(title="Effect", is_number=True),
    Column(title="Noise", is_number=True),
)


def when(at_s: float | None) -> str:
    """A time in UTC, to the minute; empty if it is unknown or outside of the calendar."""
    if at_s is None or not 0 <= at_s < 253_402_300_800:
        return ""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(at_s))


def counted(count: int, noun: str) -> str:
    """A number and its noun."""
    return f"{count} {noun}{'s' * (count != 1)}"


def share(ratio: float | None) -> str:
    """A ratio in per cent; empty if it is unknown."""
    return "" if ratio is None else f"{percent(ratio)} %"


def series_row(one: SeriesOverview, *, link: str = "") -> tuple[Cell, ...]:
    """A series as a row of ``SERIES_COLUMNS``."""
    last, verdict, words = one.points[-1], one.verdict, words_of(one)
    return (
        text_cell(one.benchmark, link=link),
        text_cell(last.metric, link=link),
        text_cell(last.fingerprint[:8]),
        number_cell(last.value, value_text(last.value, last.units)),
        text_cell("" if last.units == "none" else last.units),
        number_cell(verdict.level, value_text(verdict.level, last.units)),
        text_cell(words.word, tone=words.tone),
        text_cell(words.sentence),
        number_cell(verdict.noise_floor, share(verdict.noise_floor)),
        number_cell(float(verdict.n), str(verdict.n)),
        Cell(spark=tuple(point.value for point in one.points[-SPARK:]), tone=words.tone),
    )


def series_table(overviews: Sequence[SeriesOverview], title: str = "") -> Table:
    """A table of series, worst first."""
    ordered = sorted(overviews, key=lambda one: (_ORDER.index(words_of(one).tone), one.benchmark))
    return Table(title=title, columns=SERIES_COLUMNS, rows=tuple(map(series_row, ordered)))


_ORDER = (Tone.WORSE, Tone.CHANGED, Tone.UNSURE, Tone.BETTER, Tone.NEUTRAL)


def change_row(one: SeriesOverview, change: ChangePoint) -> tuple[Cell, ...]:
    """A change of level as a row of ``CHANGE_COLUMNS``."""
    word, tone = WORDS[change.judgement]
    if change.state is ChangeState.SUSPECTED:
        word, tone = "suspected", Tone.UNSURE
    subjects = subject_range(one.points, change)
    effect = effect_between(change.before, change.after, change.effect, change.interval, ESTIMATOR)
    return (
        text_cell(one.benchmark),
        text_cell(one.points[-1].metric),
        text_cell(word, tone=tone),
        text_cell(short_subject(subjects.last_old)),
        text_cell(short_subject(subjects.first_new)),
        text_cell(levels_text(change.before, change.after, one.points[-1].units)),
        number_cell(change.effect, effect, tone=tone),
        number_cell(change.noise_floor, share(change.noise_floor)),
    )


def changes_table(
    changes: Iterable[tuple[SeriesOverview, ChangePoint]], title: str = "", empty: str = "none"
) -> Table:
    """A table of changes, largest first."""
    ordered = sorted(changes, key=lambda pair: -abs(pair[1].effect))
    rows = tuple(change_row(one, change) for one, change in ordered)
    return Table(title=title, columns=CHANGE_COLUMNS, rows=rows, empty=empty)


def charts(
    shown: Sequence[SeriesOverview], every: Sequence[SeriesOverview], alerts: Sequence[Alert]
) -> Iterator[Block]:
    """The charts of some series; ``every`` are all series of these benchmarks, by which gaps are known."""
    for one in shown[:MOST_CHARTS]:
        yield Block(series=chart_of(one, alerts=alerts, measured=measured_together(one, every)))
    if len(shown) > MOST_CHARTS:
        yield Block(
            text=f"{len(shown) - MOST_CHARTS} more series have no chart here; name a benchmark for its charts."
        )
