import json
import shutil

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from anubis.model.errors import BadInputError
from anubis.transfer.histories import Findings, ImportDefaults, detect, import_files
from anubis.transfer.histories import read as read_history
from anubis.transfer.history_findings import MAX_PROBLEMS
from anubis.transfer.history_formats import formats

READERS = sorted(name for name, each in formats().items() if each.read)
FILE_READERS = [name for name in READERS if name not in {"asv", "mlflow"}]
QUIET = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])

#: The words these formats consist of, so that nonsense gets past the first look.
WORDS = [
    "benchmarks",
    "stats",
    "median",
    "fullname",
    "context",
    "results",
    "command",
    "times",
    "entries",
    "commit",
]
WORDS += [
    "date",
    "benches",
    "name",
    "value",
    "unit",
    "test",
    "metric",
    "timestamp",
    "metadata",
    "labels",
    "run_type",
]
WORDS += [
    "exit_codes",
    "params",
    "machine_info",
    "datetime",
    "aggregate_name",
    "range",
    "extra",
    "caches",
    "tool",
]
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS)
)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["", *WORDS]), inner, max_size=6)
    ),
    max_leaves=20,
)


def nothing_but_findings(path, name):
    findings = Findings()
    rows = list(read_history(path, findings, format_name=name, defaults=ImportDefaults(time_s=1.0)))
    for row in rows:
        assert row.value == row.value
        assert row.benchmark
        assert row.metric
    for problem in findings.problems:
        assert problem.message
        assert problem.remedy
    return rows, findings


