"""From a record to a verdict-ready run, or to a cause that explains itself."""

import json
from dataclasses import replace

import pytest

from anubis.model.cause import Cause
from anubis.model.metric import Metric, Output
from anubis.model.status import Status
from anubis.pipeline.stages.collect import collect
from anubis.record import samples, telemetry
from anubis.record.validation import DamagedError
from anubis.testing import a_descriptor, a_run
from anubis.testing.builders import NOW_S

THROUGHPUT = Metric(name="throughput", pattern=r"Speed: (\d+)", units="img/s")


def a_measured_run(*metrics, **changes):
    return a_run(replace(a_descriptor(), output=Output(metrics=metrics)), status=Status.COLLECT, **changes)


def write_samples(files, metric, values):
    columns = samples.Columns(metric, "img/s")
    for value in values:
        columns.append(value, 0.0, samples.NO_STEP, 0)
    series = json.dumps({"id": 0, "metric": metric, "units": "img/s", "labels": {}}).encode()
    content = samples.HEADER + samples.frame(samples.SERIES, series) + samples.block(0, columns)
    content += samples.frame(samples.STATE, json.dumps({"complete": True}).encode())
    files.records.append(files.key, "samples", 0, content)


def test_a_good_run_gives_samples_and_points(house, leave_record):
    run = a_measured_run(THROUGHPUT)
    write_samples(leave_record(run, extraction="complete"), "throughput", [900.0, 912.0])

    step = collect(run, house.world)

    assert (step.status, step.cause) == (Status.ANALYSE, None)
    assert [(block.metric, list(block.values)) for block in step.samples] == [("throughput", [900.0, 912.0])]
    assert [(point.value, point.fingerprint) for point in step.points if point.metric == "throughput"] == [
        (912.0, "machine")
    ]


def test_a_failed_run_keeps_its_samples_and_gives_no_points(house, leave_record):
    run = a_measured_run(THROUGHPUT)
    files = leave_record(run, code=1, cause="user_error", reason="exit code 1", extraction="complete")
    write_samples(files, "throughput", [900.0])

    step = collect(run, house.world)

    assert (step.status, step.cause, step.reason, step.points) == (
        Status.ANALYSE,
        Cause.USER_ERROR,
        "exit code 1",
        (),
    )
    assert len(step.samples) == 1


@pytest.mark.parametrize(
    ("metric", "found", "said"),
    [
        (THROUGHPUT, {"closest": ["Speed = 912", "speed: 900"]}, "'Speed = 912', 'speed: 900'"),
        (THROUGHPUT, {}, "no line matched"),
        (THROUGHPUT, {"switched_off": True}, "took too long"),
        (
            THROUGHPUT,
            {"rejected": {"not finite": 3}, "rejected_example": "nan"},
            "3 not finite; the first: 'nan'",
        ),
        (Metric(name="throughput"), {}, "never emitted"),
    ],
)
def test_a_required_metric_that_never_appeared_explains_itself(house, leave_record, metric, found, said):
    run = a_measured_run(metric)
    files = leave_record(run)
    metrics = json.dumps({"metrics": {"throughput": found}}).encode()
    files.records.replace(files.key, "metrics.json", metrics)

    step = collect(run, house.world)

    assert (step.status, step.cause) == (Status.ANALYSE, Cause.METRIC_MISSING)
    assert said in step.reason
    assert "throughput" in step.reason


def test_a_metric_that_is_not_required_may_be_missing(house, leave_record):
    run = a_measured_run(replace(THROUGHPUT, required=False))
    leave_record(run)

    assert collect(run, house.world).cause is None


def test_a_record_without_a_last_word_is_lost(house):
    run = a_measured_run(cause=Cause.LOST, reason="the agent vanished")

    step = collect(run, house.world)

    assert (step.status, step.cause, step.reason) == (Status.ANALYSE, Cause.LOST, "the agent vanished")


def test_a_last_word_that_came_after_all_is_believed(house, leave_record):
    run = a_measured_run(cause=Cause.LOST)
    leave_record(run)

    assert collect(run, house.world).cause is None


def test_a_lost_run_that_was_to_be_cancelled_is_cancelled(house):
    run = a_measured_run(cause=Cause.LOST, cancel_requested=True)

    assert collect(run, house.world).cause is Cause.CANCELLED


