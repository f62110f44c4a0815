"""From histories to alerts: one for each level shift, told once, confirmed first when asked, resolved by data."""

from dataclasses import replace

import numpy as np
import pytest

from anubis.model.alert import AlertKind, AlertState
from anubis.model.cause import Cause
from anubis.model.descriptor import Notify, Script, Subject
from anubis.model.errors import ConflictError
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


def test_an_alert_stays_open_while_its_change_leaves_the_newest_points(history, monkeypatch):
    monkeypatch.setattr("anubis.pipeline.stages.analyse.NEWEST_POINTS", 60)
    monkeypatch.setattr("anubis.judging.alert_rules.EDGE", 10)
    history.add(100.0, 20)
    history.add(90.0, 12)
    [opened] = history.add(90.0, 70)
    assert opened.state is AlertState.CONFIRMED
    [resolved] = history.add(100.0, 12)

    assert (resolved.id, resolved.state, resolved.why) == (
        opened.id,
        AlertState.RESOLVED,
        "the level is restored",
    )


def test_a_long_quiet_series_is_judged_by_its_newest_points(history, house, monkeypatch):
    monkeypatch.setattr("anubis.pipeline.stages.analyse.NEWEST_POINTS", 10)
    history.add(100.0, 30)
    limits = []
    read = house.store.points.history
    monkeypatch.setattr(
        house.store.points,
        "history",
        lambda *series, limit=10_000: limits.append(limit) or read(*series, limit=limit),
        raising=True,
    )

    history.add(100.0, 3, spread=0.0)

    assert limits == [10] * 6


def test_an_old_subject_is_judged_by_the_points_before_it(history, monkeypatch):
    monkeypatch.setattr("anubis.pipeline.stages.analyse.NEWEST_POINTS", 10)
    history.descriptor = with_threshold(history, change=0.05)
    history.add(100.0, 30)

    found = history.add(70.0, at=15.5)

    assert [alert.kind for alert in found] == [AlertKind.THRESHOLD]


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


ARCHIVED = Script(script="a.tar")


class Confirmation:
    """A suspicion, and the runs that it ordered."""

    def __init__(self, history, house, count, *, script=ARCHIVED, level=85.0):
        self.history, self.house = history, house
        history.descriptor = replace(history.descriptor, ml=replace(history.descriptor.ml, script=script))
        history.add(100.0, 20)
        history.descriptor = replace(history.descriptor, notify=(replace(TEAM, confirm_runs=count),))
        history.add(level)
        self.cause = history.run
        self.runs = house.leases.claim("t", now_s=house.clock.now_s() + 9999, lease_s=9.0, limit=99)
        house.leases.release("t")

    def measure(self, run, level, cause=None):
        """One of the ordered runs, measured."""
        self.house.clock.advance(max(0.0, run.due_s - self.house.clock.now_s()))
        subject = run.descriptor.subject.commit
        levels = level if isinstance(level, dict) else dict.fromkeys((m.name for m in METRICS), level)
        points = [
            a_point(run, name, value, order_s=run.order_s, subject=subject, better="higher")
            for name, value in levels.items()
        ]
        self.history.finish(replace(run, cause=cause), [] if cause else points)

    def measure_all(self, baseline, contender):
        """All runs that were ordered; each side has one level, with a little noise."""
        for run in self.runs:
            noise = 1 + 0.002 * self.history.random.standard_normal()
            self.measure(run, noise * (baseline if run.cell["side"] == "baseline" else contender))

    @property
    def alert(self):
        [found] = self.house.store.alerts.find()
        return found


def test_both_sides_run_again_alternated_before_anybody_is_told(history, house):
    confirmation = Confirmation(history, house, 3)

    assert (confirmation.alert.state, confirmation.alert.rounds) == (AlertState.SUSPECTED, 1)
    assert history.told() == []
    subjects = [run.descriptor.subject.commit[-2:] for run in confirmation.runs]
    assert subjects == ["20", "21", "21", "20", "20", "21"]
    assert [run.cell["round"] for run in confirmation.runs] == [1, 1, 2, 2, 3, 3]
    assert {run.parent_id for run in confirmation.runs} == {confirmation.cause.id}
    assert len({run.family_id for run in confirmation.runs}) == 1


