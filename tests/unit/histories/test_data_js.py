import json

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUIET = settings(max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture])
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=20)
VALUES = st.floats(min_value=-1e300, max_value=1e300)


def document(name, value):
    commit = {"id": "a" * 40, "timestamp": "2024-01-01T00:00:00Z", "url": "https://example.org/commit/a"}
    bench = {"name": name, "value": value, "unit": "ms"}
    entry = {"commit": commit, "date": 1704067200000, "tool": "customSmallerIsBetter", "benches": [bench]}
    return {"lastUpdate": 1, "repoUrl": "https://example.org/r", "entries": {"suite": [entry]}}


@QUIET
@given(
    name=NAMES,
    value=VALUES,
    ascii_only=st.booleans(),
    bom=st.sampled_from(["", "\ufeff"]),
    prefix=st.sampled_from(
        ["", "window.BENCHMARK_DATA = ", "window.BENCHMARK_DATA=", "\n window . BENCHMARK_DATA\t=\r\n"]
    ),
    tail=st.sampled_from(["", ";", "\n", " ;\r\n"]),
)
def test_any_javascript_around_the_data_is_read(tmp_path, read, name, value, ascii_only, bom, prefix, tail):
    path = tmp_path / "data.js"
    content = json.dumps(document(name, value), ensure_ascii=ascii_only)
    path.write_bytes(f"{bom}{prefix}{content}{tail}".encode())
    rows, findings = read(path)
    assert findings.problems == ()
    assert [(row.benchmark, row.value) for row in rows] == [(name, value)]


def test_something_behind_the_data_is_an_error(tmp_path, read):
    path = tmp_path / "data.js"
    path.write_text(f"window.BENCHMARK_DATA = {json.dumps(document('a', 1))}\nalert(1)")
    rows, findings = read(path)
    assert len(rows) == 1
    assert [problem.line for problem in findings.problems] == [1]


def test_data_that_is_not_text_in_utf_8_is_an_error(tmp_path, read):
    path = tmp_path / "data.js"
    path.write_bytes(b"window.BENCHMARK_DATA = " + json.dumps(document("a", 1)).encode("utf-16"))
    rows, findings = read(path)
    assert rows == []
    assert len(findings.problems) == 1


def test_broken_data_is_an_error_with_its_line(tmp_path, read):
    path = tmp_path / "data.js"
    path.write_text('window.BENCHMARK_DATA = {\n  "entries": {"suite": [}\n}')
    rows, findings = read(path)
    assert rows == []
    assert [(problem.line, problem.remedy) for problem in findings.problems] == [
        (2, "fetch data.js again from the pages branch")
    ]


def test_data_nested_too_deeply_is_an_error(tmp_path, read):
    path = tmp_path / "data.js"
    path.write_text("window.BENCHMARK_DATA = " + "[" * 200_000)
    rows, findings = read(path)
    assert rows == []
    assert len(findings.problems) == 1


def test_an_entry_without_a_suite_has_no_label_of_one(tmp_path, read):
    data = document("a", 1)
    data["entries"] = {"": data["entries"]["suite"], "named": data["entries"]["suite"]}
    path = tmp_path / "data.js"
    path.write_text(json.dumps(data))
    rows, _ = read(path)
    assert [row.labels.get("suite") for row in rows] == [None, "named"]


def test_a_name_given_twice_is_kept_once(tmp_path, read):
    data = document("a", 1)
    data["entries"]["suite"][0]["benches"].append({"name": "a", "value": 2, "unit": "ms"})
    path = tmp_path / "data.js"
    path.write_text(json.dumps(data))
    rows, findings = read(path)
    assert [row.value for row in rows] == [1.0]
    assert [problem.path for problem in findings.problems] == ["entries.suite[0].benches[1]"]


def test_entries_without_a_date_are_named(tmp_path, read):
    data = document("a", 1)
    del data["entries"]["suite"][0]["date"]
    path = tmp_path / "data.js"
    path.write_text(json.dumps(data))
    rows, findings = read(path)
    assert rows == []
    assert [problem.path for problem in findings.problems] == ["entries.suite[0].date"]
