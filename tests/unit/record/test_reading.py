import json

import pytest

from anubis.contracts.records import RecordKey, RoleFiles, blocks_of
from anubis.model.ids import new_run_id
from anubis.record import samples, telemetry
from anubis.record.reading import Record
from anubis.testing import FakeRecords

EXECUTION = {
    "phase": "measure",
    "repeat": 0,
    "code": 0,
    "started_s": 10.0,
    "ended_s": 12.0,
    "wall_s": 2.0,
    "user_s": 0.5,
    "system_s": 0.25,
    "peak_memory_bytes": None,
}


@pytest.fixture
def files():
    return RoleFiles(FakeRecords(), RecordKey(new_run_id(), 1))


def write(files, name, facts):
    files.records.replace(files.key, name, json.dumps(facts).encode())


def test_a_record_that_is_missing_reads_as_empty(files):
    record = Record(files)
    assert (record.exit, record.facts, record.metrics, record.executions) == ({}, {}, {}, [])
    assert (record.fingerprint, record.telemetry, blocks_of(record.samples())) == ("", None, [])


def test_executions_that_ended_are_read(files):
    never_started = {"phase": "measure", "repeat": 1, "code": 127}
    warm_up = {**EXECUTION, "repeat": -1}
    failed = {**EXECUTION, "code": 1}
    write(files, "exit.json", {"executions": [warm_up, EXECUTION, failed, never_started]})
    read = Record(files).executions
    assert [(each.repeat, each.measured) for each in read] == [(-1, False), (0, True), (0, False)]
    assert (read[1].wall_s, read[1].cpu_s, read[1].peak_memory_bytes) == (2.0, 0.75, None)


def test_facts_and_metrics_are_read(files):
    write(files, "facts.json", {"fingerprint": "machine"})
    write(files, "metrics.json", {"metrics": {"loss": {"count": 3}}})
    record = Record(files)
    assert (record.fingerprint, record.metrics) == ("machine", {"loss": {"count": 3}})


def test_samples_become_blocks(files):
    columns = samples.Columns("loss", "1")
    columns.append(0.5, 1.0, samples.NO_STEP, 0)
    series = json.dumps({"id": 0, "metric": "loss", "units": "1", "labels": {}}).encode()
    content = samples.HEADER + samples.frame(samples.SERIES, series) + samples.block(0, columns)
    files.records.append(files.key, "samples", 0, content)
    (block,) = blocks_of(Record(files).samples())
    assert (block.metric, block.units, list(block.values), list(block.repeats)) == ("loss", "1", [0.5], [0])


def test_disturbances_are_those_of_the_execution(files):
    write(files, "exit.json", {"executions": [EXECUTION]})
    content = telemetry.header([("cpu_steal", "ratio")], 1.0)
    content += b"".join(telemetry.row(time_s, [0.5]) for time_s in (11.0, 12.0))
    files.records.append(files.key, "telemetry", 0, content)
    record = Record(files)
    assert record.disturbances(record.executions[0]) == [
        "the hypervisor used 50% of the processor time (steal)"
    ]


def test_an_execution_may_have_no_figure_of_its_memory(files):
    write(
        files, "exit.json", {"executions": [{k: v for k, v in EXECUTION.items() if k != "peak_memory_bytes"}]}
    )
    assert Record(files).executions[0].peak_memory_bytes is None
