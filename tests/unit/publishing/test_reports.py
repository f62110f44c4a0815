from dataclasses import replace

import pytest

from anubis.model.alert import AlertState
from anubis.model.cause import Cause
from anubis.model.errors import NotFoundError
from anubis.model.status import Status
from anubis.publishing.reports import kind_of, report
from anubis.publishing.request import ReportKind, ReportRequest
from anubis.reporting.charts.data import Tone
from anubis.reporting.documents import html, markdown
from anubis.reporting.documents.document import tables_of
from anubis.testing import a_descriptor, a_point, a_run
from support.alerts import an_alert


def made(house, **fields):
    document = report(house.world, ReportRequest(**fields))
    html.page(document)
    markdown.text(document)
    return document


def cells(document, title):
    """The texts of the table with a title, without its head."""
    (table,) = [table for name, table in tables_of(document) if name == title]
    return [[cell.text for cell in row] for row in table.rows]


def charts(document):
    return [block.series for section in document.sections for block in section.blocks if block.series]


def a_failed_run(house, *, name="bench", at_s=40.0, **fields):
    run = a_run(a_descriptor(name, labels={"team": "nlp"}), status=Status.FAILED, created_s=at_s, **fields)
    house.runs.add_finished([(replace(run, cause=Cause.OUT_OF_MEMORY, reason="killed"), "text")], [])
    return run


def test_a_benchmark(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 12, metrics=("throughput",))
    failed = a_failed_run(house)
    document = made(house, name="bench")
    assert document.tone is Tone.WORSE
    assert document.verdict.startswith("worse: -10")
    assert cells(document, "Series")[0][:3] == ["bench", "throughput", "a-machin"]
    assert [row[2:5] for row in cells(document, "Changes of level")] == [["worse", "v30", "v31"]]
    assert [row[1] for row in cells(document, "Failed runs")] == [failed.id]
    assert len(charts(document)) == 1


def test_a_run_shows_the_level_of_its_series(house, bench):
    bench.add(*[100.0] * 30)
    run = bench.add(90.0)
    document = made(house, name=run.id)
    (row,) = cells(document, "Values")
    assert row[0] == "throughput"
    assert row[6] == "99.89 img/s"
    assert "succeeded" in document.verdict


def test_a_failed_run_has_its_cause_and_remedy(house):
    run = a_failed_run(house)
    document = made(house, name=run.id)
    assert document.tone is Tone.WORSE
    assert document.verdict == f"failed: killed (out_of_memory: {Cause.OUT_OF_MEMORY.remedy})"


def test_an_alert_has_the_chart_of_its_series(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 12)
    run = bench.last
    row = replace(an_alert().rows[0], series_key=run.series_key, fingerprint="a-machine", metric="throughput")
    alert = an_alert(benchmark="bench", rows=(row,), run_id=run.id, state=AlertState.CONFIRMED)
    house.world.alerts.put([alert], [])
    document = made(house, name=alert.id)
    assert "regression" in document.verdict
    assert [chart.title for chart in charts(document)] == ["throughput"]


def a_family(house, values):
    """Runs of a family over the axes a and b."""
    runs = []
    for (a, b), value in values.items():
        status = Status.FAILED if value is None else Status.SUCCEEDED
        cause = Cause.TIMEOUT if value is None else None
        run = a_run(status=status, cause=cause, family_id="f" * 36, cell={"a": a, "b": b, "fixed": 1})
        points = [] if value is None else [a_point(run, "rate", value, better="higher")]
        house.runs.add_finished([(run, "text")], points)
        runs.append(run)
    return runs


