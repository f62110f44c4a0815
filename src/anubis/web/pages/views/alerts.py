"""Alerts: the list for triage, and one alert with its evidence, its trail and the decisions about it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from fastapi import Form, Response

from anubis.api.alerts import alert_to_json, delivery_to_json
from anubis.api.runs import event_to_json
from anubis.judging.alert_triage import TriageAction
from anubis.late import late
from anubis.model.alert import SEVERITY_ORDER, Alert, AlertState
from anubis.model.delivery import redacted
from anubis.model.errors import BadInputError, NotFoundError
from anubis.reporting import alert_text
from anubis.reporting.charts.figure import series_figure
from anubis.web.pages import forms
from anubis.web.pages import visit as visits
from anubis.web.pages.parts.charts import safe
from anubis.web.pages.parts.formats import link
from anubis.web.pages.visit import Visit, Visiting
from anubis.web.service import service_of

if TYPE_CHECKING:
    from anubis.publishing import series_charts
else:  # numpy and scipy, which an idle service does not need
    series_charts = late("anubis.publishing.series_charts")

router = visits.router()

#: Alerts of a page, runs by which the series of an alert is judged for its chart, and days of muting that are offered.
_ROWS, _RUNS, _DAYS = 200, 200, (1, 7, 30)
_DAY_S = 86_400.0
#: Runs that confirm an alert.
_CONFIRMING = 3
#: Decision -> the state that it leads to: sent again, it has been made.
_STATES = {
    TriageAction.ACK: AlertState.ACKNOWLEDGED,
    TriageAction.ACCEPT: AlertState.ACCEPTED,
    TriageAction.MUTE: AlertState.MUTED,
    TriageAction.RESOLVE: AlertState.RESOLVED,
    TriageAction.REOPEN: AlertState.CONFIRMED,
}


@router.get("/alerts")
def alerts(*, visit: Visiting, show: str = "open", benchmark: str = "") -> Response:
    """Alerts, the worst first."""
    every = visit.client.alerts.find(benchmark=benchmark or None)
    still_open = [alert for alert in every if alert_text.is_open(alert)]
    muted = [alert for alert in every if alert.state is AlertState.MUTED]
    wanted = {"all": every, "muted": muted}.get(show, still_open)
    rows = sorted(wanted, key=_worst_first)[:_ROWS]
    return visit.page(
        "alerts.html",
        title=_title(still_open),
        plain=lambda: {"alerts": list(map(alert_to_json, rows))},
        alerts=rows,
        more=max(0, len(wanted) - _ROWS),
        titles={alert.id: alert_text.title(alert, with_state=False) for alert in rows},
        show=show,
        benchmark=benchmark,
        is_empty=not every,
    )


def _worst_first(alert: Alert) -> tuple[int, float, str]:
    size = max((abs(row.effect) for row in alert.rows), default=0.0)
    return SEVERITY_ORDER.index(alert.kind), -size, alert.id


def _title(found: Sequence[Alert]) -> str:
    if not found:
        return "No alert is open"
    bad = sum(map(alert_text.is_bad, found))
    return f"{len(found)} open alert{'s' * (len(found) != 1)}: {bad} for the worse"


@router.get("/alerts/{alert_id}")
def show(alert_id: str, visit: Visiting) -> Response:
    """One alert."""
    alert, events = visit.client.alerts.get(alert_id)
    lines, more = alert_text.lines(alert)
    return visit.page(
        "alert.html",
        title=alert_text.title(alert),
        plain=lambda: {
            "alert": alert_to_json(alert),
            "events": [{"run_id": event.run_id, **event_to_json(event)} for event in events],
            "deliveries": list(map(delivery_to_json, visit.client.alerts.deliveries(alert.id))),
        },
        alert=alert,
        lines=lines,
        more=more,
        sentences=alert_text.sentences(alert),
        events=events,
        deliveries=[(redacted(each.to), each) for each in visit.client.alerts.deliveries(alert.id)],
        actions=_actions(alert),
        days=_DAYS,
        figure=_figure(visit, alert),
        bisect=f"anubis bisect --alert {alert.id}" if alert.last_old and alert.first_new else "",
    )


def _actions(alert: Alert) -> list[tuple[str, str]]:
    """Decisions that the state allows and the texts of their buttons."""
    if alert_text.is_open(alert) or alert.state is AlertState.MUTED:
        found = [
            ("ack", "Acknowledge"),
            ("accept", "Accept as baseline"),
            ("mute", "Mute"),
            ("resolve", "Resolve"),
        ]
        return found[1:] if alert.state is AlertState.ACKNOWLEDGED else found
    return [("reopen", "Reopen")]


def _figure(visit: Visit, alert: Alert) -> object:
    """The chart of the series that changed most."""
    if not alert.rows:
        return ""
    worst = min(alert.rows, key=lambda row: (SEVERITY_ORDER.index(row.kind), -abs(row.effect)))
    key = worst.series_key, worst.fingerprint
    found = visit.client.series.find(benchmark=alert.benchmark, metric=worst.metric, newest=_RUNS)
    own = [one for one in found if (one.points[-1].series_key, one.points[-1].fingerprint) == key]
    return safe(series_figure(series_charts.chart_of(own[0]), link="/ui/runs/")) if own else ""


@router.post("/alerts/{alert_id}/decisions")
def decide(
    *,
    alert_id: str,
    visit: Visiting,
    decision: Annotated[TriageAction, Form()],
    why: Annotated[str, Form(max_length=2000)] = "",
    days: Annotated[int, Form(ge=1, le=3650)] = 7,
) -> Response:
    """Decide; the same decision sent again is the decision that was made."""
    alert, _ = visit.client.alerts.get(alert_id)
    until_s = visit.now_s + days * _DAY_S if decision is TriageAction.MUTE else None
    is_made = alert.state is _STATES[decision] and alert.why == why.strip() != ""
    if not is_made:
        visit.client.alerts.decide(alert.id, decision, why=why, until_s=until_s)
    return visit.to(f"/ui/alerts/{alert.id}")


@router.post("/alerts/{alert_id}/confirmation")
def confirm(alert_id: str, visit: Visiting, key: Annotated[str, Form(max_length=100)]) -> Response:
    """Repeat the first run of the new level, so that the series has more points of it."""
    alert, _ = visit.client.alerts.get(alert_id)

    def act() -> str:
        try:
            made = [visit.client.runs.replay(alert.run_id).run for _ in range(_CONFIRMING)]
        except NotFoundError as error:
            raise BadInputError(
                "the run of the alert was deleted, so it cannot be repeated",
                remedy=f"submit a run of {alert.benchmark}",
            ) from error
        finally:
            service_of(visit.request).wrote()
        return link("/ui/runs", benchmark=made[0].descriptor.info.name)

    return visit.to(forms.once(visit.person, key, act))
