"""The report as JUnit XML is valid against Jenkins' schema, whatever the names are."""

from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.verdict import Judgement
from anubis.reporting.gate_report import BenchmarkComparison, Report
from anubis.reporting.junit import junit
from support.alerts import a_report, a_verdict
from support.resources import CROSSED

SCHEMA = xmlschema.XMLSchema(Path(__file__).parents[2] / "recorded" / "junit" / "junit-10.xsd")


def cases(text):
    SCHEMA.validate(text)
    return {case.get("name"): case for case in ET.fromstring(text.encode()).iter("testcase")}


@pytest.mark.parametrize(
    ("judgement", "tag"),
    [
        (Judgement.REGRESSED, "failure"),
        (Judgement.UNDECIDED, "skipped"),
        (Judgement.UNCHANGED, None),
        (Judgement.IMPROVED, None),
        (Judgement.CHANGED, None),
    ],
)
def test_a_metric_is_a_case(judgement, tag):
    (case,) = cases(junit(a_report(a_verdict(judgement=judgement)))).values()
    assert (case.get("classname"), case.get("name")) == ("resnet50-train", "throughput")
    assert {"failure", "skipped", "error"} & {child.tag for child in case} == ({tag} if tag else set())
    assert "-4.4 % [-5.8, -3.1]" in case.findtext("system-out")
    assert "Runs differ by 1.1 %" in case.findtext("system-out")
    if tag:
        assert "-4.4 % [-5.8, -3.1]" in case.find(tag).get("message")


def test_a_benchmark_that_failed_is_an_error():
    text = junit(
        Report(
            comparisons=(BenchmarkComparison(benchmark="b", baseline="", contender="", failure="timeout"),)
        )
    )
    (case,) = cases(text).values()
    assert case.find("error").get("message") == "timeout"
    assert ET.fromstring(text.encode()).get("errors") == "1"


def test_what_was_not_compared_is_skipped():
    text = junit(
        Report(comparisons=(BenchmarkComparison(benchmark="b", baseline="", contender="", note="new"),))
    )
    (case,) = cases(text).values()
    assert case.find("skipped").get("message") == "new"


def test_the_counts_are_those_of_the_cases():
    verdicts = [
        a_verdict(metric=str(at), judgement=judgement)
        for at, judgement in enumerate([Judgement.REGRESSED, Judgement.REGRESSED, Judgement.UNCHANGED])
    ]
    root = ET.fromstring(junit(a_report(*verdicts)).encode())
    assert (root.get("tests"), root.get("failures"), root.find("testsuite").get("failures")) == (
        "3",
        "2",
        "2",
    )


@given(st.text(), st.text(alphabet=st.characters(codec=None)))
def test_any_name_is_valid(name, metric):
    assert len(cases(junit(a_report(a_verdict(metric=metric), benchmark=name)))) == 1


def test_an_empty_report_is_valid():
    assert cases(junit(Report(comparisons=()))) == {}


def test_a_crossed_bound_is_a_failed_case_of_its_own():
    report = a_report(a_verdict(judgement=Judgement.UNCHANGED), crossed=(CROSSED,), disturbed_contender=1)
    text = junit(report)
    found = cases(text)
    assert list(found) == ["throughput", "throughput threshold change"]
    failure = found["throughput threshold change"].find("failure")
    assert "-4.4 % from its level of 912.4 img/s (limit 3.0 %)  THRESHOLD" in failure.get("message")
    assert "during 1 contender run" in failure.text
    assert "during 1 contender run" in found["throughput"].findtext("system-out")
    assert ET.fromstring(text.encode()).get("failures") == "1"
