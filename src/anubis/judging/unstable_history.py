"""The baseline of a gate if the history of a metric has no stable level: all newest values, without regard to levels."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from anubis.analysis.changes.detection import judge_many
from anubis.analysis.instability_text import instability_text
from anubis.analysis.samples.spread import ROBUST_FROM
from anubis.contracts.world import World
from anubis.judging.series import in_order, series_of, subject_points
from anubis.judging.units import in_newest_unit, in_unit
from anubis.model.points import Point
from anubis.model.verdict import Judgement, Sides, Verdict

#: Newest points of a history that are classified, and newest of them that are compared.
NEWEST_POINTS, COMPARED_POINTS = 400, 200
_CHANGES = {Judgement.REGRESSED, Judgement.IMPROVED, Judgement.CHANGED}


def with_unstable_histories(
    sides: Sequence[Sides], verdicts: Sequence[Verdict], points: Mapping[str, Sequence[Point]], world: World
) -> tuple[list[Sides], list[str]]:
    """The sides, those of changed metrics with an unstable history with the values of all its levels; a note for each.

    Only the history of a metric that changed is read: the others differ from no level. ``points`` are those of the
    contender, by metric.
    """
    run_ids = {point.run_id for each in points.values() for point in each}
    widened, notes = list(sides), []
    for at, (side, verdict) in enumerate(zip(sides, verdicts, strict=True)):
        if verdict.judgement in _CHANGES and (
            found := _unstable_baseline(side, points[side.metric], run_ids, world)
        ):
            widened[at], note = found
            notes.append(note)
    return widened, notes


def _unstable_baseline(
    sides: Sides, contender: Sequence[Point], run_ids: Collection[str], world: World
) -> tuple[Sides, str] | None:
    """The sides with the newest values of the history, and a note; None if the history has a stable level."""
    first = contender[0]
    subjects = {point.subject for point in contender} - {""}
    newest = world.points.history(first.series_key, first.metric, first.fingerprint, limit=NEWEST_POINTS)
    before = [
        point
        for point in in_order(newest)
        if point.order_s < first.order_s and point.run_id not in run_ids and point.subject not in subjects
    ]
    history = in_unit(subject_points(in_newest_unit(before)), sides.units) if before else []
    if len(history) < ROBUST_FROM:
        return None
    [found] = judge_many([series_of(history)], min_effect=sides.min_effect)
    if found.instability is None:
        return None
    values = tuple(point.value for point in history[-COMPARED_POINTS:])
    widened = replace(sides, baseline=values, history=values, baseline_sessions=(), contender_sessions=())
    note = (
        f"the history of {sides.metric} is unstable: {instability_text(found.instability, sides.units)};"
        f" compared with its newest {len(values)} values, without regard to levels"
    )
    return widened, note
