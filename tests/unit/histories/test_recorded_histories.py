import sqlite3

import pytest

from anubis.model.metric import Better
from anubis.model.problem import Severity
from anubis.transfer.histories import detect
from anubis.transfer.history_formats import FileHead, formats

FILES = {
    "asv-results": "asv",
    "bmf.json": "bmf",
    "data.js": "github-action-benchmark",
    "google-aggregates.json": "google-benchmark",
    "google-complexity.json": "google-benchmark",
    "google-repetitions.json": "google-benchmark",
    "hyperfine-failing.json": "hyperfine",
    "hyperfine-scan.json": "hyperfine",
    "perfkit.json": "perfkit",
    "values.jsonl": "jsonl",
    "pytest-benchmark.json": "pytest-benchmark",
}


def by_name(rows):
    return {(row.benchmark, row.metric, tuple(row.parameters.values()), row.commit[:8]): row for row in rows}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_recognised_by_its_own_format_alone(recorded, name):
    head = FileHead(recorded / name)
    assert [key for key, each in formats().items() if each.detect and each.detect(head)] == [FILES[name]]


@pytest.mark.parametrize("name", ["README.md", "mlflow.sql"])
def test_another_file_is_not_recognised(recorded, name):
    assert detect(recorded / name) is None


@pytest.mark.parametrize("name", FILES)
def test_no_recorded_file_has_errors(recorded, read, name):
    rows, findings = read(recorded / name)
    assert rows
    assert [problem for problem in findings.problems if problem.severity is Severity.ERROR] == []


def test_asv_keeps_parameters_commits_machines_and_versions_apart(recorded, read):
    rows, findings = read(recorded / "asv-results")
    assert len(rows) == 12
    # For each commit: a benchmark that failed, a combination that was skipped, and a NaN.
    assert findings.missing == 6
    older = by_name(rows)["suite.Totals.time_total", "time", ("20000", "sum"), "7b9a7b3b"]
    assert older.units == "seconds"
    assert older.better is Better.LOWER
    assert older.commit_s == 1709373600.0
    assert older.machine == "bench-box"
    assert older.facts == {"arch": "x86_64", "cpu": "AMD EPYC 7763", "num_cpu": "2", "ram": "24696356"}
    assert older.labels["environment"] == "virtualenv-py3.11-LIB_THREADS1"
    assert older.labels["benchmark_version"] == "f672136165d2"
    assert older.count == 8
    assert {row.metric: row.units for row in rows} == {
        "time": "seconds",
        "memory": "bytes",
        "peak_memory": "bytes",
        "value": "answers",
    }


def test_asv_spread_comes_from_samples_or_else_from_quartiles(recorded, read):
    rows = by_name(read(recorded / "asv-results")[0])
    key = ("suite.Totals.time_total", "time", ("1000", "sum"))
    quartiles, samples = rows[*key, "7b9a7b3b"], rows[*key, "6f3bdd87"]
    assert 0 < quartiles.spread < quartiles.value
    assert 0 < samples.spread < samples.value
    assert quartiles.count == samples.count == 8


def test_a_project_is_read_through_its_configuration(asv_project, read):
    rows, findings = read(asv_project)
    assert findings.problems == ()
    assert {row.repository for row in rows} == {"https://example.org/lib"}


def test_asv_results_of_an_old_version_name_the_remedy(asv_project, read):
    (file,) = (asv_project / "results" / "bench-box").glob("7b9a*.json")
    file.write_text(file.read_text().replace('"version": 2', '"version": 1'))
    rows, findings = read(asv_project)
    assert {row.commit[:4] for row in rows} == {"6f3b"}
    (problem,) = findings.problems
    assert problem.file == str(file)
    assert "asv update" in problem.remedy


def test_pytest_benchmark_gives_medians_with_rounds(recorded, read):
    rows, findings = read(recorded / "pytest-benchmark.json")
    assert findings.problems == ()
    small = rows[0]
    assert (small.benchmark, small.parameters) == ("test_sums.py::test_sum", {"n": "100"})
    assert (small.value, small.units, small.count) == (7.680999942749622e-07, "s", 20)
    assert small.spread == 8.480219558594019e-08
    assert small.commit == "ffd46ec357e9ec91e20d02881e94b2aa26f49575-dirty"
    assert small.commit_s == 1709280000.0
    assert small.facts["cores"] == "2"
    assert "vm" not in small.facts.values()
    once = rows[2]
    assert (once.count, once.spread) == (1, None)
    assert rows[3].labels == {"group": "naïve"}


@pytest.mark.parametrize("name", ["google-repetitions.json", "google-aggregates.json"])
def test_google_benchmark_repetitions_make_one_value(recorded, read, name):
    rows, findings = read(recorded / name)
    found = {(row.benchmark, row.metric): row for row in rows}
    assert len(rows) == len(found) == 10
    time = found["Sum/4096", "real_time"]
    assert (time.units, time.better, time.count) == ("ns", Better.LOWER, 3)
    assert time.spread > 0
    speed = found["Sum/256", "bytes_per_second"]
    assert (speed.units, speed.better) == ("B/s", Better.HIGHER)
    assert found["Sum/256", "cache_lines"].better is Better.NONE
    assert found["Sum/256", "cache_lines"].spread == 0
    (problem,) = findings.problems
    assert "no such device" in problem.message


def test_google_benchmark_orders_of_growth_are_no_values(recorded, read):
    rows, findings = read(recorded / "google-complexity.json")
    assert {row.benchmark for row in rows} == {"Loop/256", "Loop/1024", "Loop/4096"}
    assert {(row.count, row.spread) for row in rows} == {(1, None)}
    assert findings.problems == ()


