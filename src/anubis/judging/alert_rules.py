"""Rules that turn level shifts into alerts, one for each shift and subject.

Pure functions: from series verdicts and the stored alerts to the new or changed alerts.
"""

import hashlib
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from anubis.analysis.instability_text import instability_text
from anubis.judging.series import RECENT, subject_range
from anubis.model.alert import SEVERITY_ORDER, Alert, AlertKind, AlertRow, AlertState
from anubis.model.points import Point
from anubis.model.series import ChangeKind, ChangePoint, ChangeState, SeriesVerdict
from anubis.model.verdict import Judgement
from anubis.record.units import ratio

#: States of alerts that are not resolved or accepted.
OPEN = (AlertState.SUSPECTED, AlertState.CONFIRMED, AlertState.ACKNOWLEDGED, AlertState.MUTED)

_KINDS = {
    Judgement.REGRESSED: AlertKind.REGRESSION,
    Judgement.IMPROVED: AlertKind.IMPROVEMENT,
}
#: A level is restored when at most this share of the change remains (or twice the noise, if that is more).
RESTORED_SHARE = 0.25
#: Rounds of confirming runs for one alert; after them only a person reopens it.
MOST_ROUNDS = 2
#: First points of a part of a series in which changes are not judged: too few points before them were read.
EDGE = 100

#: Series key, fingerprint and metric.
SeriesKey = tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedSeries:
    """One series and its verdict."""

    points: Sequence[Point]
    verdict: SeriesVerdict
    unstable: bool = False
    #: Whether the series has points before these. An alert about a change before them is then kept as it is stored.
    is_part: bool = False

    @property
    def key(self) -> SeriesKey:
        """The series that this is."""
        point = self.points[-1]
        return point.series_key, point.fingerprint, point.metric

    @property
    def changes(self) -> list[ChangePoint]:
        """The changes of the verdict that are judged, confirmed ones first."""
        changes = [*self.verdict.changes, *([self.verdict.suspected] if self.verdict.suspected else [])]
        return [change for change in changes if change.index >= EDGE] if self.is_part else changes


def key_of(row: AlertRow) -> SeriesKey:
    """The series of a row."""
    return row.series_key, row.fingerprint, row.metric


def is_level_shift(alert: Alert) -> bool:
    """Whether the alert is a confirmed change of level that is neither accepted nor resolved."""
    is_shift = alert.kind not in {AlertKind.FAILURE, AlertKind.THRESHOLD, AlertKind.RECOVERY}
    return is_shift and alert.state in OPEN and alert.state is not AlertState.SUSPECTED


def unmute_expired(alert: Alert, now_s: float) -> Alert:
    """The alert, returned to confirmed if its mute time has passed."""
    if alert.state is not AlertState.MUTED or alert.muted_until_s is None or now_s < alert.muted_until_s:
        return alert
    return replace(
        alert,
        state=AlertState.CONFIRMED,
        changed_s=now_s,
        actor="",
        why="the mute time has passed",
        muted_until_s=None,
    )


