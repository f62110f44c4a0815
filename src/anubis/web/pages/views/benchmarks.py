"""The list of series: what is stored about them, read for the rows of a page only, so that thousands open at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fastapi import Response

from anubis.analysis.quantities import percent
from anubis.contracts.points import SeriesRow
from anubis.judging.alert_rules import SeriesKey, key_of
from anubis.model.alert import SEVERITY_ORDER, Alert, AlertKind, AlertRow
from anubis.model.labels import is_control
from anubis.model.points import OWN_METRICS, PointBlock
from anubis.reporting import alert_text
from anubis.reporting.charts.data import Tone
from anubis.reporting.charts.sparkline import sparkline
from anubis.reporting.units import with_unit
from anubis.web.pages import visit as visits
from anubis.web.pages.parts.charts import safe
from anubis.web.pages.parts.formats import link
from anubis.web.pages.visit import Visiting

router = visits.router()

#: Rows of a page, and newest points of a sparkline.
ROWS, NEWEST = 50, 30
_TONES = {AlertKind.REGRESSION: Tone.WORSE, AlertKind.DRIFT: Tone.WORSE, AlertKind.IMPROVEMENT: Tone.BETTER}


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """One series: a metric of a benchmark on a kind of machine."""

    row: SeriesRow
    fingerprint: str
    metric: str
    units: str
    count: int
    #: Its open alert, and the row of it about this series.
    alert: Alert | None = None
    change: AlertRow | None = None

    @property
    def order(self) -> tuple[int, float, str, str, str]:
        """Series with an open alert first, the worst of them first."""
        if self.alert is None or self.change is None:
            return len(SEVERITY_ORDER), 0.0, self.row.benchmark, self.metric, self.fingerprint
        rank = SEVERITY_ORDER.index(self.change.kind)
        return rank, -abs(self.change.effect), self.row.benchmark, self.metric, self.fingerprint


@router.get("/benchmarks")
def benchmarks(
    *, visit: Visiting, find: str = "", metric: str = "", show: str = "", page: int = 1
) -> Response:
    """One page of series."""
    world = visit.installation.world
    every = _listed(world.points.series(), _open(visit))
    wanted = [
        each
        for each in every
        if find.casefold() in each.row.benchmark.casefold()
        and metric in {"", each.metric}
        and (show != "alerts" or each.alert is not None)
    ]
    wanted.sort(key=lambda each: each.order)
    start = max(0, page - 1) * ROWS
    rows = wanted[start : start + ROWS]
    keys = list(dict.fromkeys(each.row.series_key for each in rows))
    blocks = world.points.histories(keys, list({each.metric for each in rows}), most=NEWEST) if rows else []
    newest = {(block.series_key, block.fingerprint, block.metric, block.units): block for block in blocks}
    shown = [_shown(each, newest) for each in rows]
    filters = {"find": find, "metric": metric, "show": show}
    return visit.page(
        "benchmarks.html",
        title=_title(every),
        plain=lambda: {"series": [_to_json(each) for each in rows], "count": len(wanted)},
        rows=shown,
        count=len(wanted),
        filters=filters,
        is_filtered=any(filters.values()),
        metrics=sorted({each.metric for each in every}),
        before=link("/ui/benchmarks", **filters, page=page - 1) if page > 1 else "",
        after=link("/ui/benchmarks", **filters, page=page + 1) if len(wanted) > start + ROWS else "",
        first=start + 1,
        last=start + len(rows),
    )


def _open(visit: visits.Visit) -> Mapping[SeriesKey, tuple[Alert, AlertRow]]:
    found: dict[SeriesKey, tuple[Alert, AlertRow]] = {}
    for alert in visit.client.alerts.find():
        if alert_text.is_open(alert):
            for row in alert.rows:
                found.setdefault(key_of(row), (alert, row))
    return found


def _listed(rows: Sequence[SeriesRow], alerts: Mapping[SeriesKey, tuple[Alert, AlertRow]]) -> list[Listed]:
    """Every series without controls; metrics of the agent only where a benchmark has no others."""
    found = []
    for row in rows:
        if is_control(row.labels):
            continue
        own = all(metric in OWN_METRICS for metric in row.metrics)
        for (fingerprint, metric, units), count in row.points.items():
            if own or metric not in OWN_METRICS:
                alert, change = alerts.get((row.series_key, fingerprint, metric), (None, None))
                found.append(
                    Listed(
                        row=row,
                        fingerprint=fingerprint,
                        metric=metric,
                        units=units,
                        count=count,
                        alert=alert,
                        change=change,
                    )
                )
    return found


def _shown(each: Listed, newest: Mapping[tuple[str, str, str, str], PointBlock]) -> dict[str, object]:
    block = newest.get((each.row.series_key, each.fingerprint, each.metric, each.units))
    values = list(block.values) if block else []
    tone = _TONES.get(each.change.kind, Tone.UNSURE) if each.change else Tone.NEUTRAL
    return {
        "listed": each,
        "now": with_unit(values[-1], each.units) if values else "",
        "subject": block.subjects[-1] if block else "",
        "better": block.better if block else "none",
        "effect": f"{percent(each.change.effect, sign=True)} %" if each.change else "",
        "spark": safe(sparkline(values, title=f"{each.metric}, last {len(values)} runs", tone=tone)),
    }


def _to_json(each: Listed) -> dict[str, object]:
    return {
        "benchmark": each.row.benchmark,
        "labels": each.row.labels,
        "series_key": each.row.series_key,
        "fingerprint": each.fingerprint,
        "metric": each.metric,
        "units": each.units,
        "points": each.count,
        "alert": each.alert.id if each.alert else None,
        "effect": each.change.effect if each.change else None,
    }


def _title(every: Sequence[Listed]) -> str:
    if not every:
        return "No series yet"
    bad = sum(each.change is not None and each.change.kind not in _GOOD for each in every)
    names = len({each.row.benchmark for each in every})
    about = f"{len(every)} series of {names} benchmark{'s' * (names != 1)}"
    return f"{bad} of {about} got worse" if bad else f"{about}: none has an open alert for the worse"


_GOOD = {AlertKind.IMPROVEMENT, AlertKind.CHANGE, AlertKind.RECOVERY}