@pytest.mark.parametrize(("contender", "state"), [(100.0, AlertState.RESOLVED), (85.0, AlertState.CONFIRMED)])
def test_the_effect_of_the_order_of_confirming_runs_decides_nothing(history, house, contender, state):
    """The second run of each pair is 30 % slower."""
    confirmation = Confirmation(history, house, 8)
    for number, run in enumerate(confirmation.runs):
        level = 100.0 if run.cell["side"] == "baseline" else contender
        confirmation.measure(
            run, level * (1 - 0.3 * (number % 2)) * (1 + 0.002 * history.random.standard_normal())
        )

    assert confirmation.alert.state is state
    assert "without the effect of their order: the second run is 3" in confirmation.alert.why
    assert "lower than the first" in confirmation.alert.why


@pytest.mark.parametrize(
    ("count", "level", "pairs"), [(1, 85.0, 1), (1, 98.0, 3), (6, 98.0, 6), (1, 98.4, 4)]
)
def test_there_are_at_least_as_many_pairs_as_decide_about_the_suspected_change(
    history, house, count, level, pairs
):
    confirmation = Confirmation(history, house, count, level=level)

    assert len(confirmation.runs) == 2 * pairs


@pytest.mark.parametrize("count", [2, 3, 8])
def test_confirming_runs_that_hold_confirm_and_tell(history, house, count):
    confirmation = Confirmation(history, house, count)
    for run in confirmation.runs:
        assert history.told() == []
        confirmation.measure(run, 100.5 if run.cell["side"] == "baseline" else 85.1)

    assert history.told() == [("confirmed", ["mailto:team@example.org"])]
    assert confirmation.alert.state is AlertState.CONFIRMED
    assert f"-15.3 % [-15.3, -15.3] ({count} pairs)" in confirmation.alert.why or count < 7
    history.add(85.0, 6)
    assert history.told() == [("confirmed", ["mailto:team@example.org"])]


@pytest.mark.parametrize("count", [2, 3, 8])
def test_a_machine_that_is_slow_for_both_sides_confirms_nothing(history, house, count):
    """The suspected points and the runs that confirm share one state of the machine: pooled they would look like a change."""
    confirmation = Confirmation(history, house, count)
    confirmation.measure_all(85.0, 85.0)

    assert confirmation.alert.state is AlertState.RESOLVED
    assert confirmation.alert.why.startswith("not confirmed by running again: ")
    assert f"({count} pairs)" in confirmation.alert.why
    assert history.told() == []


def test_a_true_shift_on_a_machine_with_another_state_is_confirmed(history, house):
    confirmation = Confirmation(history, house, 3)
    confirmation.measure_all(130.0, 130.0 * 0.85)

    assert confirmation.alert.state is AlertState.CONFIRMED


def test_a_change_in_the_other_direction_is_not_confirmed(history, house):
    confirmation = Confirmation(history, house, 3)
    confirmation.measure_all(85.0, 100.0)

    assert confirmation.alert.state is AlertState.RESOLVED


def test_a_change_below_the_smallest_effect_that_counts_is_not_confirmed(history, house):
    threshold = Threshold(min_effect=0.2)
    metrics = tuple(replace(metric, threshold=threshold) for metric in METRICS)
    history.descriptor = replace(history.descriptor, output=Output(metrics=metrics))
    confirmation = Confirmation(history, house, 3)
    confirmation.measure_all(100.0, 85.0)

    assert confirmation.alert.state is AlertState.RESOLVED


def test_only_the_metrics_that_hold_are_told(history, house):
    confirmation = Confirmation(history, house, 3)
    for run in confirmation.runs:
        level = 100.0 if run.cell["side"] == "baseline" else 85.0
        confirmation.measure(run, {"throughput": level, "bandwidth": 85.0})

    assert confirmation.alert.state is AlertState.CONFIRMED
    assert [row.metric for row in confirmation.alert.rows] == ["throughput"]


def test_an_alert_waits_for_all_its_confirming_runs_whatever_the_first_of_them_says(history, house):
    confirmation = Confirmation(history, house, 3)

    for run in confirmation.runs[:-1]:
        confirmation.measure(run, 100.0 if run.cell["side"] == "baseline" else 85.1)
        assert (confirmation.alert.state, confirmation.alert.why) == (AlertState.SUSPECTED, "")


