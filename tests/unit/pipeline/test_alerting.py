"""From histories to alerts: one for each level shift, told once, confirmed first when asked, resolved by data."""

from dataclasses import replace

import numpy as np
import pytest

from anubis.model.alert import AlertKind, AlertState
from anubis.model.cause import Cause
from anubis.model.descriptor import Notify, Subject
from anubis.model.metric import Better, Metric, Output, Threshold
from anubis.model.run import Step
from anubis.model.status import Status
from anubis.pipeline.stages.alert import alert
from anubis.pipeline.stages.analyse import analyse
from anubis.testing import a_descriptor, a_point, a_run

METRICS = tuple(Metric(name=name, better=Better.HIGHER) for name in ("throughput", "bandwidth"))
TEAM = Notify(to="mailto:team@example.org")


@pytest.fixture
def history(house):
    """Adds runs one by one, each through analyse and alert, and returns the alerts there are."""

    class History:
        random = np.random.default_rng(7)
        count = 0
        deliveries = ()
        descriptor = replace(a_descriptor("bench"), output=Output(metrics=METRICS), notify=(TEAM,))

        def add(self, level, count=1, **changes):
            for _ in range(count):
                self.run = self.one(level, **changes)
            return house.store.alerts.find()

        def one(
            self, level, *, subject=None, at=None, cause=None, parent_id=None, family_id=None, spread=0.005
        ):
            self.count += 1
            place = self.count if at is None else at
            name = subject or f"commit-{place:03}"
            descriptor = replace(self.descriptor, subject=Subject(commit=name))
            run = a_run(
                descriptor,
                status=Status.ANALYSE,
                cause=cause,
                order_s=float(place),
                created_s=house.clock.now_s(),
                parent_id=parent_id,
                family_id=family_id,
            )
            house.runs.add([(run, "text")], [])
            points = [
                a_point(
                    run,
                    m.name,
                    level * (1 + spread * self.random.standard_normal()),
                    order_s=float(place),
                    subject=name,
                    better="higher",
                )
                for m in descriptor.output.metrics
            ]
            self.finish(run, points if cause is None else [])
            return run

        def finish(self, run, points):
            house.clock.advance(1.0)
            now_s = house.clock.now_s()
            [claimed] = [
                r for r in house.leases.claim("t", now_s=now_s, lease_s=9.0, limit=99) if r.id == run.id
            ]
            step = Step(status=Status.ANALYSE, points=tuple(points), cause=run.cause, reason=run.reason)
            run = house.leases.apply("t", claimed, step, now_s=now_s)
            for stage in (analyse, alert):
                if not run.status.final:
                    step = stage(run, house.world)
                    self.deliveries += step.deliveries
                    house.runs.add(step.spawned, [])
                    run = house.leases.apply("t", run, step, now_s=now_s)
            house.leases.release("t")
            assert run.status.final

        def told(self):
            return [(delivery.state, [delivery.to]) for delivery in self.deliveries]

    return History()


def test_a_quiet_series_has_no_alert(history):
    assert history.add(100.0, 30) == []


def test_a_level_shift_is_one_alert_over_all_metrics_it_moved_told_once(history):
    history.add(100.0, 20)
    [found] = history.add(90.0, 12)

    assert (found.kind, found.state, found.last_old, found.first_new) == (
        AlertKind.REGRESSION,
        AlertState.CONFIRMED,
        "commit-020",
        "commit-021",
    )
    assert {row.metric for row in found.rows} == {"throughput", "bandwidth"}
    assert all(row.effect == pytest.approx(-0.1, abs=0.02) for row in found.rows)
    assert history.told() == [("confirmed", ["mailto:team@example.org"])]


def test_points_that_come_late_narrow_the_place_down(history):
    for place in (*range(1, 11), *range(17, 27)):
        found = history.add(100.0 if place < 11 else 85.0, at=place)
    before = [(one.last_old, one.first_new) for one in found]
    for place in range(11, 17):
        found = history.add(100.0 if place < 14 else 85.0, at=place)

    assert before == [("commit-010", "commit-017")]
    assert [(one.last_old, one.first_new) for one in found] == [("commit-013", "commit-014")]


def test_an_improvement_tells_only_who_asked(history):
    history.add(100.0, 20)
    [found] = history.add(115.0, 12)

    assert found.kind is AlertKind.IMPROVEMENT
    assert history.told() == []


def test_a_level_that_came_back_resolves_its_alert_and_tells_of_the_recovery(history):
    history.add(100.0, 20)
    history.add(90.0, 12)
    [found] = history.add(100.0, 12)

    assert (found.state, found.why) == (AlertState.RESOLVED, "the level is restored")
    assert [state for state, _ in history.told()] == ["confirmed", "resolved"]