def test_hyperfine_has_no_time_of_its_own(recorded, read):
    rows, findings = read(recorded / "hyperfine-scan.json", time_s=1_700_000_000.0, commit="abcdef1")
    assert findings.problems == ()
    assert {row.time_s for row in rows} == {1_700_000_000.0}
    assert {row.commit for row in rows} == {"abcdef1"}
    first = rows[0]
    assert (first.benchmark, first.metric, first.parameters) == ("seq 100", "time", {"n": "100"})
    assert (first.count, first.spread) == (2, 6.143343714948734e-05)
    _, findings = read(recorded / "hyperfine-scan.json")
    assert ["--time" in problem.remedy for problem in findings.problems] == [True]


def test_hyperfine_failures_are_told(recorded, read):
    _, findings = read(recorded / "hyperfine-failing.json", time_s=1.0)
    (problem,) = findings.problems
    assert problem.message.startswith('"false" had exit codes other than 0')


def test_every_tool_behind_the_action_has_its_quirks(recorded, read):
    rows, findings = read(recorded / "data.js")
    assert findings.problems == ()
    assert findings.missing == 1
    found = {row.benchmark: row for row in rows}
    rust = [row.value for row in rows if row.benchmark == "bench_fib_10"]
    assert rust == [254.0, 242.0, 224.0, 279.0]
    # What cargo prints behind +/- is no standard deviation.
    assert found["bench_fib_10"].spread is None
    fast = found["bench.py::test_fib_10"]
    assert (fast.units, fast.better, fast.count) == ("iter/sec", Better.HIGHER, 38523)
    assert fast.spread == pytest.approx(41513.272817492856**2 * 6.347862996017579e-7)
    assert found["bench.py::test_fib_20"].spread is None
    assert (found["BenchmarkFib10"].units, found["BenchmarkFib10"].better) == ("ns/op", Better.LOWER)
    assert found["BenchmarkFib10 - B/op"].metric == "memory"
    assert (found["fib(10)"].metric, found["fib(10)"].better) == ("throughput", Better.HIGHER)
    assert found['Frames, "smooth"'].value == 59.5
    assert found["Coverage"].better is Better.HIGHER
    assert found["Memory"].better is Better.LOWER
    assert found["Coverage"].commit_s == 1690705370.0
    # For pull requests the action stores when the repository was updated, not when the commit was made.
    assert found["Memory"].commit_s is None
    assert found["Memory"].labels == {"suite": "Custom"}


def test_bencher_measures_have_the_units_of_bencher(recorded, read):
    rows, findings = read(recorded / "bmf.json", time_s=1.0)
    assert findings.problems == ()
    assert [(row.benchmark, row.metric, row.value, row.units, row.better.value) for row in rows] == [
        ("benchmark_name", "latency", 88.0, "ns", "lower"),
        ("benchmark_name", "throughput", 5.55, "ops/s", "higher"),
        ("/bin/sh -c ./my_build_script.sh", "build-time", 87.0, "s", "lower"),
        ("my_binary", "file-size", 42.0, "B", "lower"),
        ("parser", "tokens", 7.0, "none", "none"),
    ]
    # The bounds are of whatever kind the adapter chose.
    assert {row.spread for row in rows} == {None}


def test_perfkit_metadata_is_parameters_facts_or_passing(recorded, read):
    rows, findings = read(recorded / "perfkit.json")
    assert findings.problems == ()
    # The value of a histogram is a 0 that was not measured.
    assert findings.missing == 1
    first, runtime, disk = rows[0], rows[3], rows[4]
    assert first.facts == {
        "cloud": "GCP",
        "zone": "us-central1-a",
        "machine_type": "n1-standard-4",
        "num_cpus": "4",
    }
    assert first.parameters == {
        "vm_count": "2",
        "ip_type": "internal",
        "runtime_in_seconds": "60",
        "sending_thread_count": "1",
    }
    assert (first.metric, first.units, first.better) == ("Throughput", "Mbits/sec", Better.HIGHER)
    assert runtime.better is Better.LOWER
    assert disk.parameters["filesize"] == "10G"
    assert "vm_ids" not in disk.parameters
    assert {row.run for row in rows} == {"6a1b2c3d"}


def test_mlflow_gives_the_last_values_of_finished_runs(mlflow_db, read):
    assert detect(mlflow_db) == "mlflow"
    rows, findings = read(mlflow_db)
    assert [(row.metric, row.value, row.parameters["lr"]) for row in rows] == [
        ("accuracy", 0.9, "0.1"),
        ("loss", 1 / 3, "0.1"),
        ("accuracy", 0.91, "0.1"),
        ("loss", 0.25, "0.1"),
        ("accuracy", 0.92, "0.01"),
        ("loss", 0.2, "0.01"),
    ]
    # A NaN and an infinity in each of three runs; MLflow stores infinity as the largest float64.
    assert findings.missing == 6
    (problem,) = findings.problems
    assert problem.message.startswith("1 runs that failed")
    assert rows[2].commit == f"{1:040x}"
    assert rows[0].repository == "https://example.org/digits.git"
    assert {row.benchmark for row in rows} == {"digits"}


def test_parameters_can_be_ignored(mlflow_db, read):
    rows, _ = read(mlflow_db, ignore=("l?",))
    assert {tuple(row.parameters) for row in rows} == {("epochs",)}


def test_another_sqlite_database_is_refused(tmp_path, read):
    path = tmp_path / "other.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE runs (id)")
    database.commit()
    database.close()
    assert detect(path) is None
    rows, findings = read(path, format_name="mlflow")
    assert rows == []
    assert findings.refused
