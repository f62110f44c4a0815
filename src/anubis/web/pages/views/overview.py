"""The overview: what changed since the last visit."""

from fastapi import Request, Response

from anubis.api.alerts import alert_to_json
from anubis.api.runs import row_to_json
from anubis.contracts.runs import RunQuery
from anubis.model.alert import SEVERITY_ORDER, Alert
from anubis.model.status import Status
from anubis.reporting import alert_text
from anubis.web.pages import visit as visits
from anubis.web.pages.visit import Visiting

router = visits.router()

#: Cookie with the time of the last visit and of the one before, UTC seconds.
COOKIE = "anubis-looked"
#: Visits without a longer pause between them are one visit, seconds.
PAUSE_S = 1800.0
_FIRST_S = 86_400.0
_SHOWN = 25
_ACTIVE = tuple(status for status in Status if not status.final)


@router.get("")
def overview(visit: Visiting, request: Request) -> Response:
    """Alerts and runs since the last visit."""
    now_s = visit.now_s
    last_s, before_s = looked(request.cookies.get(COOKIE, ""), now_s)
    alerts = [alert for alert in visit.client.alerts.find() if alert_text.is_open(alert)]
    alerts.sort(key=_worst_first)
    fresh = [alert for alert in alerts if alert.changed_s >= before_s]
    runs = visit.client.runs
    active = runs.find(RunQuery(statuses=_ACTIVE, limit=_SHOWN + 1))
    failed = runs.find(RunQuery(statuses=(Status.FAILED,), since_s=before_s, limit=_SHOWN + 1))
    newest = runs.find(RunQuery(statuses=(Status.SUCCEEDED,), since_s=before_s, limit=_SHOWN))
    answer = visit.page(
        "overview.html",
        title=_title(alerts, len(fresh), len(failed)),
        plain=lambda: {
            "since_s": before_s,
            "alerts": list(map(alert_to_json, alerts)),
            "active": list(map(row_to_json, active)),
            "failed": list(map(row_to_json, failed)),
            "succeeded": list(map(row_to_json, newest)),
        },
        since_s=before_s,
        is_first=COOKIE not in request.cookies,
        alerts=alerts[:_SHOWN],
        more_alerts=max(0, len(alerts) - _SHOWN),
        fresh=len(fresh),
        titles={alert.id: alert_text.title(alert, with_state=False) for alert in alerts},
        active=active[:_SHOWN],
        failed=failed[:_SHOWN],
        newest=newest,
        is_empty=not (alerts or active or failed or newest) and not runs.find(RunQuery(limit=1)),
        counts={"active": _count(active), "failed": _count(failed)},
    )
    answer.set_cookie(
        COOKIE,
        f"{last_s:.0f}.{before_s:.0f}",
        max_age=400 * 86_400,
        path="/ui",
        httponly=True,
        samesite="lax",
    )
    return answer


def looked(cookie: str, now_s: float) -> tuple[float, float]:
    """The times of this visit and of the one before, UTC seconds. A cookie that is not valid counts as none."""
    last, _, before = cookie.partition(".")
    if not (
        last.isdecimal() and before.isdecimal() and len(cookie) < 40 and int(before) <= int(last) <= now_s
    ):
        return now_s, now_s - _FIRST_S
    return now_s, float(before) if now_s - int(last) < PAUSE_S else float(last)


def _worst_first(alert: Alert) -> tuple[int, float]:
    size = max((abs(row.effect) for row in alert.rows), default=0.0)
    return SEVERITY_ORDER.index(alert.kind), -size


def _count(rows: object) -> str:
    count = len(rows)  # type: ignore[arg-type]
    return f"{_SHOWN}+" if count > _SHOWN else str(count)


def _title(alerts: list[Alert], fresh: int, failed: int) -> str:
    """What got worse, as a sentence."""
    bad = sum(alert_text.is_bad(alert) for alert in alerts)
    words = []
    if bad:
        words.append(
            f"{bad} open change{'s' * (bad != 1)} for the worse" + (f", {fresh} new" if fresh else "")
        )
    if failed:
        words.append(
            f"{failed if failed <= _SHOWN else f'more than {_SHOWN}'} failed run{'s' * (failed != 1)}"
        )
    return "; ".join(words) or "Nothing got worse"