def test_a_level_that_comes_back_after_many_runs_of_each_subject_is_no_improvement(history):
    history.add(100.0, 12, subject="1")
    history.add(70.0, 6, subject="2")
    [found] = history.add(100.0, 12, subject="3")

    assert (found.kind, found.state) == (AlertKind.REGRESSION, AlertState.RESOLVED)


def test_two_shifts_with_many_runs_of_each_subject_are_two_alerts(history):
    history.add(100.0, 12, subject="1")
    history.add(80.0, 8, subject="2")
    found = history.add(60.0, 8, subject="3")

    assert {(one.first_new, one.state) for one in found} == {
        ("2", AlertState.CONFIRMED),
        ("3", AlertState.CONFIRMED),
    }
    assert all(row.effect == pytest.approx(-0.2, abs=0.06) for one in found for row in one.rows)


def test_a_lone_outlier_tells_nobody(history):
    history.add(100.0, 20)
    history.add(50.0)
    history.add(100.0, 10)

    assert history.told() == []


def test_an_accepted_level_is_the_new_normal(history, house):
    history.add(100.0, 20)
    [found] = history.add(90.0, 12)
    house.store.alerts.put([replace(found, state=AlertState.ACCEPTED)], [])

    [found] = history.add(90.0, 15)

    assert found.state is AlertState.ACCEPTED
    assert len(history.told()) == 1


def test_a_muted_alert_tells_nobody_until_its_end(history, house):
    history.add(100.0, 20)
    [found] = history.add(90.0, 12)
    until_s = house.clock.now_s() + 1000.0
    house.store.alerts.put([replace(found, state=AlertState.MUTED, muted_until_s=until_s)], [])

    history.add(100.0, 12)

    assert [state for state, _ in history.told()] == ["confirmed"]


def test_a_machine_of_another_kind_is_a_series_of_its_own(history, house):
    history.add(100.0, 20)
    run = a_run(history.descriptor, status=Status.ANALYSE, order_s=21.0, created_s=house.clock.now_s())
    house.runs.add([(run, "text")], [])

    history.finish(run, [a_point(run, "throughput", 10.0, fingerprint="other", order_s=21.0)])

    assert house.store.alerts.find() == []


def test_confirming_runs_are_ordered_before_anybody_is_told(history, house):
    history.add(100.0, 20)
    history.descriptor = replace(history.descriptor, notify=(replace(TEAM, confirm_runs=2),))
    for _ in range(9):
        [*_, found] = history.add(85.0) or [None]
        if house.runs.unfinished():
            break

    assert found.state is AlertState.SUSPECTED
    assert history.told() == []
    children = house.leases.claim("t", now_s=house.clock.now_s() + 1, lease_s=9.0, limit=9)
    assert len(children) == 2
    assert {child.parent_id for child in children} == {history.run.id}
    house.leases.release("t")


def test_confirming_runs_that_hold_confirm_and_tell(history, house):
    history.add(100.0, 20)
    history.descriptor = replace(history.descriptor, notify=(replace(TEAM, confirm_runs=2),))
    for _ in range(9):
        history.add(85.0)
        if house.runs.unfinished():
            break
    children = house.leases.claim("t", now_s=house.clock.now_s() + 1, lease_s=9.0, limit=9)
    house.leases.release("t")

    for child in children:
        points = [
            a_point(child, m.name, 85.1, order_s=child.order_s, subject="x", better="higher") for m in METRICS
        ]
        assert history.told() == []
        history.finish(child, points)
    history.add(85.0, 6)

    assert history.told() == [("confirmed", ["mailto:team@example.org"])]


def test_an_alert_waits_for_all_its_confirming_runs_whatever_the_first_of_them_says(history, house):
    history.add(100.0, 20)
    history.descriptor = replace(history.descriptor, notify=(replace(TEAM, confirm_runs=3),))
    history.add(85.0)
    first, second, _ = house.leases.claim("t", now_s=house.clock.now_s() + 1, lease_s=9.0, limit=9)
    house.leases.release("t")

    states = []
    for child in (first, second):
        subject = child.descriptor.subject.commit
        points = [
            a_point(child, m.name, 85.1, order_s=child.order_s, subject=subject, better="higher")
            for m in METRICS
        ]
        history.finish(child, points)
        states += [(one.state, one.why) for one in house.store.alerts.find()]

    assert states == [(AlertState.SUSPECTED, "")] * 2


def test_evidence_that_does_not_hold_is_resolved_in_silence(history, house):
    history.add(100.0, 20)
    history.descriptor = replace(history.descriptor, notify=(replace(TEAM, confirm_runs=1),))
    for _ in range(9):
        history.add(85.0)
        if house.runs.unfinished():
            break
    [child] = house.leases.claim("t", now_s=house.clock.now_s() + 1, lease_s=9.0, limit=9)
    house.leases.release("t")

    history.finish(
        child, [a_point(child, m.name, 100.0, order_s=child.order_s, better="higher") for m in METRICS]
    )
    found = history.add(100.0, 12)

    assert [one.state for one in found] == [AlertState.RESOLVED]
    assert history.told() == []