def alert_id(*parts: str) -> str:
    """The id of an alert: 16 hex digits of a digest of the parts that identify it."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def most_severe(rows: Iterable[AlertRow]) -> AlertKind:
    """The most severe kind among the rows."""
    return min((row.kind for row in rows), key=SEVERITY_ORDER.index)


def shift_alerts(
    benchmark: str,
    series: Sequence[JudgedSeries],
    known: Sequence[Alert],
    now_s: float,
    waits: Callable[[Alert], bool],
    *,
    settled: Collection[str] = (),
) -> list[Alert]:
    """The new and changed alerts, given all alerts of the benchmark that were ever stored.

    ``waits`` returns whether a suspected alert must not be confirmed yet. Alerts with an id in ``settled`` are not
    changed: they were just decided on other evidence. A change that is detected again, perhaps a
    point earlier or later, keeps its alert. An alert whose change is no longer detected, or was reverted by a later
    change, loses the row of that series; an alert without rows is resolved.
    """
    alerts = {
        alert.id: alert for alert in known if alert.kind not in {AlertKind.FAILURE, AlertKind.THRESHOLD}
    }
    before = dict(alerts)
    for judged in series:
        _update(benchmark, judged, alerts, now_s, waits)
    return [alert for alert in alerts.values() if alert.id not in settled and alert != before.get(alert.id)]


def _update(
    benchmark: str,
    judged: JudgedSeries,
    alerts: dict[str, Alert],
    now_s: float,
    waits: Callable[[Alert], bool],
) -> None:
    if judged.verdict.instability is not None:
        _note_instability(judged, alerts)
        return
    changes = judged.changes
    current_ids: set[str] = set()
    for number, change in enumerate(changes):
        alert = _known(judged, change, alerts.values())
        if any(_reverts(later, change) for later in changes[number + 1 :]):
            continue
        if alert is None:
            is_recent = change.index >= len(judged.points) - RECENT
            if not is_recent or any(_reverts(change, earlier) for earlier in changes[:number]):
                continue
            if any(
                _is_before(known, judged) and _restores(change, known, judged) for known in alerts.values()
            ):
                continue
            alert = _new(benchmark, judged, change, alerts, now_s)
        current = _with(alert, judged, change, now_s, waits)
        # A suspected change is stored only when it orders confirming runs: 1 % of all points are suspected.
        if alert.id in alerts or current.state is not AlertState.SUSPECTED or waits(current):
            alerts[alert.id] = current
            current_ids.add(alert.id)
    for alert in list(alerts.values()):
        if (
            alert.state in OPEN
            and alert.id not in current_ids
            and not (alert.ordered and alert.state is AlertState.SUSPECTED and waits(alert))
            and any(_is_of(row, judged) for row in alert.rows)
            and not (_is_before(alert, judged) and not any(_restores(one, alert, judged) for one in changes))
        ):
            alerts[alert.id] = _without(alert, judged, now_s)


def _is_before(alert: Alert, judged: JudgedSeries) -> bool:
    """Whether the change of this alert lies before the judged part of a series."""
    return judged.is_part and all(alert.run_id != point.run_id for point in judged.points[EDGE:])


def _note_instability(judged: JudgedSeries, alerts: dict[str, Alert]) -> None:
    """A series without a stable level opens and resolves no alert; its rows in open alerts say why."""
    for alert in list(alerts.values()):
        if alert.state in OPEN and any(_is_of(row, judged) for row in alert.rows):
            rows = tuple(
                replace(row, note=_unstable_note(judged)) if _is_of(row, judged) else row
                for row in alert.rows
            )
            alerts[alert.id] = replace(alert, rows=rows)


def _unstable_note(judged: JudgedSeries) -> str:
    """Why the series is unstable; empty if it is not."""
    if judged.verdict.instability is not None:
        return f"unstable: {instability_text(judged.verdict.instability, judged.points[-1].units)}"
    return "unstable: its level also changes while the subject stays the same" if judged.unstable else ""


def _reverts(later: ChangePoint, earlier: ChangePoint) -> bool:
    """Whether the later change restores the level before the earlier one."""
    return later.index > earlier.index and _leads_to(later, earlier.before, earlier.effect)


def _restores(change: ChangePoint, alert: Alert, judged: JudgedSeries) -> bool:
    """Whether a change of this series restores its level before the earlier change of the alert."""
    units = judged.points[-1].units
    return any(
        _is_of(row, judged)
        and (fraction := ratio(row.units, units)) is not None
        and _leads_to(change, row.before * fraction[0] / fraction[1], row.effect)
        for row in alert.rows
    )


def _leads_to(change: ChangePoint, before: float, effect: float) -> bool:
    """Whether a change leads to the level ``before`` an earlier change of this effect."""
    if change.state is not ChangeState.CONFIRMED or not before:
        return False
    off = abs(change.after / before - 1)
    return off <= max(2 * change.noise_floor, RESTORED_SHARE * abs(effect)) and off < abs(effect)


def _known(judged: JudgedSeries, change: ChangePoint, alerts: Iterable[Alert]) -> Alert | None:
    """The alert of the same shift, if there is one.

    Its first new point lies in the range in which this change may have begun, and its row of this series, if it has
    one, has the same direction. A subject that was measured before that range may have another shift.
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
    benchmark: str, judged: JudgedSeries, change: ChangePoint, alerts: dict[str, Alert], now_s: float
) -> Alert:
    first = judged.points[change.index]
    identity = alert_id(benchmark, "shift", first.subject or first.run_id)
    return alerts.get(identity) or Alert(
        id=identity,
        benchmark=benchmark,
        kind=AlertKind.CHANGE,
        state=AlertState.SUSPECTED,
        rows=(),
        run_id=first.run_id,
        **asdict(subject_range(judged.points, change)),
        opened_s=now_s,
        changed_s=now_s,
    )


def _with(
    alert: Alert, judged: JudgedSeries, change: ChangePoint, now_s: float, waits: Callable[[Alert], bool]
) -> Alert:
    """The alert with the updated row of this series; a suspected alert is confirmed by a confirmed change."""
    updated = _row(judged, change)
    rows = tuple(updated if _is_of(row, judged) else row for row in alert.rows)
    rows = rows if updated in rows else (*rows, updated)
    current = replace(alert, rows=rows, kind=most_severe(rows))
    if rows[0] is updated:  # late points may have narrowed the position
        subjects = asdict(subject_range(judged.points, change))
        current = replace(current, run_id=judged.points[change.index].run_id, **subjects)
    is_confirmed = change.state is ChangeState.CONFIRMED and not judged.unstable
    # An alert that a person resolved (it has an actor) stays resolved: the data are the same.
    can_be_confirmed = current.state is AlertState.SUSPECTED or (
        current.state is AlertState.RESOLVED and not current.actor
    )
    if not is_confirmed or not can_be_confirmed:
        return current
    if not waits(current):
        return replace(current, state=AlertState.CONFIRMED, changed_s=now_s, why="")
    if current.state is AlertState.RESOLVED and current.rounds < MOST_ROUNDS:
        why = "later points show the change, which earlier runs did not confirm"
        return replace(current, state=AlertState.SUSPECTED, changed_s=now_s, why=why)
    return current


def _without(alert: Alert, judged: JudgedSeries, now_s: float) -> Alert:
    """The alert without the row of this series; if that is its only row, it keeps it and is resolved."""
    rows = tuple(row for row in alert.rows if not _is_of(row, judged))
    if rows:
        return replace(alert, rows=rows, kind=most_severe(rows))
    why = "the change was not confirmed" if alert.state is AlertState.SUSPECTED else "the level is restored"
    return replace(alert, state=AlertState.RESOLVED, changed_s=now_s, actor="", why=why)


def _row(judged: JudgedSeries, change: ChangePoint) -> AlertRow:
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
        note=_unstable_note(judged),
    )


def _is_of(row: AlertRow, judged: JudgedSeries) -> bool:
    return key_of(row) == judged.key
