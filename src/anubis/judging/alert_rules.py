"""Level shifts become alerts, one for each shift and subject: pure functions from what a series says now and the
alerts there are to the alerts there should be.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from anubis.judging.series import RECENT
from anubis.model.alert import GRAVITY, Alert, AlertKind, AlertRow, AlertState
from anubis.model.points import Point
from anubis.model.series import ChangeKind, ChangePoint, ChangeState, SeriesVerdict
from anubis.model.verdict import Judgement

#: States in which a shift is still somebody's business.
OPEN = (AlertState.SUSPECTED, AlertState.CONFIRMED, AlertState.ACKNOWLEDGED, AlertState.MUTED)

_KINDS = {
    Judgement.REGRESSED: AlertKind.REGRESSION,
    Judgement.IMPROVED: AlertKind.IMPROVEMENT,
}
#: A level is back when at most this share of the change remains (or twice the noise, if that is more).
BACK = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One series with what is said about it."""

    points: Sequence[Point]
    verdict: SeriesVerdict
    unstable: bool = False

    @property
    def key(self) -> tuple[str, str, str]:
        """Series key, fingerprint and metric."""
        point = self.points[-1]
        return point.series_key, point.fingerprint, point.metric


def awake(alert: Alert, now_s: float) -> Alert:
    """The alert, confirmed again if its muting is over."""
    if alert.state is not AlertState.MUTED or alert.muted_until_s is None or now_s < alert.muted_until_s:
        return alert
    return replace(
        alert,
        state=AlertState.CONFIRMED,
        changed_s=now_s,
        actor="",
        why="its muting is over",
        muted_until_s=None,
    )


def alert_id(*words: str) -> str:
    """The id of an alert: 16 hex digits of a digest of what it is about."""
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def gravest(rows: Iterable[AlertRow]) -> AlertKind:
    """The kind of an alert with these rows."""
    return min((row.kind for row in rows), key=GRAVITY.index)


def shifted(
    benchmark: str,
    series: Sequence[Judged],
    known: Sequence[Alert],
    now_s: float,
    waits: Callable[[Alert], bool],
) -> list[Alert]:
    """The alerts that are new or different, given all alerts of the benchmark there ever were.

    ``waits`` tells which suspected alerts must not be confirmed yet.
    A change found again, perhaps a point earlier or later, is the alert it was before. An alert whose change is not
    found any more, or was undone by a later one, loses the row of that series, and with its last row it is resolved.
    """
    alerts = {
        alert.id: alert for alert in known if alert.kind not in {AlertKind.FAILURE, AlertKind.THRESHOLD}
    }
    before = dict(alerts)
    for judged in series:
        _update(benchmark, judged, alerts, now_s, waits)
    return [alert for alert in alerts.values() if alert != before.get(alert.id)]


def _update(
    benchmark: str, judged: Judged, alerts: dict[str, Alert], now_s: float, waits: Callable[[Alert], bool]
) -> None:
    changes = [*judged.verdict.changes, *([judged.verdict.suspected] if judged.verdict.suspected else [])]
    standing: set[str] = set()
    for number, change in enumerate(changes):
        alert = _known(judged, change, alerts.values())
        if any(_undoes(later, change) for later in changes[number + 1 :]):
            continue
        if alert is None:
            is_news = change.index >= len(judged.points) - RECENT
            if not is_news or any(_undoes(change, earlier) for earlier in changes[:number]):
                continue
            alert = _new(benchmark, judged, change, alerts, now_s)
        current = _with(alert, judged, change, now_s, waits)
        # A mere suspicion is an alert only when it orders confirming runs: one point in a hundred is suspect.
        if alert.id in alerts or current.state is not AlertState.SUSPECTED or waits(current):
            alerts[alert.id] = current
            standing.add(alert.id)
    for alert in list(alerts.values()):
        if (
            alert.state in OPEN
            and alert.id not in standing
            and not (alert.ordered and alert.state is AlertState.SUSPECTED and waits(alert))
            and any(_is_of(row, judged) for row in alert.rows)
        ):
            alerts[alert.id] = _without(alert, judged, now_s)