def test_the_last_two_confirming_runs_may_be_analysed_at_the_same_time(history, house):
    confirmation = Confirmation(history, house, 2)
    for run in confirmation.runs[:-2]:
        confirmation.measure(run, 100.0 if run.cell["side"] == "baseline" else 85.1)
    now_s = house.clock.now_s()
    claimed = house.leases.claim("t", now_s=now_s, lease_s=9.0, limit=9)
    waiting = []
    for run in claimed:
        level = 100.0 if run.cell["side"] == "baseline" else 85.1
        points = tuple(
            a_point(run, m.name, level, order_s=run.order_s, subject=run.descriptor.subject.commit)
            for m in METRICS
        )
        waiting.append(house.leases.apply("t", run, Step(status=Status.ANALYSE, points=points), now_s=now_s))
    first, second = [analyse(run, house.world) for run in waiting]
    house.leases.apply("t", waiting[0], first, now_s=now_s)
    with pytest.raises(ConflictError):
        house.leases.apply("t", waiting[1], second, now_s=now_s)
    assert confirmation.alert.state is AlertState.CONFIRMED


def test_failed_confirming_runs_leave_their_pairs_out(history, house):
    confirmation = Confirmation(history, house, 4)
    for at, run in enumerate(confirmation.runs):
        level = 100.0 if run.cell["side"] == "baseline" else 85.1
        confirmation.measure(run, level, cause=Cause.TIMEOUT if at == 2 else None)

    [found] = [one for one in house.store.alerts.find() if one.kind is AlertKind.REGRESSION]
    assert found.state is AlertState.CONFIRMED
    assert "(3 pairs)" in found.why


def test_confirming_runs_without_values_confirm_nothing(history, house):
    confirmation = Confirmation(history, house, 2)
    for run in confirmation.runs:
        confirmation.measure(run, 1.0, cause=Cause.TIMEOUT)

    [found] = [one for one in house.store.alerts.find() if one.kind is AlertKind.REGRESSION]
    assert (found.state, found.why) == (
        AlertState.RESOLVED,
        "not confirmed by running again: the runs have no values",
    )


def test_evidence_that_does_not_hold_is_resolved_in_silence(history, house):
    confirmation = Confirmation(history, house, 2)
    confirmation.measure_all(100.0, 100.0)
    found = history.add(100.0, 12)

    assert [one.state for one in found] == [AlertState.RESOLVED]
    assert history.told() == []


def test_later_points_that_show_the_change_order_one_more_round(history, house):
    confirmation = Confirmation(history, house, 2)
    confirmation.measure_all(85.0, 85.0)
    for _ in range(12):
        history.add(85.0)
        if house.runs.unfinished():
            break
    assert (confirmation.alert.state, confirmation.alert.rounds) == (AlertState.SUSPECTED, 2)
    confirmation.runs = house.leases.claim("t", now_s=house.clock.now_s(), lease_s=9.0, limit=99)
    house.leases.release("t")
    confirmation.measure_all(85.0, 85.0)
    assert confirmation.alert.state is AlertState.RESOLVED
    history.add(85.0, 6)
    assert (confirmation.alert.state, house.runs.unfinished()) == (AlertState.RESOLVED, 0)
    assert history.told() == []


def test_without_the_code_of_the_baseline_the_contender_runs_in_a_later_session(history, house):
    confirmation = Confirmation(history, house, 3, script=None)

    assert [run.cell["side"] for run in confirmation.runs] == ["contender"] * 3
    pause_s = house.world.session_pause_s
    assert all(run.due_s > confirmation.cause.created_s + pause_s for run in confirmation.runs)
    assert confirmation.alert.why.startswith(
        "the baseline cannot run again: its code was not archived (submit with --script). The contender runs"
    )
    trail = house.store.alerts.trail(confirmation.alert.id)
    assert trail[-1].message.startswith("regression suspected: the baseline cannot run again")


@pytest.mark.parametrize(
    ("level", "state"),
    [(85.0, AlertState.CONFIRMED), (100.0, AlertState.RESOLVED)],
    ids=["holds", "does not"],
)
def test_without_a_baseline_a_later_session_is_compared_with_the_history(history, house, level, state):
    confirmation = Confirmation(history, house, 3, script=None)
    confirmation.measure_all(None, level)

    assert confirmation.alert.state is state
    assert "(3 runs against 20 points of the history)" in confirmation.alert.why
    assert history.told() == ([("confirmed", [TEAM.to])] if state is AlertState.CONFIRMED else [])


