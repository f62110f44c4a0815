"""The report of a gate as JUnit XML, valid for the Jenkins schema (junit-10.xsd)."""

import re
from xml.etree import ElementTree as ET

from anubis.analysis.verdict_text import bound_text, next_step, render
from anubis.model.verdict import CrossedBound, Judgement, Verdict
from anubis.reporting.gate_report import BenchmarkComparison, Report, disturbance, title
from anubis.reporting.markup import visible

#: Characters that XML 1.0 does not allow, even escaped (https://www.w3.org/TR/xml/#charsets).
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """One suite for each benchmark, one case for each metric and for each crossed bound.

    A regression and a crossed bound are failures, an undecided metric is skipped, a failed benchmark is an error. Every
    case contains its verdict, the next step, and during how many runs the machine was disturbed.
    """
    root = ET.Element("testsuites", name=_legal(f"Anubis: {title(report)}"))
    for comparison in report.comparisons:
        root.append(_suite(comparison))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(comparison: BenchmarkComparison) -> ET.Element:
    name = _legal(comparison.benchmark)
    verdicts = comparison.comparison.verdicts if comparison.comparison else ()
    disturbed = _legal(disturbance(comparison))
    note = f"\nNote: {disturbed}" if disturbed else ""
    cases = [_case(name, verdict, note) for verdict in verdicts]
    cases += [_bound_case(name, bound, note) for bound in comparison.crossed]
    if comparison.failure:
        failed = ET.Element("testcase", classname=name, name="the benchmark runs", time="0")
        ET.SubElement(failed, "error", message=_legal(comparison.failure), type="failed")
        cases.append(failed)
    if comparison.note:
        not_compared = ET.Element("testcase", classname=name, name="has a baseline", time="0")
        ET.SubElement(not_compared, "skipped", message=_legal(comparison.note))
        cases.append(not_compared)
    suite = ET.Element("testsuite", name=name, tests=str(len(cases)), time="0")
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(kind) is not None for case in cases)))
    properties = ET.SubElement(suite, "properties")
    for side, subject in (("baseline", comparison.baseline), ("contender", comparison.contender)):
        ET.SubElement(properties, "property", name=side, value=_legal(subject))
    suite.extend(cases)
    return suite


def _bound_case(benchmark: str, bound: CrossedBound, note: str) -> ET.Element:
    name = _legal(f"{bound.metric} threshold {bound.bound}")
    case = ET.Element("testcase", classname=benchmark, name=name, time="0")
    line = _legal(bound_text(bound))
    ET.SubElement(case, "failure", message=line, type="threshold").text = f"{line}{note}"
    return case


def _case(benchmark: str, verdict: Verdict, note: str) -> ET.Element:
    case = ET.Element("testcase", classname=benchmark, name=_legal(verdict.metric), time="0")
    line, advice = _legal(render(verdict)), _legal(next_step(verdict)) + note
    if verdict.judgement is Judgement.REGRESSED:
        failure = ET.SubElement(case, "failure", message=line, type="regression")
        failure.text = f"{line}\n{advice}"
    elif verdict.judgement is Judgement.UNDECIDED:
        ET.SubElement(case, "skipped", message=f"{line}. {advice}")
    ET.SubElement(case, "system-out").text = f"{line}\n{advice}"
    return case


def _legal(text: str) -> str:
    return visible(_ILLEGAL.sub("\ufffd", text))
