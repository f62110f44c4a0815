"""What is known of every series, and judging all of history again."""

from dataclasses import replace

import numpy as np
import pytest

from anubis.judging.alert_triage import TriageAction, triage
from anubis.judging.series_overview import SeriesState, rejudge, series_overviews
from anubis.model.alert import AlertKind, AlertState
from anubis.model.descriptor import Notify
from anubis.model.status import Status
from anubis.testing import a_descriptor, a_point, a_run

TEAM = Notify(to="mailto:team@example.org")


@pytest.fixture
def bench(house):
    """Stores finished runs that no stage has judged, as an import does."""

    class Bench:
        random = np.random.default_rng(3)
        at = 0

        def add(self, *levels, name="bench", metrics=("throughput",), subject=None, **changes):
            for level in levels:
                self.at += 1
                run = a_run(
                    replace(a_descriptor(name, labels={"team": name}), notify=(TEAM,)),
                    status=Status.SUCCEEDED,
                )
                points = [
                    a_point(
                        run,
                        metric,
                        level * float(np.exp(0.005 * self.random.standard_normal())),
                        order_s=float(self.at),
                        subject=subject or f"v{self.at}",
                        **{"better": "higher", **changes},
                    )
                    for metric in metrics
                ]
                house.runs.add_finished([(run, "text")], points)
                self.last = run

    return Bench()


def states(house, **conditions):
    return {
        (one.benchmark, one.points[-1].metric): one.state
        for one in series_overviews(house.world, **conditions)
    }


def test_series_are_judged(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 20)
    (one,) = series_overviews(house.world)
    assert (one.benchmark, one.labels, one.verdict.n) == ("bench", {"team": "bench"}, 50)
    assert [change.index for change in one.verdict.changes] == [30]
    assert one.state is SeriesState.STABLE
    assert one.points[30].subject == "v31"


def test_a_series_is_new_before_it_has_a_noise(house, bench):
    bench.add(*[100.0] * 3)
    assert states(house) == {("bench", "throughput"): SeriesState.NEW}


def test_a_point_outside_is_suspected(house, bench):
    bench.add(*[100.0] * 40, 80.0)
    assert states(house) == {("bench", "throughput"): SeriesState.SUSPECTED}


def test_a_level_that_changes_with_the_subject_unchanged_is_unstable(house, bench):
    bench.add(*[100.0] * 30, *[80.0] * 20, subject="same")
    assert states(house) == {("bench", "throughput"): SeriesState.UNSTABLE}
    assert rejudge(house.world) == []


def test_a_series_with_two_modes_is_unstable_and_raises_no_alerts(house, bench):
    bench.add(*([100.0] * 12 + [90.0] * 12) * 5)
    [one] = series_overviews(house.world)
    assert one.state is SeriesState.UNSTABLE
    assert [round(mode.level) for mode in one.verdict.instability.modes] == [90, 100]
    assert rejudge(house.world) == []


def test_the_open_alert_of_a_series_that_became_unstable_says_so(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 12)
    [opened] = rejudge(house.world)
    bench.add(*([100.0] * 12 + [90.0] * 12) * 4)

    [alert] = rejudge(house.world)

    assert (alert.id, alert.state) == (opened.id, AlertState.CONFIRMED)
    assert alert.rows[0].note.startswith("unstable: alternates between ")
    assert rejudge(house.world) == [], "nothing is different the second time"


def test_what_every_run_has_is_shown_where_there_is_nothing_else(house, bench):
    bench.add(*[1.0] * 8, metrics=("throughput", "wall_time"))
    bench.add(*[1.0] * 8, name="bare", metrics=("wall_time", "cpu_time"))
    assert set(states(house)) == {("bench", "throughput"), ("bare", "wall_time"), ("bare", "cpu_time")}
    assert set(states(house, metric="wall_time")) == {("bench", "wall_time"), ("bare", "wall_time")}


def test_conditions_narrow(house, bench):
    bench.add(1.0, name="one")
    bench.add(1.0, name="two")
    assert set(states(house, benchmark="one")) == {("one", "throughput")}
    assert states(house, benchmark="three") == {}


def test_values_that_are_no_numbers_are_left_out(house, bench):
    bench.add(*[1.0] * 7, float("nan"))
    (one,) = series_overviews(house.world)
    assert one.verdict.n == 7


def test_judging_again_opens_alerts_and_tells_nobody(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 20, metrics=("throughput", "bandwidth"))
    (alert,) = rejudge(house.world)
    assert (alert.kind, alert.state, len(alert.rows)) == (AlertKind.REGRESSION, AlertState.CONFIRMED, 2)
    assert alert.told is AlertState.CONFIRMED, "the next run must not tell of it either"
    assert len(house.store.alerts.trail(alert.id)) == 1
    assert house.store.deliveries.of(alert.id) == []
    assert rejudge(house.world) == [], "nothing is different the second time"


def test_those_who_asked_hear_of_it_when_told_to(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 20)
    (alert,) = rejudge(house.world, tell=True)
    (delivery,) = house.store.deliveries.of(alert.id)
    assert (delivery.to, delivery.state) == ("mailto:team@example.org", AlertState.CONFIRMED)


def test_judging_again_resolves_what_came_back(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 20)
    (alert,) = rejudge(house.world)
    bench.add(*[100.0] * 15)
    changed = {one.id: one.state for one in rejudge(house.world)}
    assert changed[alert.id] is AlertState.RESOLVED


def test_old_changes_are_history_and_no_alerts(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 60)
    assert rejudge(house.world) == []


def test_one_benchmark_alone_may_be_judged(house, bench):
    for name in ("one", "two"):
        bench.add(*[100.0] * 30, *[90.0] * 20, name=name)
    assert [alert.benchmark for alert in rejudge(house.world, benchmark="two")] == ["two"]


def test_an_alert_whose_run_was_purged_is_told_in_the_newest_timeline(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 20)
    (alert,) = rejudge(house.world)
    house.runs.remove([alert.run_id])
    after = triage(house.world, alert.id, TriageAction.ACCEPT, actor="me", why="meant")
    assert after.state is AlertState.ACCEPTED
    assert house.store.alerts.trail(alert.id)[-1].message.endswith("meant")
