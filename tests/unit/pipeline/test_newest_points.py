"""The newest points of a series lead to the same alerts as all of them, whatever happened before."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from anubis.model.alert import AlertState
from anubis.model.descriptor import Subject
from anubis.model.ids import new_run_id
from anubis.model.metric import Better, Metric, Output
from anubis.model.status import Status
from anubis.pipeline.stages import analyse
from anubis.testing import FakeClock, FakeStore, a_descriptor, a_point, a_run

#: Points before the first run that is analysed: more than are read.
EARLIER = analyse.NEWEST_POINTS + 10
DESCRIPTOR = replace(
    a_descriptor("bench"), output=Output(metrics=(Metric(name="latency", better=Better.LOWER),))
)
RUN = a_run(DESCRIPTOR, status=Status.ANALYSE)


class Series:
    """A benchmark with one metric, whose runs are analysed one by one."""

    def __init__(self):
        store, self.points = FakeStore(), []
        self.alerts = store.alerts
        self.world = SimpleNamespace(points=self, alerts=store.alerts, runs=store.runs, clock=FakeClock())
        self.most_read = 0

    def of(self, run_ids):
        return [point for point in self.points if point.run_id in run_ids]

    def history(self, *_, limit):
        self.most_read = max(self.most_read, limit)
        return self.points[-limit:]

    def add(self, number, value):
        subject = f"commit-{number:04}"
        run = replace(RUN, id=new_run_id(), descriptor=replace(DESCRIPTOR, subject=Subject(commit=subject)))
        self.points.append(
            a_point(run, value=value, subject=subject, order_s=float(number), better=Better.LOWER)
        )
        self.points.sort(key=lambda point: (point.order_s, point.run_id))
        if len(self.points) > EARLIER or number >= 200:
            self.alerts.put(analyse.analyse(run, self.world).alerts, [], [])

    def answers(self):
        return {
            alert.id: (
                alert.state,
                alert.kind,
                alert.last_old,
                alert.first_new,
                alert.why,
                [(row.metric, row.effect > 0) for row in alert.rows],
            )
            for alert in self.alerts.find()
        }


LEVELS = st.sampled_from([100.0, 80.0, 115.0, 140.0])
SEGMENTS = st.lists(st.tuples(LEVELS, st.integers(15, 80)), min_size=1, max_size=4)


@settings(max_examples=5, phases=[Phase.generate])
@given(segments=SEGMENTS, spikes=st.sets(st.integers(0, 150), max_size=3), seed=st.integers(0, 1000))
def test_the_newest_points_lead_to_the_alerts_of_all_points(segments, spikes, seed):
    generator, parts, whole = np.random.default_rng(seed), Series(), Series()
    for number, level in enumerate([100.0] * EARLIER + [level for level, n in segments for _ in range(n)]):
        value = level * (1 + 0.01 * generator.standard_normal()) * (3 if number - EARLIER in spikes else 1)
        parts.add(number, value)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(analyse, "NEWEST_POINTS", analyse.MOST_POINTS)
            whole.add(number, value)
        assert parts.answers() == whole.answers(), number


def test_an_alert_outlives_the_points_around_its_change_until_its_level_is_restored(monkeypatch):
    """Its change is neither among the newest points nor among all that are read at most."""
    monkeypatch.setattr(analyse, "MOST_POINTS", 350)
    series, generator = Series(), np.random.default_rng(1)
    for number, level in enumerate([100.0] * EARLIER + [130.0] * 360 + [100.0] * 20):
        series.add(number, level * (1 + 0.01 * generator.standard_normal()))
        if number == EARLIER + 359:
            [alert] = series.alerts.find()
            assert (alert.state, alert.first_new) == (AlertState.CONFIRMED, f"commit-{EARLIER:04}")
    [alert] = series.alerts.find()
    assert (alert.state, alert.why) == (AlertState.RESOLVED, "the level is restored")
    assert series.most_read <= 350


def test_all_points_decide_whether_a_series_is_silent_because_it_has_no_stable_level():
    series, generator = Series(), np.random.default_rng(1)
    for number in range(EARLIER + 3):
        level = 110.0 if number // 20 % 2 else 100.0
        series.add(number, level * (1 + 0.01 * generator.standard_normal()))
    assert series.most_read == analyse.MOST_POINTS
    assert series.alerts.find() == []


def test_runs_that_measure_one_subject_again_do_not_hide_its_change(monkeypatch):
    """Most of the newest points count only once, so that too few would be left to judge."""
    monkeypatch.setattr(analyse, "NEWEST_POINTS", 120)
    series, generator = Series(), np.random.default_rng(1)
    for number in range(200):
        series.add(number, 100 * (1 + 0.01 * generator.standard_normal()))
    series.add(205, 100.0)
    for _ in range(100):
        series.add(200, 100 * (1 + 0.01 * generator.standard_normal()))
    for number in range(210, 218):
        series.add(number, 130 * (1 + 0.01 * generator.standard_normal()))
    [alert] = series.alerts.find()
    assert (alert.state, alert.first_new) == (AlertState.CONFIRMED, "commit-0210")
