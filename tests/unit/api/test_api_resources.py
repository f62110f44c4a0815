"""Every resource has the recorded JSON form, and what a client reads back is what was written."""

import json
import math
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.api import (
    alerts,
    bisections,
    descriptors,
    errors,
    gate,
    histories,
    operations,
    points,
    problems,
    runs,
    schedules,
    series,
    verdicts,
)
from anubis.api.json_values import finite
from anubis.api.publishing.reports import document_to_json
from anubis.bisection.bisection import BisectResult, CommitResult
from anubis.bisection.commit_search import Side
from anubis.contracts.garbage import Garbage
from anubis.describe import Cell
from anubis.model.run import Run
from anubis.reporting.charts.data import ChangeMark, ChartPoint, LevelMark, SeriesChart, Tone
from anubis.reporting.documents.document import (
    Block,
    Column,
    Document,
    Section,
    Table,
    number_cell,
    text_cell,
)
from anubis.transfer.histories import Added, ImportResult
from anubis.transfer.measurements import History
from support import resources
from support.tree import ROOT

RECORDED = ROOT / "tests" / "recorded" / "json"
#: Sentences for people, which may change in any release.
SENTENCES = {"text", "next_step", "title", "to_decide"}
DOCUMENT = Document(
    title="Run 1",
    verdict="succeeded",
    tone=Tone.WORSE,
    made_s=1.5,
    sections=(
        Section(
            title="Values",
            blocks=(
                Block(
                    table=Table(
                        columns=(Column(title="Metric"), Column(title="Value", is_number=True)),
                        rows=((text_cell("rate", link="#run"), number_cell(2.5, "2.5 s")),),
                    )
                ),
                Block(
                    series=SeriesChart(
                        title="rate",
                        units="s",
                        better="lower",
                        points=(ChartPoint(x=1.0, value=2.5), ChartPoint(x=2.0, value=None, disturbed=True)),
                        levels=(LevelMark(start=1.0, end=2.0, value=2.5, low=2.0, high=3.0),),
                        changes=(ChangeMark(x=2.0, earliest=1.0, latest=2.0, tone=Tone.WORSE, text="+1 %"),),
                    )
                ),
            ),
        ),
    ),
)
GARBAGE = Garbage("record", Path("/home/x"), 512)


def bisection():
    asked = SimpleNamespace(good="g", bad="b", metric="throughput", family="fam")
    bad = CommitResult(commit="b", side=Side.BAD, verdict=resources.VERDICT, why="", suspects=1, steps_left=0)
    skipped = CommitResult(
        commit="s", side=Side.SKIPPED, verdict=None, why="it failed", suspects=2, steps_left=1
    )
    found = BisectResult(
        suspects=("b",), last_good="g", verdict=resources.VERDICT, commits=(bad, skipped), family_id="fam"
    )
    return bisections.bisection_to_json(asked, found)


def imported():
    found = ImportResult(
        history=History([(resources.RUN, "")], [resources.POINT]),
        problems=(resources.PROBLEM,),
        refused=True,
        missing=2,
        differing=1,
        formats={"a.csv": "csv"},
    )
    return histories.imported_to_json(found, Added(runs=1, values=2, joined=3))


FORMS = {
    "alert": lambda: alerts.alert_to_json(resources.ALERT),
    "bisection": bisection,
    "comparison": lambda: verdicts.comparison_to_json(resources.COMPARISON, baseline=["a"], contender=["b"]),
    "delivery": lambda: alerts.delivery_to_json(
        replace(resources.DELIVERY, to="https://hooks.example.org/s3cret")
    ),
    "error": lambda: errors.error_to_json("m", "r", 2, file="a.toml", problems=(resources.PROBLEM,)),
    "event": lambda: runs.event_to_json(resources.EVENT),
    "garbage": lambda: operations.garbage_to_json(GARBAGE),
    "gate": lambda: gate.report_to_json(resources.REPORT),
    "import": imported,
    "problem": lambda: problems.problem_to_json(resources.PROBLEM),
    "due_time": lambda: schedules.due_time_to_json(resources.DUE_TIME),
    "schedule": lambda: schedules.schedule_to_json(resources.SCHEDULE),
    "report": lambda: document_to_json(DOCUMENT),
    "row": lambda: runs.row_to_json(resources.ROW),
    "run": lambda: runs.run_to_json(resources.RUN, [resources.POINT]),
    "samples": lambda: list(points.samples_to_json(resources.SAMPLES)),
    "series": lambda: series.series_to_json(resources.SERIES),
    "series_row": lambda: series.series_row_to_json(resources.SERIES),
    "summary": lambda: points.summary_to_json(resources.SUMMARY),
    "validation": lambda: descriptors.validation_to_json(
        "a.toml", (resources.PROBLEM,), [(Cell(descriptor=resources.DESCRIPTOR, values={"x": 1}), "process")]
    ),
}


def shown(value):
    """The value as its reader sees it, keys in order, without sentences."""
    return [*_pairs(json.loads(json.dumps(finite(value), allow_nan=False)))]


