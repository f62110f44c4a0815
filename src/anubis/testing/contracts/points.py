"""The contract of ``Points`` as tests. A subclass has a fixture ``store`` with ``runs`` and ``points`` in it."""

import math
from array import array
from dataclasses import replace
from typing import Any

import pytest

from anubis.contracts.points import SeriesRow
from anubis.model.descriptor import Subject
from anubis.model.errors import NotFoundError
from anubis.model.ids import new_run_id
from anubis.model.points import NO_STEP, SampleBlock
from anubis.model.run import Run, Step
from anubis.model.status import Status
from anubis.testing.builders import NOW_S, a_descriptor, a_point, a_run, block_of, samples_of
from anubis.testing.contracts.runs import claimed, finished


def measured(store: Any, *blocks: SampleBlock) -> Run:
    """A run with these blocks of samples, written in one step each."""
    store.runs.add([(a_run(), "")], [])
    (run,) = claimed(store)
    for block in blocks:
        run = store.leases.apply("one", run, Step(status=Status.WATCH, samples=(block,)), now_s=NOW_S)
    return run


class PointsContract:
    """Points, samples and their summaries."""

    def test_points_come_back_as_they_were(self, store: Any) -> None:
        run = a_run()
        point = a_point(
            run, value=0.1, spread=0.01, count=5, better="lower", subject="v1", contaminated=True, order_s=1.5
        )
        other = a_point(run, "accuracy", 0.9, units="none", better="higher")
        finished(store, run, points=(point, other))
        assert store.points.of([run.id]) == [other, point]
        assert store.points.of([]) == []
        assert store.points.of([new_run_id()]) == []

    def test_points_of_runs_come_by_age_and_name(self, store: Any) -> None:
        runs = [a_run(created_s=NOW_S - age) for age in (1, 2)]
        for run in runs:
            finished(store, run, points=(a_point(run, "b"), a_point(run, "a"), a_point(run, "B")))
        found = [
            (point.run_id, point.metric) for point in store.points.of([run.id for run in reversed(runs)])
        ]
        assert found == [(run.id, metric) for run in runs for metric in ("B", "a", "b")]

    def test_a_history_is_in_order_of_its_subjects(self, store: Any) -> None:
        runs = [a_run() for _ in range(4)]
        for run, order_s in zip(runs, (3, 1, 2, 2), strict=True):
            finished(store, run, points=(a_point(run, order_s=order_s), a_point(run, "other")))
        history = store.points.history(runs[0].series_key, "latency")
        assert [point.run_id for point in history] == [runs[i].id for i in (1, 2, 3, 0)]
        assert store.points.history(runs[0].series_key, "latency", limit=2) == history[2:]
        assert store.points.history("another series", "latency") == []

    def test_machines_are_kept_apart(self, store: Any) -> None:
        runs = [a_run(), a_run()]
        for run, machine in zip(runs, ("one", "two"), strict=True):
            finished(store, run, points=(a_point(run, fingerprint=machine),))
        key = runs[0].series_key
        assert len(store.points.history(key, "latency")) == 2
        assert [point.run_id for point in store.points.history(key, "latency", "two")] == [runs[1].id]
        assert store.points.history(key, "latency", "three") == []

    def test_series_are_listed_with_what_was_measured(self, store: Any) -> None:
        one, two, empty = (
            a_run(a_descriptor(name, labels={"team": name})) for name in ("one", "two", "empty")
        )
        again = a_run(one.descriptor)
        finished(store, empty)
        finished(store, two, points=(a_point(two, "b"), a_point(two, "a")))
        for run, machine in ((one, "x"), (again, "y"), (a_run(one.descriptor), "x")):
            finished(store, run, points=(a_point(run, fingerprint=machine, units=machine),))
        assert store.points.series() == [
            SeriesRow(
                series_key=run.series_key,
                benchmark=name,
                labels={"team": name},
                metrics=tuple(sorted({metric for _, metric, _ in measured})),
                points=measured,
            )
            for run, name, measured in (
                (one, "one", {("x", "latency", "x"): 2, ("y", "latency", "y"): 1}),
                (two, "two", {("a-machine", "a", "ms"): 1, ("a-machine", "b", "ms"): 1}),
            )
        ]

    def test_the_newest_of_runs_with_one_order_count(self, store: Any) -> None:
        runs = [a_run(order_s=1.0) for _ in range(4)]
        for run in runs:
            finished(store, run, points=(a_point(run, order_s=1.0),))
        (block,) = store.points.histories([runs[0].series_key], ["latency"], most=2)
        assert block.run_ids == (runs[2].id, runs[3].id)
        newest = store.points.history(runs[0].series_key, "latency", limit=3)
        assert [point.run_id for point in newest] == [run.id for run in runs[1:]]

    def test_a_new_attempt_forgets_the_points_of_the_last_one(self, store: Any) -> None:
        store.runs.add([(a_run(), "")], [])
        (run,) = claimed(store)
        points = (a_point(run, fingerprint="old"),)
        run = store.leases.apply("one", run, Step(status=Status.COLLECT, points=points), now_s=NOW_S)
        anew = Step(status=Status.PLACE, next_attempt=True)
        run = store.leases.apply("one", run, anew, now_s=NOW_S)
        assert store.points.histories([run.series_key], ["latency"]) == store.points.series() == []
        points = (a_point(run, fingerprint="new"),)
        store.leases.apply("one", run, Step(status=Status.COLLECT, points=points), now_s=NOW_S)
        (block,) = store.points.histories([run.series_key], ["latency"])
        assert (block.fingerprint, block.run_ids) == ("new", (run.id,))

    def test_many_histories_come_at_once(self, store: Any) -> None:
        made: list[Run] = []
        for order_s in (3.0, 1.0, 2.0):
            for name in "ab":
                tested = Subject(version=f"v{order_s:g}")
                run = a_run(a_descriptor(name, subject=tested), order_s=order_s)
                changes: dict[str, Any] = {"order_s": order_s, "subject": tested.version, "fingerprint": name}
                points = (
                    a_point(run, value=0.1, spread=0.01, count=5, better="lower", **changes),
                    a_point(run, "other", units="s", contaminated=order_s == 1.0, **changes),
                    a_point(run, "third", **changes),
                )
                finished(store, run, points=points)
                made.append(run)
        keys = [run.series_key for run in made[:2]]
        found = store.points.histories(keys, ["latency", "other", "nothing"], before_s=3.0)
        assert {(block.series_key, block.metric) for block in found} == {
            (key, metric) for key in keys for metric in ("latency", "other")
        }
        for block in found:
            history = store.points.history(block.series_key, block.metric, block.fingerprint)
            assert block == block_of(history[:2])
        newest = store.points.histories(keys[:1], ["latency"], most=1)
        assert [block.subjects for block in newest] == [("v3",)]
        assert store.points.histories(keys, ["latency"], before_s=1.0) == []
        assert store.points.histories([], ["latency"]) == store.points.histories(keys, []) == []

    def test_the_newest_runs_of_each_machine_count(self, store: Any) -> None:
        machines = ["rare", *["busy"] * 4, "rare", *["busy"] * 4]
        runs = [a_run(order_s=float(at)) for at in range(len(machines))]
        for run, machine in zip(runs, machines, strict=True):
            finished(store, run, points=(a_point(run, fingerprint=machine, order_s=run.order_s),))
        found = store.points.histories([runs[0].series_key], ["latency"], most=2)
        assert {block.fingerprint: block.orders_s for block in found} == {
            "rare": (0.0, 5.0),
            "busy": (8.0, 9.0),
        }

    def test_a_history_keeps_runs_that_measured_other_metrics(self, store: Any) -> None:
        measured_by_run = (("a", "b"), ("a",), ("b", "a"), ("a", "c"), ("c",))
        for at, metrics in enumerate(measured_by_run):
            run = a_run(order_s=float(at))
            points = (a_point(run, metric, value=10.0 * at, order_s=float(at)) for metric in metrics)
            finished(store, run, points=tuple(points))
        found = store.points.histories([run.series_key], ["a", "b", "c"])
        assert {block.metric: (block.orders_s, block.values) for block in found} == {
            "a": ((0.0, 1.0, 2.0, 3.0), (0.0, 10.0, 20.0, 30.0)),
            "b": ((0.0, 2.0), (0.0, 20.0)),
            "c": ((3.0, 4.0), (30.0, 40.0)),
        }
        assert all(block == block_of(store.points.history(block.series_key, block.metric)) for block in found)

    def test_values_of_another_unit_are_another_block(self, store: Any) -> None:
        runs = [a_run(order_s=float(at)) for at in range(2)]
        for run, units in zip(runs, ("ms", "s"), strict=True):
            finished(store, run, points=(a_point(run, units=units),))
        found = store.points.histories([runs[0].series_key], ["latency"])
        assert {(block.units, block.run_ids) for block in found} == {
            ("ms", (runs[0].id,)),
            ("s", (runs[1].id,)),
        }

    def test_histories_of_many_series_and_metrics(self, store: Any) -> None:
        run = a_run()
        names = [f"metric {i}" for i in range(1_200)]
        finished(store, run, points=tuple(a_point(run, name) for name in names))
        keys = [run.series_key, *(f"{i:064x}" for i in range(600))]
        assert len(store.points.histories(keys, names)) == len(names)

    def test_a_point_replaces_the_one_of_the_same_metric(self, store: Any) -> None:
        store.runs.add([(a_run(), "")], [])
        (run,) = claimed(store)
        old, kept = a_point(run, value=1.0), a_point(run, "other")
        new = a_point(run, value=2.0, units="s", better="lower")
        run = store.leases.apply("one", run, Step(status=Status.COLLECT, points=(old, kept)), now_s=NOW_S)
        store.leases.apply("one", run, Step(status=Status.COLLECT, points=(new,)), now_s=NOW_S)
        assert store.points.of([run.id]) == [new, kept]

    @pytest.mark.parametrize("length", [1, 2, 255, 300, 10_000])
    def test_samples_come_back_without_loss(self, store: Any, length: int) -> None:
        block = SampleBlock(
            metric="latency",
            units="ms",
            values=array("d", [math.sin(i) * 10 ** (i % 40 - 20) for i in range(length)]),
            times_s=array("d", [NOW_S + i / 7 for i in range(length)]),
            steps=array("q", [i * i for i in range(length)]),
            repeats=array("i", [i % 5 - 2 for i in range(length)]),
        )
        run = measured(store, block)
        assert store.points.samples(run.id, "latency") == block

    def test_samples_with_odd_columns_come_back(self, store: Any) -> None:
        block = SampleBlock(
            metric="latency",
            units="ms",
            values=array("d", [math.inf, -math.inf, 5e-324, -0.0]),
            times_s=array("d", [0.0, -1.5, 1e300, 0.25]),
            steps=array("q", [NO_STEP, 2**63 - 1, 0, NO_STEP]),
            repeats=array("i", [-(2**31), 2**31 - 1, 0, -1]),
        )
        run = measured(store, block)
        assert store.points.samples(run.id, "latency") == block

    def test_nan_affects_only_the_mean(self, store: Any) -> None:
        run = measured(store, samples_of([2.0, math.nan, 1.0]))
        values = store.points.samples(run.id, "latency").values
        assert [math.isnan(value) for value in values] == [False, True, False]
        (summary,) = store.points.summaries(run.id)
        assert (summary.count, summary.min, summary.max, summary.last) == (3, 1.0, 2.0, 1.0)
        assert math.isnan(summary.mean)

    def test_blocks_follow_one_another(self, store: Any) -> None:
        run = measured(store, samples_of([1.0, 2.0]), samples_of([7.0], start=2), samples_of([], start=3))
        block = store.points.samples(run.id, "latency")
        assert list(block.values) == [1.0, 2.0, 7.0]
        assert list(block.times_s) == [NOW_S, NOW_S + 1, NOW_S + 2]
        (summary,) = store.points.summaries(run.id)
        assert (summary.metric, summary.units, summary.count) == ("latency", "ms", 3)
        assert (summary.last, summary.min, summary.max) == (7.0, 1.0, 7.0)
        assert summary.mean == pytest.approx(10 / 3)

    @pytest.mark.parametrize("start", [1, 2, 3])
    def test_warm_ups_are_stored_but_not_summarised(self, store: Any, start: int) -> None:
        def block(begin: int, end: int) -> SampleBlock:
            values, repeats = array("d", [90.0, 1.0, 80.0, 3.0]), array("i", [-2, 0, -1, 1])
            return replace(samples_of(values[begin:end], start=begin), repeats=repeats[begin:end])

        whole, parts = block(0, 4), (block(0, start), block(start, 4))
        for blocks in ((whole,), parts):
            run = measured(store, *blocks)
            stored = store.points.samples(run.id, "latency")
            assert (stored.values, stored.repeats) == (whole.values, whole.repeats)
            (summary,) = store.points.summaries(run.id)
            assert (summary.count, summary.last, summary.min, summary.max, summary.mean) == (2, 3, 1, 3, 2)
        run = measured(store, block(0, 1))
        assert list(store.points.samples(run.id, "latency").values) == [90.0]
        assert store.points.summaries(run.id) == []

    @pytest.mark.parametrize("start", [0, 1, 2, 3])
    def test_a_block_replaces_what_was_stored_from_its_start_on(self, store: Any, start: int) -> None:
        new = samples_of([8.0, 9.0], start=start)
        run = measured(store, samples_of([1.0, 2.0]), samples_of([3.0, 4.0], start=2), new)
        expected = [*[1.0, 2.0, 3.0, 4.0][:start], 8.0, 9.0]
        assert list(store.points.samples(run.id, "latency").values) == expected
        (summary,) = store.points.summaries(run.id)
        assert (summary.count, summary.min, summary.mean) == (
            len(expected),
            min(expected),
            sum(expected) / len(expected),
        )

    def test_a_block_after_a_gap_is_refused(self, store: Any) -> None:
        run = measured(store, samples_of([1.0, 2.0]))
        step = Step(status=Status.WATCH, samples=(samples_of([3.0], start=3),))
        with pytest.raises(ValueError, match="2 are stored"):
            store.leases.apply("one", run, step, now_s=NOW_S)
        assert len(store.points.samples(run.id, "latency").values) == 2

    def test_every_metric_has_a_summary(self, store: Any) -> None:
        run = measured(store, samples_of([1.0], "b"), samples_of([2.0], "a"), samples_of([0.0], "B"))
        assert [summary.metric for summary in store.points.summaries(run.id)] == ["B", "a", "b"]
        assert list(store.points.samples(run.id, "a").values) == [2.0]
        assert store.points.summaries(new_run_id()) == []

    def test_samples_of_an_unknown_metric_are_not_found(self, store: Any) -> None:
        run = measured(store, samples_of([1.0]))
        for run_id, metric in ((run.id, "other"), (new_run_id(), "latency")):
            with pytest.raises(NotFoundError):
                store.points.samples(run_id, metric)

    @pytest.mark.parametrize("length", [11, 1000, 20_000])
    def test_thinned_samples_keep_their_extremes(self, store: Any, length: int) -> None:
        values = [math.sin(i * 0.37) for i in range(length)]
        values[length // 3], values[length // 2] = 50.0, -50.0
        block = samples_of(values)
        run = measured(store, block)
        thin = store.points.samples(run.id, "latency", most=10)
        assert len(thin.values) <= 10
        assert {50.0, -50.0} <= set(thin.values)
        assert list(thin.times_s) == sorted(thin.times_s)
        at = {time_s: i for i, time_s in enumerate(block.times_s)}
        assert list(thin.values) == [values[at[time_s]] for time_s in thin.times_s]

    def test_few_samples_are_not_thinned(self, store: Any) -> None:
        block = samples_of([1.0, 2.0, 3.0])
        run = measured(store, block)
        assert store.points.samples(run.id, "latency", most=3) == block
        last = store.points.samples(run.id, "latency", most=1)
        assert last == replace(samples_of([3.0]), times_s=array("d", [NOW_S + 2]))
        with pytest.raises(ValueError, match="at least 1"):
            store.points.samples(run.id, "latency", most=0)
