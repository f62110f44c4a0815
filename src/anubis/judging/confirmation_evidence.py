"""The decision about a suspected alert, from its confirming runs alone.

The suspected points are not part of the evidence: they share the state of the machine that is suspected.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, sqrt

from anubis.analysis.quantities import effect_text
from anubis.analysis.samples.pairs import compare_pairs
from anubis.analysis.samples.ranks import Shift
from anubis.analysis.samples.scale import Scale, scale_of
from anubis.analysis.samples.sessions import FEWEST_SESSIONS, against_history
from anubis.analysis.samples.slots import without_slot
from anubis.analysis.verdict_text import slot_text
from anubis.contracts.runs import RunRow
from anubis.contracts.world import World
from anubis.judging.alert_rules import most_severe
from anubis.judging.confirmation import (
    ALPHA,
    BASELINE,
    CONTENDER,
    ROUND,
    SIDE,
    cause_of,
    is_pending,
    round_of,
)
from anubis.judging.series import in_order, subject_points
from anubis.judging.units import in_newest_unit
from anubis.model.alert import Alert, AlertRow, AlertState
from anubis.model.points import Point
from anubis.model.run import Run

#: Smallest effect that counts, unless the descriptor sets another one.
MIN_EFFECT = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """What the confirming runs show about one metric."""

    #: The change as a ratio with its interval, and its p value; None: it cannot be judged.
    shift: Shift | None
    #: What was compared with what.
    what: str

    @property
    def text(self) -> str:
        if self.shift is None:
            return f"cannot be judged ({self.what})"
        return f"{effect_text(self.shift.estimate, (self.shift.low, self.shift.high))} ({self.what})"


def decided(run: Run, alert: Alert, world: World) -> Alert | None:
    """The alert, confirmed or resolved by its confirming runs; None if it does not wait for them or some are missing.

    It is confirmed with the metrics whose change is significant in the suspected direction and large enough. ``run`` is
    any run of the benchmark, which may be the last of the confirming runs.
    """
    if alert.state is not AlertState.SUSPECTED or not alert.ordered or is_pending(run, alert, world):
        return None
    runs = [row for row in round_of(alert, world) if SIDE in row.cell]
    points: dict[tuple[str, str, str], dict[str, Point]] = defaultdict(dict)
    for point in world.points.of([row.id for row in runs]):
        if isfinite(point.value):
            points[point.series_key, point.fingerprint, point.metric][point.run_id] = point
    shown = {
        row: _evidence(alert, row, runs, values, world)
        for row in alert.rows
        if (values := points[row.series_key, row.fingerprint, row.metric])
    }
    least = {
        metric.name: metric.threshold.min_effect
        for metric in cause_of(run, world).descriptor.metrics
        if metric.threshold and metric.threshold.min_effect is not None
    }
    rows = tuple(
        row
        for row, evidence in shown.items()
        if _holds(evidence.shift, row, ALPHA / len(alert.rows), least.get(row.metric, MIN_EFFECT))
    )
    how = "; ".join(f"{row.metric} {evidence.text}" for row, evidence in shown.items())
    after = replace(alert, ordered=False, changed_s=world.clock.now_s(), actor="")
    if rows:
        why = f"confirmed by running again: {how}"
        return replace(after, state=AlertState.CONFIRMED, rows=rows, kind=most_severe(rows), why=why)
    why = f"not confirmed by running again: {how or 'the runs have no values'}"
    return replace(after, state=AlertState.RESOLVED, why=why)


def _holds(shift: Shift | None, row: AlertRow, alpha: float, least: float) -> bool:
    return (
        shift is not None
        and shift.p <= alpha
        and shift.estimate * row.effect > 0
        and abs(shift.estimate) >= least
    )


def _evidence(
    alert: Alert, row: AlertRow, runs: Sequence[RunRow], points: Mapping[str, Point], world: World
) -> _Evidence:
    """The change of one metric between the sides, or from the history if only the contender ran again."""
    alpha = ALPHA / len(alert.rows)
    if all(one.cell[SIDE] == CONTENDER for one in runs):
        history = _history(alert, row, world)
        what = f"{len(points)} run{'s' * (len(points) != 1)} against {len(history)} points of the history"
        return _Evidence(shift=_from_history(history, list(points.values()), alpha), what=what)
    rounds: dict[int, dict[str, RunRow]] = defaultdict(dict)
    for one in runs:
        if one.id in points:
            rounds[one.cell[ROUND]][one.cell[SIDE]] = one
    pairs = [(sides[BASELINE], sides[CONTENDER]) for sides in rounds.values() if len(sides) == 2]
    values = [(points[old.id].value, points[new.id].value) for old, new in pairs]
    return _paired(row, values, [_order(new) > _order(old) for old, new in pairs], alpha)


def _order(run: RunRow) -> tuple[float, str]:
    """The run of a pair with the smaller value was measured first."""
    return run.created_s if run.placed_s is None else run.placed_s, run.id


def _paired(
    row: AlertRow, pairs: Sequence[tuple[float, float]], contender_second: Sequence[bool], alpha: float
) -> _Evidence:
    """The location of the differences within pairs, as ratios, without the effect of the slot."""
    what = f"{len(pairs)} pair{'s' * (len(pairs) != 1)}"
    if not pairs:
        return _Evidence(shift=None, what=what)
    old, new = zip(*pairs, strict=True)
    scale = scale_of(old, new)
    slots = without_slot(
        [scale.value(after) - scale.value(before) for before, after in pairs], contender_second
    )
    if slots.effect is not None:
        what += (
            f", without the effect of their order: the second run is {slot_text(scale.effect(slots.effect))}"
        )
    noise = None if row.noise_floor is None else sqrt(2) * scale.distance(row.noise_floor)
    shift = compare_pairs(slots.differences, noise=noise, freedom=max(row.n_before - 1, 0), alpha=alpha)
    return _Evidence(shift=None if shift is None else _as_ratios(shift, scale), what=what)


def _from_history(history: Sequence[Point], again: Sequence[Point], alpha: float) -> Shift | None:
    """The difference of the sessions in which the contender ran again from the history, as ratios."""
    if len(history) < FEWEST_SESSIONS:
        return None
    scale = scale_of([point.value for point in history], [point.value for point in again])
    sessions: dict[str, list[float]] = defaultdict(list)
    for point in again:
        sessions[point.session].append(point.value)
    found = against_history(
        [scale.work([point.value]) for point in history], [scale.work(each) for each in sessions.values()]
    )
    return _as_ratios(found.shift_at(alpha), scale)


def _as_ratios(shift: Shift, scale: Scale) -> Shift:
    return Shift(scale.effect(shift.estimate), scale.effect(shift.low), scale.effect(shift.high), shift.p)


def _history(alert: Alert, row: AlertRow, world: World) -> list[Point]:
    """The points of the old level, one for each subject."""
    points = subject_points(
        in_newest_unit(in_order(world.points.history(row.series_key, row.metric, row.fingerprint)))
    )
    first = next((at for at, point in enumerate(points) if point.run_id == alert.run_id), len(points))
    subject = alert.first_new
    old = [
        point
        for point in points[:first]
        if isfinite(point.value) and (not subject or point.subject != subject)
    ]
    return old[-max(row.n_before, FEWEST_SESSIONS) :]
