import json
import math
import tomllib
import uuid
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anubis import describe
from anubis.contracts.runs import RunQuery
from anubis.model.history import Measurement
from anubis.model.identity import digest, series_key
from anubis.model.ids import short_id
from anubis.model.status import Status
from anubis.store import open_store
from anubis.testing import FakeStore, a_descriptor, a_point, a_run
from anubis.transfer.histories import (
    Added,
    Findings,
    ImportDefaults,
    export,
    import_files,
    store,
    stored,
    to_points,
)
from anubis.transfer.histories import read as read_history
from anubis.transfer.measurements import run_id

PLAIN = Measurement(benchmark="b", metric="time", value=1.5, units="ms", time_s=1_700_000_000.25)
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
NAMES = WORDS.filter(bool)
MAPS = st.dictionaries(NAMES, NAMES, max_size=3)


def points_of(*measurements, origin="csv"):
    findings = Findings()
    return to_points(measurements, origin=origin, owner="me", findings=findings), findings


@pytest.fixture(params=["fake", "sqlite"])
def opened(request, tmp_path):
    opened = FakeStore() if request.param == "fake" else open_store(f"sqlite:///{tmp_path}/anubis.db")
    yield opened
    opened.close()


def test_a_measurement_becomes_a_finished_run_with_a_point():
    history, findings = points_of(
        replace(
            PLAIN,
            commit="abc",
            commit_s=5.0,
            parameters={"n": "2"},
            spread=0.5,
            count=4,
            labels={"suite": "s"},
        )
    )
    ((run, text),) = history.runs
    (point,) = history.points
    assert findings.problems == ()
    assert (run.status, run.engine, run.owner, run.created_s) == (
        Status.SUCCEEDED,
        "import",
        "me",
        PLAIN.time_s,
    )
    assert run.descriptor.info.labels == {"imported_from": "csv", "suite": "s", "n": "2"}
    assert run.descriptor.subject.commit == "abc"
    assert (run.order_s, point.order_s, point.subject) == (5.0, 5.0, "abc")
    assert (point.run_id, point.series_key) == (run.id, run.series_key)
    assert (point.value, point.spread, point.count, point.units) == (1.5, 0.5, 4, "ms")
    assert point.fingerprint == "unknown"
    # It has no command, so submitting its text is refused.
    assert describe.read(text.encode(), filename="imported.toml").descriptor is None


@settings(max_examples=60)
@given(name=NAMES, parameters=MAPS, labels=MAPS, repository=WORDS, commit=WORDS, version=WORDS)
def test_digest_series_and_text_are_those_of_the_descriptor(
    name, parameters, labels, repository, commit, version
):
    measurement = replace(
        PLAIN,
        benchmark=name,
        parameters=parameters,
        labels=labels,
        repository=repository,
        commit=commit,
        version=version,
    )
    ((run, text),) = points_of(measurement)[0].runs
    assert run.digest == digest(run.descriptor)
    assert run.series_key == series_key(run.descriptor)
    info = tomllib.loads(text)["info"]
    assert (info["name"], info["labels"]) == (name, run.descriptor.info.labels)


@given(
    time_s=st.floats(0, 4e9),
    first=st.integers(0, 2**256 - 1).map("{:064x}".format),
)
def test_run_ids_are_uuids_of_version_7_of_their_day(time_s, first):
    found = uuid.UUID(run_id(time_s, first))
    assert (found.version, found.variant) == (7, uuid.RFC_4122)
    assert (found.int >> 80) // 86_400_000 == int(time_s) // 86_400


def test_what_people_see_of_an_id_tells_a_whole_file_apart():
    history, _ = points_of(*(replace(PLAIN, benchmark=f"b{number}") for number in range(200)))
    assert len({short_id(run.id) for run, _ in history.runs}) == 200


@pytest.mark.parametrize(
    "change",
    [
        {"benchmark": "c"},
        {"parameters": {"n": "1"}},
        {"labels": {"n": "1"}},
        {"commit": "abc"},
        {"version": "2"},
        {"repository": "r"},
        {"machine": "m"},
        {"facts": {"cpu": "x"}},
        {"time_s": 1.0},
        {"run": "r"},
        {"fingerprint": "f"},
    ],
)
def test_what_tells_runs_apart(change):
    history, _ = points_of(PLAIN, replace(PLAIN, **change))
    assert len({run.id for run, _ in history.runs}) == 2


def test_series_are_told_apart_by_parameters_and_labels_and_machines_by_facts():
    rows = [PLAIN, replace(PLAIN, commit="x", time_s=9.0), replace(PLAIN, parameters={"n": "1"})]
    rows += [replace(PLAIN, labels={"suite": "1"}), replace(PLAIN, facts={"cpu": "x"})]
    history, _ = points_of(*rows)
    keys = [point.series_key for point in history.points]
    assert keys[0] == keys[1] == keys[4]
    assert len(set(keys)) == 3
    assert history.points[4].fingerprint != history.points[0].fingerprint == "unknown"


def test_a_label_and_a_parameter_of_one_name_both_stay():
    history, _ = points_of(replace(PLAIN, labels={"n": "1"}, parameters={"n": "2"}))
    assert history.runs[0][0].descriptor.info.labels == {"imported_from": "csv", "n": "1", "parameter.n": "2"}


