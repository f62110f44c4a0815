"""A gate's report as JUnit XML, in the form that Jenkins' schema (junit-10.xsd) and every CI server accept."""

import re
from xml.etree import ElementTree as ET

from anubis.analysis.verdict_text import next_step, render
from anubis.model.verdict import Judgement, Verdict
from anubis.reporting.gate_report import Report, Weighing, title

#: What XML 1.0 cannot hold, not even escaped (https://www.w3.org/TR/xml/#charsets).
_ILLEGAL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(report: Report) -> str:
    """One suite for each benchmark, one case for each metric: a regression is a failure, an undecided metric is
    skipped, a benchmark that failed is an error. Every case says its verdict and what to do next.
    """
    root = ET.Element("testsuites", name=_legal(f"Anubis: {title(report)}"))
    for weighing in report.weighings:
        root.append(_suite(weighing))
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _suite(weighing: Weighing) -> ET.Element:
    name = _legal(weighing.benchmark)
    cases = [
        _case(name, verdict) for verdict in (weighing.comparison.verdicts if weighing.comparison else ())
    ]
    if weighing.failure:
        failed = ET.Element("testcase", classname=name, name="the benchmark runs", time="0")
        ET.SubElement(failed, "error", message=_legal(weighing.failure), type="failed")
        cases.append(failed)
    if weighing.note:
        left_out = ET.Element("testcase", classname=name, name="there is something to compare with", time="0")
        ET.SubElement(left_out, "skipped", message=_legal(weighing.note))
        cases.append(left_out)
    suite = ET.Element("testsuite", name=name, tests=str(len(cases)), time="0")
    for attribute, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(sum(case.find(kind) is not None for case in cases)))
    properties = ET.SubElement(suite, "properties")
    for side, subject in (("baseline", weighing.baseline), ("contender", weighing.contender)):
        ET.SubElement(properties, "property", name=side, value=_legal(subject))
    suite.extend(cases)
    return suite


def _case(benchmark: str, verdict: Verdict) -> ET.Element:
    case = ET.Element("testcase", classname=benchmark, name=_legal(verdict.metric), time="0")
    line, advice = _legal(render(verdict)), _legal(next_step(verdict))
    if verdict.judgement is Judgement.REGRESSED:
        failure = ET.SubElement(case, "failure", message=line, type="regression")
        failure.text = f"{line}\n{advice}"
    elif verdict.judgement is Judgement.UNDECIDED:
        ET.SubElement(case, "skipped", message=f"{line}. {advice}")
    ET.SubElement(case, "system-out").text = f"{line}\n{advice}"
    return case


def _legal(text: str) -> str:
    return _ILLEGAL.sub("\ufffd", text)
