import io
import json
import sys

import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from anubis.model.errors import AnubisError, BadInputError
from anubis.model.history import Measurement
from anubis.model.metric import Better
from anubis.transfer.histories import Findings, export
from anubis.transfer.histories import read as read_history

QUIET = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12)
NAMES = WORDS.filter(bool)
MAPS = st.dictionaries(NAMES.filter(lambda name: name == name.strip()), NAMES, max_size=3)
TIMES = st.floats(0, 4e9)
FINITE = st.floats(-1e300, 1e300)
MEASUREMENTS = st.builds(
    Measurement,
    benchmark=NAMES,
    metric=NAMES,
    value=FINITE,
    units=NAMES,
    better=st.sampled_from(Better),
    spread=st.none() | st.floats(0, 1e300),
    count=st.integers(1, 10**9),
    time_s=TIMES,
    commit_s=st.none() | TIMES,
    commit=WORDS,
    version=WORDS,
    repository=WORDS,
    parameters=MAPS,
    labels=MAPS,
    machine=WORDS,
    facts=MAPS,
    fingerprint=WORDS,
    run=WORDS,
    contaminated=st.booleans(),
)
PLAIN = Measurement(benchmark="b", metric="time", value=1.5, units="ms", time_s=1_700_000_000.25)


def written(format_name, measurements):
    stream, findings = io.BytesIO(), Findings()
    export(measurements, stream, findings, format_name=format_name)
    return stream.getvalue(), findings


@QUIET
@given(st.lists(MEASUREMENTS, max_size=4))
@example([Measurement(benchmark='a,"b"\r\n', metric="\r", value=-0.0, units=" ", time_s=0.1 + 0.2)])
def test_csv_comes_back_as_it_was(tmp_path, measurements):
    content, _ = written("csv", measurements)
    path = tmp_path / "export.csv"
    path.write_bytes(content)
    findings = Findings()
    assert list(read_history(path, findings, format_name="csv")) == measurements
    assert findings.problems == ()


def test_csv_is_rfc_4180_with_documented_columns():
    content, _ = written("csv", [PLAIN])
    assert content == (
        b"benchmark,metric,value,units,better,spread,count,time_s,commit_s,commit,version,repository,machine,"
        b"fingerprint,run,contaminated\r\n"
        b"b,time,1.5,ms,none,,1,1700000000.25,,,,,,,,false\r\n"
    )


def test_parquet_comes_back_typed(tmp_path):
    rows = [
        PLAIN,
        Measurement(
            benchmark="ü",
            metric="loss",
            value=2.0,
            spread=0.5,
            count=3,
            time_s=5.0,
            commit_s=4.0,
            parameters={"lr": "0.1", "n": "2"},
            contaminated=True,
        ),
    ]
    content, _ = written("parquet", rows)
    table = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    assert [row["value"] for row in table] == [1.5, 2.0]
    assert table[1]["parameters"] == [("lr", "0.1"), ("n", "2")]
    assert (table[0]["spread"], table[1]["spread"], table[1]["contaminated"]) == (None, 0.5, True)
    assert (table[1]["benchmark"], table[1]["better"], table[1]["commit_s"]) == ("ü", "none", 4.0)


def test_parquet_without_pyarrow_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(AnubisError) as caught:
        written("parquet", [PLAIN])
    assert "anubis-bench[parquet]" in caught.value.remedy


def test_bmf_holds_the_newest_value_with_its_bounds():
    rows = [
        Measurement(benchmark="b", metric="time", value=2.0, units="ms", spread=0.5, count=3, time_s=2.0),
        Measurement(benchmark="b", metric="time", value=1.0, units="ms", time_s=1.0),
        Measurement(benchmark="b", metric="loss", value=0.1, time_s=1.0, parameters={"lr": "1"}),
    ]
    content, findings = written("bmf", rows)
    assert json.loads(content) == {
        "b": {"latency": {"value": 2e6, "lower_value": 1.5e6, "upper_value": 2.5e6}},
        "b[lr=1]": {"loss": {"value": 0.1}},
    }
    (problem,) = findings.problems
    assert problem.message.startswith("BMF contains one report, so 1 older values")