def test_a_family_is_a_matrix(house):
    runs = a_family(house, {(1, "x"): 1.0, (1, "y"): 5.0, (2, "x"): None, (2, "y"): 3.0})
    document = made(house, kind=ReportKind.FAMILY, name="f" * 36)
    (heat,) = [block.heat for section in document.sections for block in section.blocks if block.heat]
    assert {(cell.row, cell.column, cell.value, cell.failure) for cell in heat.cells} == {
        ("1", "x", 1.0, ""),
        ("1", "y", 5.0, ""),
        ("2", "x", None, "timeout"),
        ("2", "y", 3.0, ""),
    }
    assert [row[2] for row in cells(document, "Best cells")] == [runs[1].id]
    assert [row[2] for row in cells(document, "Failed cells")] == [runs[2].id]
    assert document.verdict == "4 cells: 3 succeeded, 1 failed"


def test_a_period_lists_what_changed_in_it(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 12)
    bench.add(*[100.0] * 30, *[120.0] * 12, name="other", labels={"team": "nlp"})
    a_failed_run(house, at_s=35.0)
    document = made(house, since_s=30.0, until_s=1000.0)
    assert document.verdict == "1 worse, 1 better, 1 failed run (of 56 runs)"
    assert [row[0] for row in cells(document, "worse")] == ["bench"]
    assert [row[0] for row in cells(document, "better")] == ["other"]
    assert cells(document, "failed")[0][:3] == ["bench", "out_of_memory", "1"]
    assert len(charts(document)) == 2


def test_an_older_change_is_not_in_the_period(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 12)
    assert made(house, since_s=36.0, until_s=1000.0).verdict == "no change in 7 runs"


def test_a_period_by_label(house, bench):
    bench.add(*[100.0] * 30, *[90.0] * 12)
    bench.add(*[100.0] * 30, *[120.0] * 12, name="other", labels={"team": "nlp"})
    document = made(house, since_s=0.0, until_s=1000.0, group_by="team")
    titles = [section.title for section in document.sections]
    assert titles == ["team nlp: better", "team nlp: charts", "team vision: worse", "team vision: charts"]


def test_nothing_was_measured(house):
    assert made(house).verdict == "nothing was measured"


def test_the_daily_table_has_averages_and_no_zeros(house, bench):
    day = 86_400.0
    for at_s, metrics in (
        (0.5 * day, {"a": 10.0}),
        (1.5 * day, {"a": 11.0}),
        (1.6 * day, {"a": 13.0, "b": 1.0}),
    ):
        run = a_run(a_descriptor("bench"), status=Status.SUCCEEDED, created_s=at_s)
        house.runs.add_finished(
            [(run, "text")], [a_point(run, name, value) for name, value in metrics.items()]
        )
    other = a_run(a_descriptor("other"), status=Status.SUCCEEDED, created_s=1.5 * day)
    house.runs.add_finished([(other, "text")], [a_point(other, "b", 2.0)])
    document = made(house, kind=ReportKind.DAILY, until_s=2 * day)
    assert cells(document, "All benchmarks") == [
        ["bench", "12.00 (+20.0 %)", "1.000"],
        ["other", "", "2.000"],
    ]


def test_many_metrics_continue_in_further_tables(house):
    run = a_run(a_descriptor("bench"), status=Status.SUCCEEDED, created_s=5.0)
    house.runs.add_finished([(run, "text")], [a_point(run, f"m{at:02}", 1.0) for at in range(23)])
    document = made(house, kind=ReportKind.DAILY, until_s=10.0)
    (section,) = document.sections
    assert [len(block.table.columns) - 1 for block in section.blocks] == [10, 10, 3]


def test_what_a_name_names(house, bench):
    run = bench.add(1.0)
    a_family(house, {(1, "x"): 1.0})
    assert kind_of(house.world, "") is ReportKind.PERIOD
    assert kind_of(house.world, "bench") is ReportKind.BENCHMARK
    assert kind_of(house.world, run.id[:20]) is ReportKind.RUN
    assert kind_of(house.world, "f" * 36) is ReportKind.FAMILY
    with pytest.raises(NotFoundError, match="no benchmark, run, alert or family"):
        kind_of(house.world, "unknown")
