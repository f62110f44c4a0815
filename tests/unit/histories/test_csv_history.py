import pytest

from anubis.model.metric import Better
from anubis.transfer.histories import detect


@pytest.fixture
def csv(tmp_path):
    def csv(content, encoding="utf-8"):
        path = tmp_path / "results.csv"
        path.write_bytes(content.encode(encoding))
        return path

    return csv


def test_a_table_of_ones_own_is_read(csv, read):
    path = csv(
        "Time;Name;Value;Unit;Commit;Parameter.threads;label.suite\r\n"
        "2024-03-01T10:00:00Z;sort;1.5;ms;abc1234;4;nightly\r\n\r\n"
        "1709290000;sort;;ms;abc1235;4;nightly\r\n",
        "utf-8-sig",
    )
    assert detect(path) == "csv"
    rows, findings = read(path)
    assert findings.problems == ()
    assert findings.missing == 1
    (row,) = rows
    assert (row.benchmark, row.metric, row.value, row.units) == ("sort", "time", 1.5, "ms")
    assert (row.better, row.time_s, row.commit) == (Better.LOWER, 1709287200.0, "abc1234")
    assert (row.parameters, row.labels) == ({"threads": "4"}, {"suite": "nightly"})


def test_only_a_value_must_be_there(csv, read):
    path = csv("value,units\n3,images/s\n")
    rows, findings = read(path, time_s=7.0)
    assert [(row.benchmark, row.metric, row.time_s) for row in rows] == [("results", "throughput", 7.0)]
    assert findings.problems == ()


def test_every_bad_row_is_named_by_its_line(csv, read):
    path = csv(
        'benchmark,value,time_s,better\na,1,5,\na,one,5,\na,1,never,\na,1,5,up\na,1\n"a\nb",2,5,Higher\nc,"1,5",5,\n'
    )
    rows, findings = read(path)
    assert [(row.benchmark, row.value, row.better.value) for row in rows] == [
        ("a", 1.0, "none"),
        ("a\nb", 2.0, "higher"),
    ]
    assert [(problem.line, problem.path) for problem in findings.problems] == [
        (3, "value"),
        (4, "time_s"),
        (5, "better"),
        (6, ""),
        (9, "value"),
    ]


def test_columns_that_mean_nothing_are_named(csv, read):
    rows, findings = read(csv("value,time_s,color\n1,2,red\n"))
    assert len(rows) == 1
    (problem,) = findings.problems
    assert "parameter.color" in problem.remedy


def test_a_similar_name_of_a_column_that_is_there_is_no_spelling_error(csv, read):
    rows, findings = read(csv("value,time_s,time_ms,metric,metrics\n1,2,3,m,n\n"))
    assert [row.metric for row in rows] == ["m"]
    assert not findings.refused


def test_a_table_with_a_misspelt_value_column_is_recognised(csv):
    assert detect(csv("benchmark,time,valu\na,1,2\n")) == "csv"
    assert detect(csv("name_of_it,valu\na,1\n")) is None


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("benchmark,time_s", "is missing"),
        ("benchmark,time_s,valu", 'did you mean "value"?'),
        ("value,timestmp,metric", 'did you mean "time_s"?'),
        ("value,time_s,metrc", 'did you mean "metric"?'),
        ("value,value,time_s", "duplicate"),
        ('"value,time_s', "not valid CSV"),
    ],
)
def test_a_header_that_cannot_be_used_is_refused(csv, read, header, message):
    rows, findings = read(csv(f"{header}\n1,2,3\n"), format_name="csv")
    assert rows == []
    assert findings.refused
    assert any(message in problem.message for problem in findings.problems)


def test_a_file_that_is_not_utf_8_is_refused(csv, read):
    rows, findings = read(csv("value,benchmark\n1,ü\n", "latin-1"), format_name="csv", time_s=1.0)
    assert rows == []
    assert [problem.remedy for problem in findings.problems] == ["save the file as UTF-8"]