@pytest.mark.parametrize("name", FILE_READERS)
@QUIET
@given(content=st.binary(max_size=200))
def test_any_bytes_give_findings_not_exceptions(tmp_path, name, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    detect(path)
    nothing_but_findings(path, name)


@pytest.mark.parametrize("name", [name for name in FILE_READERS if name != "csv"])
@QUIET
@given(document=DOCUMENTS)
def test_any_json_gives_findings_not_exceptions(tmp_path, name, document):
    path = tmp_path / "file"
    path.write_text(json.dumps(document))
    nothing_but_findings(path, name)


@QUIET
@given(document=DOCUMENTS, results=st.dictionaries(st.text(max_size=5), DOCUMENTS, max_size=4))
def test_any_asv_file_gives_findings_not_exceptions(tmp_path, document, results):
    machine = tmp_path / "box"
    machine.mkdir(exist_ok=True)
    (machine / "machine.json").write_text(json.dumps(document))
    (tmp_path / "benchmarks.json").write_text(json.dumps(results))
    (machine / "one.json").write_text(json.dumps({"version": 2, "date": 1, "results": results}))
    (machine / "two.json").write_text(
        json.dumps({"version": 2, "result_columns": document, "results": document})
    )
    nothing_but_findings(tmp_path, "asv")


@pytest.mark.parametrize(
    "name", ["data.js", "pytest-benchmark.json", "google-repetitions.json", "hyperfine-scan.json"]
)
def test_half_a_file_is_refused_at_its_line(recorded, tmp_path, name):
    content = (recorded / name).read_bytes()
    path = tmp_path / name
    path.write_bytes(content[: len(content) // 2])
    rows, findings = nothing_but_findings(path, detect(path))
    assert rows == []
    (problem,) = findings.problems
    assert problem.line > 1
    assert problem.file == str(path)


def test_everything_wrong_is_told_at_once(recorded, tmp_path):
    document = json.loads((recorded / "pytest-benchmark.json").read_text())
    document["benchmarks"][0]["stats"]["median"] = "fast"
    document["benchmarks"][1]["stats"] = 7
    document["benchmarks"][2]["stats"]["median"] = None
    path = tmp_path / "file.json"
    path.write_text(json.dumps(document))
    rows, findings = nothing_but_findings(path, None)
    assert [row.benchmark for row in rows] == ["test_sums.py::TestGroup::test_join"]
    assert findings.missing == 1
    assert [problem.path for problem in findings.problems] == [
        "benchmarks[0].stats.median",
        "benchmarks[1].stats",
    ]


@pytest.mark.parametrize("content", ["[" * 100_000, '{"results": ' + "1" * 5000 + "}", "\ufeff[1]", "7"])
def test_json_out_of_bounds_is_refused_or_empty(tmp_path, content):
    path = tmp_path / "file.json"
    path.write_text(content)
    rows, findings = nothing_but_findings(path, "hyperfine")
    assert rows == []
    assert findings.refused


def test_findings_beyond_the_most_are_counted():
    findings = Findings()
    for number in range(MAX_PROBLEMS + 3):
        findings.error(f"problem {number}", "mend it")
    assert len(findings.problems) == MAX_PROBLEMS + 1
    assert findings.problems[-1].message == "3 further problems are not shown"


def test_a_file_nobody_knows_names_the_formats(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("hello")
    with pytest.raises(BadInputError, match="is not recognised") as caught:
        import_files([str(path)], owner="me")
    assert "pytest-benchmark" in caught.value.remedy


def test_a_missing_file_and_an_unknown_format_are_refused(tmp_path):
    with pytest.raises(BadInputError, match="No such file"):
        import_files([str(tmp_path / "gone.json")], owner="me")
    path = tmp_path / "a.json"
    path.write_text("{}")
    with pytest.raises(BadInputError, match="not a known format to import from"):
        import_files([str(path)], owner="me", format_name="parquet")


def test_a_file_with_nothing_in_it_is_told(tmp_path):
    path = tmp_path / "empty.json"
    path.write_text('{"results": []}')
    imported = import_files(
        [str(path)], owner="me", format_name="hyperfine", defaults=ImportDefaults(time_s=1.0)
    )
    assert [problem.message for problem in imported.problems] == ["the file contains no values"]
    assert not imported.refused


@pytest.mark.parametrize("odd", [7, 1.5, "x", [1], {"a": 1}], ids=repr)
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("google-repetitions.json", ("benchmarks", 0, "aggregate_name")),
        ("google-aggregates.json", ("benchmarks", 0, "aggregate_name")),
        ("hyperfine-scan.json", ("results", 0, "exit_codes")),
        ("asv-results", ("result_columns",)),
    ],
)
def test_a_field_of_another_kind_gives_findings_not_exceptions(recorded, tmp_path, name, path, odd):
    shutil.copytree(recorded, tmp_path / "all")
    file = tmp_path / "all" / name
    (place, *_) = [file] if file.is_file() else sorted(file.glob("*/*-*.json"))
    document = json.loads(place.read_text())
    *above, last = path
    inner = document
    for key in above:
        inner = inner[key]
    inner[last] = [odd] if name == "asv-results" else odd
    place.write_text(json.dumps(document))
    nothing_but_findings(file, detect(file))


@pytest.mark.parametrize("odd", [7, [1], {"a": 1}], ids=repr)
def test_the_tool_of_an_entry_may_be_anything(recorded, tmp_path, odd):
    text = (recorded / "data.js").read_text()
    start = text.index("{")
    document = json.loads(text[start:])
    for entries in document["entries"].values():
        for entry in entries:
            entry["tool"] = odd
    path = tmp_path / "data.js"
    path.write_text(text[:start] + json.dumps(document))
    rows, _ = nothing_but_findings(path, detect(path))
    assert rows


def test_damaged_text_in_a_database_gives_findings_not_exceptions(mlflow_db):
    data = mlflow_db.read_bytes()
    mlflow_db.write_bytes(
        data.replace(b"CREATE TABLE", b"CREATE \xf7ABLE").replace(b"accuracy", b"accur\xffcy")
    )
    detect(mlflow_db)
    nothing_but_findings(mlflow_db, "mlflow")