def _pairs(value, path=""):
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in SENTENCES:
                yield from _pairs(item, f"{path}.{key}")
    elif isinstance(value, list):
        yield path, len(value)
        for at, item in enumerate(value):
            yield from _pairs(item, f"{path}[{at}]")
    else:
        yield path, value


@pytest.mark.parametrize("name", FORMS)
def test_the_form_is_the_recorded_one(name):
    assert shown(FORMS[name]()) == shown(json.loads((RECORDED / f"{name}.json").read_text()))


def test_every_recorded_form_is_checked():
    assert {path.stem for path in RECORDED.glob("*.json")} == FORMS.keys()


def sent(value):
    """What arrives on the other side of a connection."""
    return json.loads(json.dumps(finite(value), allow_nan=False))


ROUND_TRIPS = {
    "alert": (resources.ALERT, alerts.alert_to_json, alerts.alert_from_json),
    "comparison": (
        resources.COMPARISON,
        lambda value: verdicts.comparison_to_json(value, baseline=[], contender=[]),
        verdicts.comparison_from_json,
    ),
    "delivery": (resources.DELIVERY, alerts.delivery_to_json, alerts.delivery_from_json),
    "event": (
        resources.EVENT,
        runs.event_to_json,
        lambda plain: runs.event_from_json(resources.RUN_ID, plain),
    ),
    "garbage": (GARBAGE, operations.garbage_to_json, operations.garbage_from_json),
    "gate": (resources.REPORT, gate.report_to_json, gate.report_from_json),
    "point": (resources.POINT, points.point_to_json, points.point_from_json),
    "problem": (
        replace(resources.PROBLEM, file=""),
        problems.problem_to_json,
        problems.problem_from_json,
    ),
    "row": (resources.ROW, runs.row_to_json, runs.row_from_json),
    "run": (resources.RUN, runs.run_details_to_json, runs.run_from_json),
    "schedule": (resources.SCHEDULE, schedules.schedule_to_json, schedules.schedule_from_json),
    "due_time": (resources.DUE_TIME, schedules.due_time_to_json, schedules.due_time_from_json),
    "samples": (
        resources.SAMPLES,
        lambda value: list(points.samples_to_json(value)),
        points.samples_from_json,
    ),
    "series": (resources.SERIES, series.series_to_json, series.series_from_json),
    "summary": (resources.SUMMARY, points.summary_to_json, points.summary_from_json),
    "verdict": (resources.VERDICT, verdicts.verdict_to_json, verdicts.verdict_from_json),
}


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_what_is_read_is_what_was_written(name):
    value, to_json, from_json = ROUND_TRIPS[name]
    assert from_json(sent(to_json(value))) == value


def test_the_example_run_sets_every_field():
    assert [spec.name for spec in fields(Run) if not getattr(resources.RUN, spec.name)] == []


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
CHANGES = {
    "point": st.fixed_dictionaries(
        {"value": NUMBERS, "spread": st.none() | NUMBERS, "subject": st.text(), "contaminated": st.booleans()}
    ),
    "alert": st.fixed_dictionaries(
        {"why": st.text(), "opened_s": NUMBERS, "muted_until_s": st.none() | NUMBERS}
    ),
    "run": st.fixed_dictionaries({"reason": st.text(), "ended_s": st.none() | NUMBERS, "order_s": NUMBERS}),
    "row": st.fixed_dictionaries(
        {
            "labels": st.dictionaries(st.text(), st.text()),
            "values": st.dictionaries(st.text(), st.tuples(NUMBERS, st.text())),
        }
    ),
    "verdict": st.fixed_dictionaries(
        {
            "effect": st.none() | st.floats(-0.9, 9),
            "interval": st.none() | st.tuples(st.floats(-0.9, 9), st.floats(-0.9, 9)),
            "p": st.none() | st.floats(0, 1),
        }
    ),
    "event": st.fixed_dictionaries(
        {"message": st.text(), "seq": st.none() | st.integers(), "data": st.dictionaries(st.text(), NUMBERS)}
    ),
}


@pytest.mark.parametrize("name", CHANGES)
@given(data=st.data())
def test_any_value_is_read_as_it_was_written(name, data):
    value, to_json, from_json = ROUND_TRIPS[name]
    changed = replace(value, **data.draw(CHANGES[name]))
    assert from_json(sent(to_json(changed))) == changed


def test_a_number_that_json_lacks_is_read_as_nan():
    infinite = replace(resources.POINT, value=math.inf, spread=math.nan)
    read = points.point_from_json(sent(points.point_to_json(infinite)))
    assert math.isnan(read.value)
    assert read.spread is None, "it may be missing"
    row = replace(resources.ALERT.rows[0], interval=(-math.inf, 0.1))
    alert = alerts.alert_from_json(sent(alerts.alert_to_json(replace(resources.ALERT, rows=(row,)))))
    low, high = alert.rows[0].interval
    assert (math.isnan(low), high) == (True, 0.1)


def test_a_newer_server_may_send_more():
    plain = {**sent(points.point_to_json(resources.POINT)), "colour": "blue"}
    assert points.point_from_json(plain) == resources.POINT
    assert asdict(resources.POINT).keys() <= plain.keys()
