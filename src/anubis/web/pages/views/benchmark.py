"""One benchmark: the verdict about each of its series, their charts, its alerts and its newest runs."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import Query, Response

from anubis.analysis.quantities import percent
from anubis.contracts.runs import RunQuery
from anubis.late import late
from anubis.model.errors import NotFoundError
from anubis.reporting import alert_text
from anubis.reporting.charts.figure import series_figure
from anubis.reporting.charts.sparkline import sparkline
from anubis.web.pages import visit as visits
from anubis.web.pages.parts.charts import safe
from anubis.web.pages.visit import Visiting

if TYPE_CHECKING:
    from anubis.api import series as api_series
    from anubis.judging.series_overview import SeriesOverview
    from anubis.publishing import series_charts, series_words
else:  # numpy and scipy, which an idle service does not need
    api_series = late("anubis.api.series")
    series_charts = late("anubis.publishing.series_charts")
    series_words = late("anubis.publishing.series_words")

router = visits.router()

#: Runs by which the series are judged: choices and the usual one. Charts of a page without a metric.
RANGES, USUAL = (50, 200, 1000, 10_000), 200
_CHARTS, _RUNS, _NEWEST = 6, 20, 30
#: From the verdict that matters most to a reader.
_ORDER = ("worse", "suspected", "unstable", "changed", "better", "new", "stable")


@router.get("/benchmarks/{name:path}")
def show(
    *,
    name: str,
    visit: Visiting,
    metric: str = "",
    machine: str = "",
    range: Annotated[int, Query(ge=1, le=RANGES[-1])] = USUAL,  # noqa: A002  the name in the address
    by: str = "commit",
) -> Response:
    """The benchmark with this name."""
    every = visit.client.series.find(benchmark=name, newest=range)
    own = visit.client.series.find(benchmark=name, metric=metric, newest=range) if metric else every
    runs = visit.client.runs.find(RunQuery(name=name, limit=_RUNS))
    if not every and not runs:
        raise NotFoundError(f"there is no benchmark {name!r}", remedy="see /ui/benchmarks for all of them")
    chosen = [one for one in own if machine in {"", one.points[-1].fingerprint}]
    alerts = [each for each in visit.client.alerts.find(benchmark=name) if alert_text.is_open(each)]
    shown = sorted(
        (_row(one) for one in chosen), key=lambda row: (row["order"], row["one"].points[-1].metric)
    )
    accepted = visit.client.alerts.find(benchmark=name)
    figures = [
        safe(
            series_figure(
                series_charts.chart_of(
                    row["one"],
                    alerts=accepted,
                    measured=series_charts.measured_together(row["one"], every),
                    by_time=by == "time",
                ),
                link="/ui/runs/",
            )
        )
        for row in shown[:_CHARTS]
    ]
    return visit.page(
        "benchmark.html",
        title=_title(name, shown),
        plain=lambda: {"series": list(map(api_series.series_to_json, chosen))},
        name=name,
        rows=shown,
        figures=figures,
        more=max(0, len(shown) - _CHARTS),
        alerts=alerts,
        titles={alert.id: alert_text.title(alert, with_state=False) for alert in alerts},
        runs=runs,
        machines=sorted({one.points[-1].fingerprint for one in own}),
        chosen={"metric": metric, "machine": machine, "range": range, "by": by},
        ranges=RANGES,
        metrics=sorted({one.points[-1].metric for one in [*every, *own]}),
    )


def _row(one: "SeriesOverview") -> dict[str, Any]:
    words, last = series_words.words_of(one), one.points[-1]
    values = [point.value for point in one.points[-_NEWEST:]]
    return {
        "one": one,
        "words": words,
        "order": _ORDER.index(words.word) if words.word in _ORDER else len(_ORDER),
        "now": series_words.value_text(last.value, last.units),
        "level": series_words.value_text(one.verdict.level, last.units),
        "noise": "" if one.verdict.noise_floor is None else f"{percent(one.verdict.noise_floor)} %",
        "detects": "" if one.verdict.detectable is None else f"{percent(one.verdict.detectable)} %",
        "spark": safe(sparkline(values, title=f"{last.metric}, last {len(values)} runs", tone=words.tone)),
    }


def _title(name: str, rows: Sequence[dict[str, Any]]) -> str:
    """The verdict about the series that matters most."""
    if not rows:
        return f"{name}: no values"
    words, metric = rows[0]["words"], rows[0]["one"].points[-1].metric
    if words.word in {"stable", "new"}:
        kinds = {row["words"].word for row in rows}
        return f"{name}: {'stable' if kinds == {'stable'} else 'no change found'}"
    return f"{name}: {metric} {words.word}, {words.sentence}"