def test_a_series_that_jumps_while_its_subject_stays_is_unstable_and_tells_nobody(history):
    for level in (100.0, 80.0, 100.0, 80.0):
        history.add(level, 9, subject="one-commit")

    assert history.told() == []


def test_a_failure_is_one_alert_and_a_success_its_end(history):
    history.descriptor = replace(history.descriptor, notify=(TEAM,))
    history.add(100.0)
    history.add(100.0, 3, cause=Cause.TIMEOUT)
    [found] = history.add(100.0)

    assert (found.kind, found.state) == (AlertKind.FAILURE, AlertState.RESOLVED)
    assert [state for state, _ in history.told()] == ["confirmed", "resolved"]


def with_threshold(history, **bounds):
    metric = Metric(name="throughput", better=Better.HIGHER, threshold=Threshold(**bounds))
    return replace(
        history.descriptor, output=Output(metrics=(metric,)), notify=(replace(TEAM, on=("threshold",)),)
    )


@pytest.mark.parametrize(
    ("bounds", "bad"),
    [({"min": 90.0}, 80.0), ({"max": 110.0}, 120.0), ({"change": 0.05}, 90.0), ({"sigma": 5.0}, 90.0)],
)
def test_a_crossed_bound_is_told_once_and_resolved_when_it_is_kept(history, bounds, bad):
    history.descriptor = with_threshold(history, **bounds)
    history.add(100.0, 10)
    history.add(bad)
    thresholds = [one for one in history.add(100.0) if one.kind is AlertKind.THRESHOLD]

    assert [(one.state, one.why) for one in thresholds] == [(AlertState.RESOLVED, "the bound is kept again")]
    assert [state for state, _ in history.told()] == ["confirmed"]


@pytest.mark.parametrize("bounds", [{"change": 0.05}, {"sigma": 5.0}])
def test_a_relative_bound_is_not_kept_by_getting_used_to_the_new_level(history, bounds):
    history.descriptor = with_threshold(history, **bounds)
    history.add(100.0, 10)
    history.add(80.0, 12)
    [crossed] = [one for one in history.add(80.0) if one.kind is AlertKind.THRESHOLD]

    assert crossed.state is AlertState.CONFIRMED
    assert crossed.rows[0].effect == pytest.approx(-0.2, abs=0.02)
    [kept] = [one for one in history.add(100.0) if one.kind is AlertKind.THRESHOLD]
    assert (kept.state, kept.why) == (AlertState.RESOLVED, "the bound is kept again")


def test_a_bound_crossed_on_one_machine_is_not_kept_by_another(history, house):
    history.descriptor = with_threshold(history, min=90.0)
    history.add(80.0)
    run = a_run(history.descriptor, status=Status.ANALYSE, order_s=2.0, created_s=house.clock.now_s())
    house.runs.add([(run, "text")], [])

    history.finish(run, [a_point(run, "throughput", 100.0, fingerprint="other", order_s=2.0)])

    [found] = house.store.alerts.find()
    assert found.state is AlertState.CONFIRMED


def test_a_bound_that_no_descriptor_lists_any_more_is_gone_with_its_alert(history):
    history.descriptor = with_threshold(history, min=150.0)
    history.add(100.0)
    history.descriptor = with_threshold(history)

    [found] = history.add(100.0)

    assert (found.state, found.why) == (AlertState.RESOLVED, "the descriptor no longer declares this bound")


def test_a_series_that_never_succeeded_opens_no_failure_alert_and_says_why(history, house):
    history.add(100.0, 2, cause=Cause.USER_ERROR)
    assert house.store.alerts.find() == []
    assert history.told() == []
    notes = [event.message for event in house.events.read(history.run.id) if event.kind == "note"]
    assert notes == ["no failure alert: no earlier run of this series succeeded"]


def test_a_cancelled_run_needs_no_reason_for_its_silence(history, house):
    run = a_run(history.descriptor, status=Status.ANALYSE, cause=Cause.CANCELLED)
    step = analyse(replace(run, cancel_requested=True), house.world)
    assert [event.kind for event in step.events] == ["final"]


def test_a_crossed_bound_is_in_the_timeline_of_each_run_that_crosses_it(history, house):
    history.descriptor = with_threshold(history, min=90.0)
    for level, expected in ((80.0, 1), (80.0, 1), (100.0, 0)):
        history.add(level)
        events = [event for event in house.events.read(history.run.id) if event.kind == "threshold"]
        assert len(events) == expected
        for event in events:
            assert event.data == {"metric": "throughput", "bound": "min"}
            assert "below its minimum of 90 ms" in event.message