@pytest.mark.parametrize(
    ("observed", "requested", "cause"),
    [
        (Cause.TIMEOUT, False, Cause.TIMEOUT),
        (Cause.PREEMPTED, False, Cause.PREEMPTED),
        (Cause.TIMEOUT, True, Cause.CANCELLED),
        (Cause.LOST, False, Cause.CANCELLED),
        (None, False, Cause.CANCELLED),
    ],
)
def test_an_agent_that_was_ended_from_outside_has_the_cause_of_its_engine(
    house, leave_record, observed, requested, cause
):
    run = a_measured_run(cause=observed, cancel_requested=requested, reason="the engine says why")
    leave_record(run, code=None, cause="cancelled", reason="The run was cancelled.")

    step = collect(run, house.world)

    said = "the engine says why" if cause is observed else "The run was cancelled."
    assert (step.cause, step.reason) == (cause, said)


@pytest.mark.parametrize(
    ("free", "cause"),
    [
        ({"disk_free_bytes": 4096}, Cause.DISK_FULL),
        ({"disk_free_bytes": 1 << 30}, Cause.EXTRACTION_FAILED),
        ({}, Cause.EXTRACTION_FAILED),
    ],
)
def test_a_failed_extraction_is_a_full_disk_where_the_agent_had_no_space(house, leave_record, free, cause):
    run = a_measured_run(THROUGHPUT)
    leave_record(run, extraction="failed", **free)

    assert collect(run, house.world).cause is cause


def test_a_record_that_cannot_be_read_ends_its_run(house, leave_record, monkeypatch):
    run = a_measured_run(THROUGHPUT)
    files = leave_record(run)

    def refuse(*_):
        raise DamagedError("Permission denied")

    for name in ("read", "state"):
        monkeypatch.setattr(files.records, name, refuse)
    step = collect(run, house.world)
    assert (step.status, step.cause, step.samples, step.points) == (
        Status.ANALYSE,
        Cause.RECORD_DAMAGED,
        (),
        (),
    )
    assert "exit.json cannot be read: Permission denied" in step.reason


def test_telemetry_that_is_damaged_ends_its_run(house, leave_record):
    run = a_measured_run()
    files = leave_record(run)
    files.records.append(files.key, "telemetry", 0, b"{}\n")
    step = collect(run, house.world)
    assert (step.cause, step.points) == (Cause.RECORD_DAMAGED, ())
    assert "telemetry" in step.reason


def write_metrics(files, **rejected):
    counters = {"count": 1, "rejected": rejected, "rejected_example": "nan"}
    metrics = json.dumps({"metrics": {"throughput": counters}}).encode()
    files.records.replace(files.key, "metrics.json", metrics)


@pytest.mark.parametrize(
    ("rejected", "messages"),
    [
        ({}, []),
        ({"bad step": 2}, []),
        ({"not finite": 1}, ["1 value of throughput not recorded: 1 not finite; the first: 'nan'"]),
        (
            {"not finite": 1, "not a number": 2},
            ["3 values of throughput not recorded: 1 not finite, 2 not a number; the first: 'nan'"],
        ),
        ({"not finite": 1, "bad step": 2}, ["1 value of throughput not recorded: 1 not finite"]),
    ],
)
def test_values_that_were_not_recorded_are_in_the_timeline(house, leave_record, rejected, messages):
    run = a_measured_run(THROUGHPUT)
    files = leave_record(run, extraction="complete")
    write_samples(files, "throughput", [900.0])
    write_metrics(files, **rejected)

    step = collect(run, house.world)

    assert [event.message for event in step.events if event.kind == "rejected"] == messages


def test_the_memory_of_the_tree_comes_from_telemetry(house, leave_record):
    run = a_measured_run()
    files = leave_record(run)
    rows = [telemetry.row(NOW_S + at, [size]) for at, size in ((0.5, 5000.0), (1.0, 6000.0), (9.0, 9e9))]
    content = telemetry.header([("tree_memory", "B")], 1.0) + b"".join(rows)
    files.records.append(files.key, "telemetry", 0, content)

    values = {point.metric: point.value for point in collect(run, house.world).points}

    assert (values["peak_memory"], values["peak_process_memory"]) == (6000.0, 1000.0)
