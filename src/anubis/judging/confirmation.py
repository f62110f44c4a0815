"""Confirming runs: before an alert is delivered, baseline and contender run again, alternated."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import ceil, pi
from statistics import NormalDist

from anubis.contracts.runs import RunQuery, RunRow
from anubis.contracts.world import World
from anubis.judging.series import in_order
from anubis.judging.units import in_newest_unit
from anubis.model.alert import Alert
from anubis.model.descriptor import Notify
from anubis.model.errors import NotFoundError
from anubis.model.ids import derived_run_id
from anubis.model.run import Run
from anubis.model.status import Status

#: Coordinates of a confirming run in its family: the alert, the side, and the number of its pair from 1.
CONFIRMS, SIDE, ROUND = "confirms", "side", "round"
BASELINE, CONTENDER = "baseline", "contender"
#: Two-sided rate of false changes, divided by the number of metrics: 1 % in the suspected direction.
ALPHA = 0.02
#: Share of true changes of the suspected size that the pairs must confirm, and the maximum number of pairs for this.
_POWER, _MOST_PAIRS = 0.95, 8
#: Statuses of runs that have no values yet.
_UNMEASURED = {Status.FETCH, Status.PLACE, Status.WATCH, Status.COLLECT}
#: More runs than any round has.
_ALL = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """The confirming runs to submit now, in order, with their descriptor texts."""

    runs: Sequence[tuple[Run, str]] = ()
    #: Why the baseline does not run again, and what is done instead; empty if it runs again.
    note: str = ""


def waits(run: Run, alert: Alert, world: World) -> bool:
    """Whether the alert must wait for confirming runs: they were requested and have not all been measured."""
    if alert.told is not None:
        return False
    return is_pending(run, alert, world) if alert.ordered else requested_runs(run, alert) > 0


def cause_of(run: Run, world: World) -> Run:
    """The run that ordered a confirming run: its descriptor applies to the alert. For other runs, the run itself."""
    if CONFIRMS not in run.cell or run.parent_id is None:
        return run
    try:
        return world.runs.get(run.parent_id)
    except NotFoundError:
        return run


def requested_runs(run: Run, alert: Alert) -> int:
    """The number of confirming runs of each side that the matching ``[[notify]]`` entries request."""
    return max((notify.confirm_runs or 0 for notify in subscriptions(run, alert)), default=0)


def subscriptions(run: Run, alert: Alert) -> Sequence[Notify]:
    """The ``[[notify]]`` entries of the descriptor that match the kind of the alert."""
    return [notify for notify in run.descriptor.notify if alert.kind in notify.on]


def confirming_runs(run: Run, alert: Alert, world: World) -> Order:
    """The next round of confirming runs; none if the run itself confirms an alert, or if none were requested.

    The sides alternate and each pair begins with the side that ended the previous one, so that a drift of the machine
    affects both sides equally. Without a baseline the contender alone runs again, after a pause that ends its
    session: in the session that led to the suspicion it would only repeat the state of the machine.
    There are as many pairs as requested, or as many as decide about a change of the suspected size if these are more.
    """
    count = requested_runs(run, alert)
    if not count or CONFIRMS in run.cell:
        return Order()
    pairs = max(count, min(_pairs_needed(alert), _MOST_PAIRS))
    baseline, now_s = _baseline(run, alert, world), world.clock.now_s()
    again = partial(_again, cause=run, alert=alert, now_s=now_s)
    if isinstance(baseline, str):
        alone = [again(run, number, {SIDE: CONTENDER, ROUND: number + 1}) for number in range(count)]
        later_s = now_s + world.session_pause_s + 1.0
        return Order(
            runs=[(replace(one, due_s=later_s), world.runs.text(run.id)) for one in alone],
            note=f"the baseline cannot run again: {baseline}. The contender runs again in a later session"
            " and is compared with the history",
        )
    sides = [(BASELINE, baseline), (CONTENDER, run)]
    ordered = [side for number in range(pairs) for side in (reversed(sides) if number % 2 else sides)]
    return Order(
        runs=[
            (again(side, number, {SIDE: name, ROUND: number // 2 + 1}), world.runs.text(side.id))
            for number, (name, side) in enumerate(ordered)
        ]
    )


def _pairs_needed(alert: Alert) -> int:
    """The number of pairs that confirm a change of the size of the clearest row."""
    rows = [row for row in alert.rows if row.effect]
    if not rows:
        return 1
    reach = NormalDist().inv_cdf(1 - ALPHA / len(alert.rows) / 2) + NormalDist().inv_cdf(_POWER)
    clearest = min((row.noise_floor or 0.0) / abs(row.effect) for row in rows)
    # The variance of a difference is twice that of a run, and that of a Hodges-Lehmann estimate pi / 3 of that of a mean.
    return ceil(2 * pi / 3 * (reach * clearest) ** 2)


def round_of(alert: Alert, world: World) -> Sequence[RunRow]:
    """The runs of the newest round that was ordered, oldest first."""
    query = RunQuery(family_id=_family(alert.id, alert.rounds), limit=_ALL, newest_first=False)
    return world.runs.find(query)


def is_pending(run: Run, alert: Alert, world: World) -> bool:
    """Whether a run of the newest round has no values yet; ``run`` itself has."""
    return any(row.status in _UNMEASURED and row.id != run.id for row in round_of(alert, world))


def _family(alert_id: str, rounds: int) -> str:
    """The family id of a round of confirming runs, derived so that it can be computed again."""
    return f"{alert_id[:8]}-{alert_id[8:12]}-8{rounds:03}-8000-{alert_id[12:]:0<12}"


def _baseline(run: Run, alert: Alert, world: World) -> Run | str:
    """The last run of the old level, or why it cannot run again."""
    row = next((row for row in alert.rows if row.series_key == run.series_key), None)
    points = (
        in_newest_unit(in_order(world.points.history(row.series_key, row.metric, row.fingerprint)))
        if row
        else []
    )
    first = next((at for at, point in enumerate(points) if point.run_id == alert.run_id), 0)
    if not first:
        return "the series has no run before the change"
    try:
        baseline = world.runs.get(points[first - 1].run_id)
    except NotFoundError:
        return "its run was deleted"
    if baseline.engine != run.engine:
        return f'it ran on the engine "{baseline.engine}"'
    if baseline.descriptor.ml.script is None:
        return "its code was not archived (submit with --script)"
    return baseline


def _again(
    side: Run, number: int, cell: Mapping[str, object], *, cause: Run, alert: Alert, now_s: float
) -> Run:
    return replace(
        side,
        id=derived_run_id(cause.id, f"{alert.id}/{alert.rounds + 1}", number),
        status=Status.FETCH if side.descriptor.ml.script else Status.PLACE,
        created_s=now_s,
        due_s=now_s,
        family_id=_family(alert.id, alert.rounds + 1),
        parent_id=cause.id,
        attempt=1,
        placement=None,
        reason="",
        cause=None,
        placed_s=None,
        ended_s=None,
        cell={CONFIRMS: alert.id, **cell},
    )
