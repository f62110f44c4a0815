"""The pages of a static site: an index, and one page for each benchmark. Pure functions of series."""

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from anubis.judging.series_overview import SeriesOverview
from anubis.model.alert import Alert
from anubis.model.labels import slug
from anubis.model.points import Point
from anubis.publishing import parts
from anubis.publishing.of_benchmark import alerts_table, summary_of
from anubis.publishing.series_words import value_text, words_of
from anubis.reporting.charts import figure
from anubis.reporting.charts.data import Tone
from anubis.reporting.documents import html
from anubis.reporting.documents.document import (
    Block,
    Document,
    Section,
    Table,
)
from anubis.reporting.markup import short_subject

INDEX = "index.html"
#: Newest runs in the table of a benchmark.
RUNS = 1000
#: Pages load only the style sheet and the script of the site.
_POLICY = "default-src 'none'; style-src 'self'; script-src 'self'"


class Site:
    """The files of a site of some series and alerts, made at a time (UTC seconds)."""

    def __init__(
        self, overviews: Sequence[SeriesOverview], alerts: Sequence[Alert], *, made_s: float
    ) -> None:
        self._series: dict[str, list[SeriesOverview]] = defaultdict(list)
        self._alerts: dict[str, list[Alert]] = defaultdict(list)
        for one in overviews:
            self._series[one.benchmark].append(one)
        for alert in alerts:
            self._alerts[alert.benchmark].append(alert)
        self._made_s = made_s
        style, script = html.styles(), figure.scripts()
        self._assets = {
            f"assets/style-{_digest(style)}.css": style,
            f"assets/charts-{_digest(script)}.js": script,
        }

    @property
    def names(self) -> list[str]:
        """The paths of all files."""
        return [*self._assets, *map(page_of, self._series), INDEX]

    def files(self) -> Iterator[tuple[str, str]]:
        """Path and text of every file, the index last: what it links to then exists already."""
        style, script = self._assets
        yield from self._assets.items()
        for name, series in sorted(self._series.items()):
            document = _benchmark(name, series, self._alerts[name])
            yield page_of(name), _page(document, (style, script), folder="../", runs=_runs(series))
        alerts = [alert for each in self._alerts.values() for alert in each]
        yield INDEX, _page(_index(self._series, alerts, self._made_s), (style, script), folder="")


def page_of(benchmark: str) -> str:
    """The path of the page of a benchmark. The digest distinguishes names that are one file name."""
    return f"benchmarks/{slug(benchmark)[:80]}-{_digest(benchmark)}.html"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:10]


def _page(document: Document, assets: tuple[str, str], *, folder: str, runs: str = "") -> str:
    style, script = assets
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">'
        f'<link rel="stylesheet" href="{folder}{style}">'
    )
    home = f'<nav><a href="{folder}{INDEX}">All benchmarks</a></nav>' if folder else ""
    content = html.body(document, run_link="#run-", more=runs)
    return html.framed(
        document.title, f"{home}{content}", head=head, foot=f'<script src="{folder}{script}"></script>'
    )


def _index(
    series: Mapping[str, Sequence[SeriesOverview]], alerts: Sequence[Alert], made_s: float
) -> Document:
    every = [one for name in sorted(series) for one in series[name]]
    verdict, tone = summary_of(every)
    recent = [
        (one, one.verdict.changes[-1])
        for one in every
        if one.verdict.changes and words_of(one).tone in (Tone.WORSE, Tone.BETTER, Tone.CHANGED)
    ]
    return Document(
        title="Benchmarks",
        verdict=verdict,
        tone=tone,
        made_s=made_s,
        sections=(
            Section(title="Recent changes", blocks=(Block(table=parts.changes_table(recent)),)),
            Section(title="Open alerts", blocks=(Block(table=alerts_table(alerts)),)),
            Section(
                title="All series",
                blocks=(
                    Block(
                        table=Table(
                            columns=parts.SERIES_COLUMNS,
                            rows=tuple(parts.series_row(one, link=page_of(one.benchmark)) for one in every),
                        )
                    ),
                ),
            ),
        ),
    )


def _benchmark(name: str, overviews: Sequence[SeriesOverview], alerts: Sequence[Alert]) -> Document:
    verdict, tone = summary_of(overviews)
    changes = [(one, change) for one in overviews for change in one.verdict.changes]
    return Document(
        title=name,
        verdict=verdict,
        tone=tone,
        made_s=None,
        sections=(
            Section(title="Charts", blocks=tuple(parts.charts(overviews, overviews, alerts))),
            Section(title="Series", blocks=(Block(table=parts.series_table(overviews)),)),
            Section(title="Changes of level", blocks=(Block(table=parts.changes_table(changes)),)),
            Section(title="Open alerts", blocks=(Block(table=alerts_table(alerts)),)),
        ),
    )


def _runs(overviews: Sequence[SeriesOverview]) -> str:
    """A table of the runs, newest first, to whose rows the points of charts lead."""
    by_run: dict[str, dict[str, Point]] = defaultdict(dict)
    for one in overviews:
        for point in one.points:
            by_run[point.run_id][point.metric] = point
    metrics = list(dict.fromkeys(one.points[-1].metric for one in overviews))
    newest = sorted(by_run.items(), key=lambda item: (-_order(item[1]), item[0]))
    rows = [
        f'<tr id="run-{html.shown(run_id)}">{"".join(_run_cells(run_id, points, metrics))}</tr>'
        for run_id, points in newest[:RUNS]
    ]
    titles = "".join(
        f'<th scope="col"{_NUMBER if title in metrics else ""}>{html.shown(title)}</th>'
        for title in ("Subject", "Time", *metrics, "Run", "Machine")
    )
    left = f"<p>and {len(newest) - RUNS} older runs</p>" if len(newest) > RUNS else ""
    return (
        '<section><h2>Runs</h2><div class="wide" tabindex="0"><table>'
        f"<thead><tr>{titles}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{left}</section>"
    )


_NUMBER = ' class="number"'


def _order(points: Mapping[str, Point]) -> float:
    return next(iter(points.values())).order_s


def _run_cells(run_id: str, points: Mapping[str, Point], metrics: Sequence[str]) -> Iterator[str]:
    first = next(iter(points.values()))
    yield f"<td>{html.shown(short_subject(first.subject))}</td><td>{parts.when(first.order_s)}</td>"
    for metric in metrics:
        point = points.get(metric)
        text = "" if point is None else value_text(point.value, point.units)
        disturbed = " (disturbed)" if point is not None and point.contaminated else ""
        yield f"<td{_NUMBER}>{html.shown(text)}{disturbed}</td>"
    yield f"<td>{html.shown(run_id)}</td><td>{html.shown(first.fingerprint[:8])}</td>"
