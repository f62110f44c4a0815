"""From samples to points."""

import statistics
from array import array
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.descriptor import Descriptor, Info, Subject
from anubis.model.hardware import Hardware
from anubis.model.identity import digest, series_key
from anubis.model.metric import Better, Metric, Output, Summary
from anubis.model.points import NO_STEP, SampleBlock
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.pipeline.summarise import SUMMARIES, Measured, percentile, points_of

VALUES = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30)


def a_run(*metrics, commit=None):
    descriptor = Descriptor(
        info=Info(name="bench"),
        hardware=Hardware(instance_type="local"),
        output=Output(metrics=metrics),
        subject=Subject(commit=commit),
    )
    return Run(
        id="0" * 36,
        descriptor=descriptor,
        digest=digest(descriptor),
        series_key=series_key(descriptor),
        owner="me",
        engine="process",
        status=Status.COLLECT,
        created_s=1000.0,
        due_s=1000.0,
    )


def a_block(metric, by_repeat):
    pairs = [(repeat, value) for repeat, values in by_repeat.items() for value in values]
    return SampleBlock(
        metric=metric,
        units="img/s",
        values=array("d", [value for _, value in pairs]),
        times_s=array("d", [0.0] * len(pairs)),
        steps=array("q", [NO_STEP] * len(pairs)),
        repeats=array("i", [repeat for repeat, _ in pairs]),
    )


def executions(count, **changes):
    return [
        Measured(repeat=n, wall_s=1.0 + n, cpu_s=0.5, peak_process_bytes=None, **changes)
        for n in range(count)
    ]


@given(values=VALUES, share=st.floats(0, 1))
def test_percentiles_are_numpys(values, share):
    assert percentile(values, share) == pytest.approx(np.quantile(values, share), rel=1e-9, abs=1e-6)


@given(values=VALUES)
def test_every_summary_is_within_the_values_or_counts_them(values):
    for summary, function in SUMMARIES.items():
        if summary not in {Summary.COUNT, Summary.SUM}:
            assert min(values) - 1e-6 <= function(values) <= max(values) + 1e-6
    assert SUMMARIES[Summary.COUNT](values) == len(values)


def test_the_value_is_the_median_over_repeats_of_each_repeats_summary():
    run = a_run(Metric(name="throughput", summary=Summary.MEAN, units="img/s", better=Better.HIGHER))
    block = a_block("throughput", {0: [1.0, 3.0], 1: [10.0], 2: [4.0, 6.0]})

    point = points_of(run, [block], executions(3), "machine")[0]

    assert (point.metric, point.units, point.value, point.count, point.better) == (
        "throughput",
        "img/s",
        5.0,
        3,
        "higher",
    )
    assert point.spread == pytest.approx(statistics.stdev([2.0, 10.0, 5.0]))


def test_warm_ups_and_voided_repeats_do_not_count():
    block = a_block("throughput", {-1: [1000.0], 0: [1.0], 1: [500.0], 2: [3.0]})
    kept = [execution for execution in executions(3) if execution.repeat != 1]

    point = points_of(a_run(Metric(name="throughput")), [block], kept, "machine")[0]

    assert (point.value, point.count) == (2.0, 2)


def test_a_metric_without_samples_is_no_point():
    metrics = [point.metric for point in points_of(a_run(Metric(name="loss")), [], executions(1), "machine")]

    assert metrics == ["wall_time", "cpu_time"]


def test_an_undeclared_metric_counts_with_its_last_value_and_own_unit():
    point = points_of(a_run(), [a_block("extra", {0: [1.0, 2.0]})], executions(1), "machine")[0]

    assert (point.metric, point.value, point.units, point.spread) == ("extra", 2.0, "img/s", None)


def test_a_users_metric_of_the_same_name_replaces_the_agents():
    points = points_of(a_run(), [a_block("wall_time", {0: [7.0]})], executions(1), "machine")

    assert [point.value for point in points if point.metric == "wall_time"] == [7.0]


def test_a_disturbed_repeat_marks_the_points():
    points = points_of(a_run(commit="abc"), [], executions(2, disturbances=("steal",)), "machine")

    assert all(point.contaminated for point in points)
    assert {point.subject for point in points} == {"abc"}


@pytest.mark.parametrize(
    ("process", "tree", "expected"),
    [
        (100, 300.0, {"peak_memory": 300, "peak_process_memory": 100}),
        (100, 80.0, {"peak_memory": 100, "peak_process_memory": 100}),
        (100, None, {"peak_memory": 100, "peak_process_memory": 100}),
        (None, 300.0, {"peak_memory": 300}),
        (None, None, {}),
    ],
)
def test_peak_memory_is_that_of_the_tree_beside_its_largest_process(process, tree, expected):
    measured = [Measured(repeat=0, wall_s=1.0, cpu_s=0.5, peak_process_bytes=process, peak_tree_bytes=tree)]
    points = points_of(a_run(), [], measured, "machine")
    assert {p.metric: p.value for p in points if p.metric.startswith("peak")} == expected


def test_the_tree_counts_only_if_it_is_known_for_every_repeat():
    sizes = [(100, 300.0), (110, None), (120, 310.0)]
    measured = [
        Measured(repeat=at, wall_s=1.0, cpu_s=0.5, peak_process_bytes=process, peak_tree_bytes=tree)
        for at, (process, tree) in enumerate(sizes)
    ]
    values = {point.metric: point.value for point in points_of(a_run(), [], measured, "machine")}
    assert values["peak_memory"] == values["peak_process_memory"] == 110


RATE = Metric(name="rate", units="images/s", better=Better.HIGHER)


def test_energy_and_energy_per_unit_of_work_are_known_for_all_repeats_or_not_at_all():
    """Repeat n takes 1 + n seconds at 100 W and 50 images a second: 2 J for an image."""
    measured = [
        Measured(repeat=n, wall_s=1.0 + n, cpu_s=0.5, peak_process_bytes=None, cpu_energy_j=100.0 * (1 + n))
        for n in range(3)
    ]
    blocks = [a_block("rate", {0: [50.0], 1: [50.0], 2: [50.0]})]
    found = {point.metric: point for point in points_of(a_run(RATE), blocks, measured, "m")}
    assert (found["cpu_energy"].value, found["cpu_energy"].units) == (200.0, "J")
    assert (found["cpu_energy_per_work"].value, found["cpu_energy_per_work"].units) == (2.0, "J/images")
    assert not {"gpu_energy", "gpu_energy_per_work"} & set(found)
    measured[1] = replace(measured[1], cpu_energy_j=None)
    found = {point.metric for point in points_of(a_run(RATE), blocks, measured, "m")}
    assert not {"cpu_energy", "cpu_energy_per_work"} & found