def test_values_of_one_run_are_its_repeats():
    rows = [replace(PLAIN, value=value, run="r", time_s=value) for value in (3.0, 1.0, 2.0, 2.0)]
    history, findings = points_of(*rows)
    assert findings.problems == ()
    (point,) = history.points
    assert (point.value, point.count, point.spread) == (2.0, 3, 1.0)


def test_units_of_one_metric_do_not_mix():
    history, findings = points_of(PLAIN, replace(PLAIN, units="s"))
    assert [(point.units, point.value) for point in history.points] == [("ms", PLAIN.value * 1001 / 2)]
    assert not findings.problems
    history, findings = points_of(PLAIN, replace(PLAIN, units="MB"))
    assert [(point.units, point.value) for point in history.points] == [("ms", PLAIN.value)]
    assert [problem.message for problem in findings.problems] == [
        '"b": metric "time" has values in "ms" and in "MB", which cannot be converted'
    ]
    assert findings.refused


def test_a_deviation_without_repeats_says_nothing():
    history, _ = points_of(replace(PLAIN, spread=0.5, count=1))
    assert history.points[0].spread is None


@pytest.mark.parametrize(
    "name", ["asv-results", "data.js", "perfkit.json", "pytest-benchmark.json", "bmf.json"]
)
def test_importing_twice_stores_once(recorded, opened, name):
    for expected_new in (True, False):
        imported = import_files([str(recorded / name)] * 2, owner="me", defaults=ImportDefaults(time_s=5.0))
        assert not imported.refused
        new = store(opened.runs, opened.points, imported.history)
        history = imported.history
        assert new == (Added(runs=len(history.runs), values=len(history.points)) if expected_new else Added())
    rows = opened.runs.find(RunQuery(limit=1000))
    assert len(rows) == len(imported.history.runs)
    points = opened.points.of([row.id for row in rows])
    assert {(point.run_id, point.metric): replace(point, session="") for point in points} == {
        (point.run_id, point.metric): point for point in imported.history.points
    }


def test_a_run_may_be_spread_over_files(tmp_path):
    for metric in ("latency", "throughput"):
        (tmp_path / f"{metric}.json").write_text(json.dumps({"b": {metric: {"value": 1}}}))
    files = [str(file) for file in tmp_path.iterdir()]
    history = import_files(files, owner="me", defaults=ImportDefaults(time_s=5.0)).history
    assert len(history.runs) == 1
    assert {point.metric for point in history.points} == {"latency", "throughput"}


def test_our_own_export_is_known_where_it_came_from_and_comparable_elsewhere(recorded, opened, tmp_path):
    first = import_files([str(recorded / "data.js"), str(recorded / "asv-results")], owner="me")
    store(opened.runs, opened.points, first.history)
    path = tmp_path / "export.csv"
    with path.open("wb") as stream:
        export(
            stored(opened.runs, opened.points, RunQuery(limit=1000)), stream, Findings(), format_name="csv"
        )
    again = import_files([str(path)], owner="you")
    assert again.problems == ()
    assert store(opened.runs, opened.points, again.history) == Added()
    series = {(point.run_id, point.metric): point for point in first.history.points}
    assert {(point.run_id, point.metric): point for point in again.history.points} == series
    elsewhere = FakeStore()
    assert store(elsewhere.runs, elsewhere.points, again.history).runs == len(first.history.runs)


def test_a_history_is_in_the_order_of_its_commits(recorded, opened):
    imported = import_files([str(recorded / "asv-results")], owner="me")
    store(opened.runs, opened.points, imported.history)
    point = next(point for point in imported.history.points if point.metric == "peak_memory")
    history = opened.points.history(point.series_key, "peak_memory", point.fingerprint)
    assert [each.subject[:4] for each in history] == ["7b9a", "6f3b"]


def test_runs_of_our_own_keep_their_series_apart(opened):
    runs = [
        a_run(a_descriptor("same", command="one"), status=Status.SUCCEEDED),
        a_run(a_descriptor("same", command="other"), status=Status.SUCCEEDED),
    ]
    opened.runs.add_finished([(run, "") for run in runs], [a_point(run) for run in runs])
    rows = list(stored(opened.runs, opened.points, RunQuery()))
    assert len({row.labels["series"] for row in rows}) == 2
    assert {row.run for row in rows} == {run.id for run in runs}


def test_nothing_that_was_said_is_replaced_by_what_is_given(recorded):
    given_words = ImportDefaults(commit="mine", machine="box", version="1", repository="r", commit_s=3.0)
    (said,) = {
        row.commit
        for row in read_history(recorded / "pytest-benchmark.json", Findings(), defaults=given_words)
    }
    assert said.endswith("-dirty")
    (row, *_) = read_history(
        recorded / "hyperfine-scan.json", Findings(), defaults=replace(given_words, time_s=9.0)
    )
    assert (row.commit, row.machine, row.repository, row.commit_s, row.time_s) == (
        "mine",
        "box",
        "r",
        3.0,
        9.0,
    )
    assert math.isfinite(row.value)