@QUIET
@given(st.lists(st.tuples(NAMES, NAMES, FINITE), max_size=4, unique_by=lambda each: each[:2]))
def test_bmf_comes_back(tmp_path, rows):
    path = tmp_path / "bmf.json"
    rows = [(name, metric, value) for name, metric, value in rows if not name.endswith("ignore")]
    path.write_bytes(
        written("bmf", [Measurement(benchmark=n, metric=m, value=v, time_s=1.0) for n, m, v in rows])[0]
    )
    found = list(read_history(path, Findings(), format_name="bmf"))
    assert sorted((row.benchmark, row.metric, row.value) for row in found) == sorted(rows)


@QUIET
@given(st.lists(MEASUREMENTS, max_size=6))
@example([PLAIN, Measurement(benchmark="b", metric="ti-me", value=1, units="ms", time_s=1.0)])
@example(
    [
        Measurement(benchmark="b", metric=m, value=1, units=u, spread=1.0, time_s=1)
        for m in ("a-b", "a_b", "spread_a_b")
        for u in ("s", "none", "%")
    ]
)
@example(
    [Measurement(benchmark="b", metric="m", value=1, time_s=at) for at in (0.0, 1e-7, 1e-9, 1e-10, 1e-11)]
)
def test_openmetrics_is_accepted_by_the_reference_parser(measurements):
    content, findings = written("openmetrics", measurements)
    families = list(text_string_to_metric_families(content.decode()))
    values = [
        sample
        for family in families
        for sample in family.samples
        if not family.documentation.startswith("Standard deviation")
    ]
    left_out = sum(int(problem.message.split()[0]) for problem in findings.problems)
    assert len(values) == len(measurements) - left_out
    assert {sample.labels["metric"] for sample in values} == {each.metric for each in measurements}
    for family in families:
        assert family.type == "gauge"
        assert not family.unit or family.name.endswith(f"_{family.unit}")


def test_openmetrics_text():
    rows = [
        Measurement(
            benchmark='a "b"\n\\',
            metric="p99 latency",
            value=2.5,
            units="ms",
            spread=0.5,
            time_s=10.5,
            parameters={"n-1": "2"},
            commit="abc",
        ),
        Measurement(benchmark="c", metric="hit rate", value=1.0, units="%", time_s=3.0),
    ]
    assert written("openmetrics", rows)[0].decode() == (
        "# TYPE anubis_hit_rate_percent gauge\n"
        "# UNIT anubis_hit_rate_percent percent\n"
        "# HELP anubis_hit_rate_percent Value of each run.\n"
        'anubis_hit_rate_percent{benchmark="c",metric="hit rate"} 1.0 3\n'
        "# TYPE anubis_p99_latency_milliseconds gauge\n"
        "# UNIT anubis_p99_latency_milliseconds milliseconds\n"
        "# HELP anubis_p99_latency_milliseconds Value of each run.\n"
        'anubis_p99_latency_milliseconds{benchmark="a \\"b\\"\\n\\\\",metric="p99 latency",n_1="2"} 2.5 10.5\n'
        "# TYPE anubis_spread_p99_latency_milliseconds gauge\n"
        "# UNIT anubis_spread_p99_latency_milliseconds milliseconds\n"
        "# HELP anubis_spread_p99_latency_milliseconds Standard deviation over the repeats of each run.\n"
        'anubis_spread_p99_latency_milliseconds{benchmark="a \\"b\\"\\n\\\\",metric="p99 latency",n_1="2"}'
        " 0.5 10.5\n"
        "# EOF\n"
    )


def test_nothing_is_written_in_a_format_that_is_only_read():
    with pytest.raises(BadInputError) as caught:
        written("asv", [PLAIN])
    assert "choose one of: bmf, csv, jsonl, openmetrics, parquet" in caught.value.remedy