def test_a_baseline_that_was_deleted_is_named(history, house):
    history.descriptor = replace(
        history.descriptor, ml=replace(history.descriptor.ml, script=Script(script="a.tar"))
    )
    history.add(100.0, 20)
    house.runs.get = lambda run_id, get=house.runs.get: get("f" if run_id == last.id else run_id)
    last = history.run
    history.descriptor = replace(history.descriptor, notify=(replace(TEAM, confirm_runs=1),))
    [found] = history.add(85.0)

    assert found.why.startswith("the baseline cannot run again: its run was deleted")


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


def test_a_benchmark_that_fails_again_after_a_success_has_an_open_alert_again(history):
    history.add(100.0)
    history.add(0.0, cause=Cause.LOST)
    history.add(100.0)
    [alert] = history.add(0.0, cause=Cause.LOST)
    assert (alert.kind, alert.state, alert.run_id) == (
        AlertKind.FAILURE,
        AlertState.CONFIRMED,
        history.run.id,
    )
    assert history.run.id in {delivery.run_id for delivery in history.deliveries}
    [alert] = history.add(100.0)
    assert alert.state is AlertState.RESOLVED


def test_a_bound_that_is_crossed_again_after_it_was_kept_has_an_open_alert_again(history):
    history.descriptor = with_threshold(history, min=90.0)
    states = [[alert.state for alert in history.add(level)] for level in (100.0, 50.0, 100.0, 50.0, 100.0)]
    opened, resolved = [AlertState.CONFIRMED], [AlertState.RESOLVED]
    assert states == [[], opened, resolved, opened, resolved]


def test_a_failure_after_a_resolved_one_is_told_again(history):
    history.descriptor = replace(history.descriptor, notify=(TEAM,))
    for level, cause in ((100.0, None), (0.0, Cause.TIMEOUT)) * 3:
        [found] = history.add(level, cause=cause) or [None]

    assert (found.kind, found.state) == (AlertKind.FAILURE, AlertState.CONFIRMED)
    assert [state for state, _ in history.told()] == ["confirmed", "resolved"] * 2 + ["confirmed"]


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


def test_a_bound_that_is_crossed_after_it_was_kept_again_is_told_again(history):
    history.descriptor = with_threshold(history, min=90.0)
    history.add(100.0)
    for level in (80.0, 100.0, 80.0):
        [found] = history.add(level)

    assert (found.kind, found.state) == (AlertKind.THRESHOLD, AlertState.CONFIRMED)
    assert [state for state, _ in history.told()] == ["confirmed"] * 2


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


def test_two_drivers_that_finish_one_benchmark_notify_once(history, house):
    history.add(100.0, 20)
    history.add(90.0, 12)
    [found] = house.store.alerts.find()
    house.store.alerts.put([replace(found, told=None)], [])
    runs = [a_run(history.descriptor, status=Status.ALERT) for _ in range(2)]
    house.runs.add([(run, "text") for run in runs], [])
    now_s = house.clock.now_s()
    runs = house.leases.claim("t", now_s=now_s, lease_s=9.0, limit=9)
    first, second = [alert(run, house.world) for run in runs]
    house.leases.apply("t", runs[0], first, now_s=now_s)
    with pytest.raises(ConflictError):
        house.leases.apply("t", runs[1], second, now_s=now_s)
    again = alert(runs[1], house.world)
    house.leases.apply("t", runs[1], again, now_s=now_s)
    assert (len(first.deliveries), len(again.deliveries), again.alerts) == (1, 0, ())


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("old", [20, None], ids=["one old commit again and again", "many old commits"])
def test_old_subjects_that_are_measured_again_do_not_hide_a_later_step(history, seed, old):
    history.random = np.random.default_rng(seed)
    history.add(100.0, 28, spread=0.01)
    for number in range(27):  # each in a session with another state of the machine
        state = float(np.exp(0.08 * history.random.standard_normal()))
        history.add(100.0 * state, at=old or number + 1, spread=0.01)
    history.count = 28
    history.add(90.0, 9, spread=0.01)

    found = [(one.kind, one.state) for one in history.add(90.0, 0)]

    assert found == [(AlertKind.REGRESSION, AlertState.CONFIRMED)]


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
