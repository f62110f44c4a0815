"""The contract of ``Runs.add_finished`` as tests."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from anubis.model.errors import NotFoundError
from anubis.model.ids import new_run_id
from anubis.model.points import Point, session_id
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_point, a_run, an_event, samples_of


def in_session(points: Sequence[Point], start_s: float = NOW_S) -> list[Point]:
    """The points in the session that began at this time on the machine of the builders."""
    return [replace(point, session=session_id(point.fingerprint, start_s)) for point in points]


class AddFinishedContract:
    """Runs that ended elsewhere."""

    def test_a_finished_run_comes_with_its_points(self, store: Any) -> None:
        run = a_run(status=Status.SUCCEEDED, placed_s=NOW_S, ended_s=NOW_S)
        points = [a_point(run), a_point(run, "throughput", 2.0, spread=0.5, count=3)]
        assert list(store.runs.add_finished([(run, "its text")], points)) == [run.id]
        assert store.runs.get(run.id) == run
        assert store.runs.text(run.id) == "its text"
        assert sorted(store.points.of([run.id]), key=lambda point: point.metric) == in_session(points)

    def test_its_events_and_samples_come_along(self, store: Any) -> None:
        old, new = a_run(status=Status.SUCCEEDED), a_run(status=Status.FAILED)
        store.runs.add_finished([(old, "")], [])
        told = [an_event(run, kind) for run in (old, new) for kind in ("submitted", "final")]
        blocks = {run.id: [samples_of([3.0, 2.0, 1.0], "loss")] for run in (old, new)}
        assert list(store.runs.add_finished([(old, ""), (new, "")], [], events=told, samples=blocks)) == [
            new.id
        ]
        assert [event.kind for event in store.events.read(new.id)] == ["submitted", "final"]
        assert list(store.points.samples(new.id, "loss").values) == [3.0, 2.0, 1.0]
        assert list(store.events.read(old.id)) == []
        assert list(store.points.summaries(old.id)) == []

    def test_its_samples_are_replaced(self, store: Any) -> None:
        run, unfinished = a_run(status=Status.FAILED), a_run()
        blocks = {run.id: [samples_of([1.0], "gone"), samples_of([3.0, 2.0], "loss")]}
        store.runs.add_finished([(run, "")], [], samples=blocks)
        store.runs.add([(unfinished, "")], [])
        store.runs.replace_samples(run.id, [samples_of([5.0, 6.0, 7.0], "loss")])
        assert list(store.points.samples(run.id, "loss").values) == [5.0, 6.0, 7.0]
        assert [(each.metric, each.count) for each in store.points.summaries(run.id)] == [("loss", 3)]
        for run_id in (unfinished.id, new_run_id()):
            with pytest.raises(NotFoundError):
                store.runs.replace_samples(run_id, [samples_of([1.0], "loss")])

    def test_it_is_never_claimed(self, store: Any) -> None:
        store.runs.add_finished([(a_run(status=Status.SUCCEEDED), "")], [])
        assert list(store.leases.claim("one", now_s=NOW_S, lease_s=10.0, limit=10)) == []
        assert store.runs.unfinished() == 0

    def test_a_run_that_is_there_already_keeps_its_points(self, store: Any) -> None:
        old, new = a_run(status=Status.SUCCEEDED), a_run(status=Status.SUCCEEDED)
        store.runs.add_finished([(old, "")], [a_point(old)])
        again = [a_point(old, value=7.0), a_point(old, "throughput"), a_point(new)]
        assert list(store.runs.add_finished([(old, ""), (new, "")], again)) == [new.id]
        assert list(store.points.of([old.id, new.id])) == in_session([a_point(old), a_point(new)])

    def test_points_of_further_metrics_join_it_once(self, store: Any) -> None:
        run, other = a_run(status=Status.SUCCEEDED), a_run(status=Status.SUCCEEDED)
        store.runs.add_finished([(run, ""), (other, "")], [a_point(run)])
        further = [a_point(run, "throughput"), a_point(run, value=7.0, units="s"), a_point(other)]
        assert store.runs.add_points([*further, further[0]]) == 1
        assert store.runs.add_points(further) == 0
        assert list(store.points.of([run.id, other.id])) == in_session([a_point(run), further[0]])
        assert store.runs.add_points([]) == 0

    def test_no_point_joins_a_run_that_is_not_final_or_not_stored(self, store: Any) -> None:
        going, gone = a_run(), a_run(status=Status.SUCCEEDED)
        store.runs.add([(going, "")], [])
        assert store.runs.add_points([a_point(going), a_point(gone)]) == 0
        assert list(store.points.of([going.id, gone.id])) == []