def _undoes(later: ChangePoint, earlier: ChangePoint) -> bool:
    """Whether the later change brings back the level before the earlier one."""
    if later.state is not ChangeState.CONFIRMED or not earlier.before or later.index <= earlier.index:
        return False
    off = abs(later.after / earlier.before - 1)
    return off <= max(2 * later.noise_floor, BACK * abs(earlier.effect)) and off < abs(earlier.effect)


def _known(judged: Judged, change: ChangePoint, alerts: Iterable[Alert]) -> Alert | None:
    """The alert of the same shift: its first new point lies where this change may have begun, and its row of this
    series, if it has one, went the same way. A subject that was already there before may have a shift of its own.
    """
    start = max(change.earliest - 1, 0)
    nearby = judged.points[start : change.latest + 2]
    runs = {point.run_id for point in nearby}
    subjects = {point.subject for point in nearby} - {"", judged.points[start].subject}
    for alert in alerts:
        if any(_is_of(row, judged) and row.effect * change.effect < 0 for row in alert.rows):
            continue
        if alert.run_id in runs or alert.first_new in subjects:
            return alert
    return None


def _new(
    benchmark: str, judged: Judged, change: ChangePoint, alerts: dict[str, Alert], now_s: float
) -> Alert:
    first, last = judged.points[change.index], judged.points[change.index - 1]
    identity = alert_id(benchmark, "shift", first.subject or first.run_id)
    return alerts.get(identity) or Alert(
        id=identity,
        benchmark=benchmark,
        kind=AlertKind.CHANGE,
        state=AlertState.SUSPECTED,
        rows=(),
        run_id=first.run_id,
        last_old=last.subject,
        first_new=first.subject,
        opened_s=now_s,
        changed_s=now_s,
    )


def _with(
    alert: Alert, judged: Judged, change: ChangePoint, now_s: float, waits: Callable[[Alert], bool]
) -> Alert:
    """The alert with this series' row as it is now; a suspected one is confirmed by confirmed evidence."""
    mine = _row(judged, change)
    rows = tuple(mine if _is_of(row, judged) else row for row in alert.rows)
    rows = rows if mine in rows else (*rows, mine)
    current = replace(alert, rows=rows, kind=gravest(rows))
    if rows[0] is mine:  # points that came late may have narrowed the place down
        first, last = judged.points[change.index], judged.points[change.index - 1]
        current = replace(current, run_id=first.run_id, last_old=last.subject, first_new=first.subject)
    sure = change.state is ChangeState.CONFIRMED and not judged.unstable
    # What a person resolved (an actor is named) stays so: the same data are no news.
    unsettled = current.state is AlertState.SUSPECTED or (
        current.state is AlertState.RESOLVED and not current.actor
    )
    if sure and unsettled and not waits(current):
        return replace(current, state=AlertState.CONFIRMED, changed_s=now_s, why="")
    return current


def _without(alert: Alert, judged: Judged, now_s: float) -> Alert:
    """The alert without this series' row; resolved, and left as it was, when that is its last."""
    rows = tuple(row for row in alert.rows if not _is_of(row, judged))
    if rows:
        return replace(alert, rows=rows, kind=gravest(rows))
    why = "the evidence did not hold" if alert.state is AlertState.SUSPECTED else "the level came back"
    return replace(alert, state=AlertState.RESOLVED, changed_s=now_s, actor="", why=why)


def _row(judged: Judged, change: ChangePoint) -> AlertRow:
    point = judged.points[-1]
    kind = _KINDS.get(change.judgement, AlertKind.CHANGE)
    if change.kind is ChangeKind.DRIFT and kind is not AlertKind.IMPROVEMENT:
        kind = AlertKind.DRIFT
    return AlertRow(
        series_key=point.series_key,
        fingerprint=point.fingerprint,
        metric=point.metric,
        units=point.units,
        better=point.better,
        kind=kind,
        effect=change.effect,
        interval=change.interval,
        before=change.before,
        after=change.after,
        n_before=change.n_before,
        n_after=change.n_after,
        noise_floor=change.noise_floor,
        note="unstable: its level also changes while the subject stays the same" if judged.unstable else "",
    )


def _is_of(row: AlertRow, judged: Judged) -> bool:
    return (row.series_key, row.fingerprint, row.metric) == judged.key
