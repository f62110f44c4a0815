import json
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from anubis.model.errors import BadInputError
from anubis.model.verdict import Judgement
from anubis.reporting import gate_report as reports
from anubis.reporting import report_file
from anubis.reporting.gate_report import Report
from support.alerts import a_report, a_verdict
from support.resources import CROSSED

REPORT = a_report(
    a_verdict(),
    a_verdict(metric="loss", judgement=Judgement.UNDECIDED, effect=0.01, more_runs=4),
    crossed=(CROSSED,),
    disturbed_baseline=2,
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "report.json"
    report_file.write(REPORT, path)
    return path


def changed(file, change):
    plain = json.loads(file.read_text())
    change(plain)
    file.write_text(json.dumps(plain))


def test_what_is_written_is_read_again(file):
    assert report_file.read(file) == REPORT


def test_figures_json_cannot_hold_become_unknown(tmp_path):
    infinite = a_report(
        a_verdict(detectable=float("inf"), interval=(float("-inf"), 0.1), noise_floor=float("nan"))
    )
    report_file.write(infinite, tmp_path / "r.json")
    verdict = report_file.read(tmp_path / "r.json").comparisons[0].comparison.verdicts[0]
    assert (verdict.detectable, verdict.interval, verdict.noise_floor) == (None, None, None)


@pytest.mark.parametrize(
    ("change", "word"),
    [
        (lambda plain: plain.update(schema=2), "schema"),
        (lambda plain: plain.pop("schema"), "schema"),
        (lambda plain: plain.update(number=12), "unknown key"),
        (lambda plain: plain["weighings"][0].update(commit="0" * 40), "unknown key"),
        (lambda plain: plain["weighings"][0].pop("benchmark"), "benchmark is missing"),
        (
            lambda plain: plain["weighings"][0].update(benchmark=["x"]),
            "benchmark must be a valid string",
        ),
        (lambda plain: plain.update(weighings={}), "weighings must be a valid array"),
        (lambda plain: verdict(plain).update(effect="1"), "effect must be a "),
        (lambda plain: verdict(plain).update(effect=10**400), "effect must be a "),
        (lambda plain: verdict(plain).update(effect=float("nan")), "effect must be a "),
        (lambda plain: verdict(plain).update(n_baseline=True), "n_baseline must be a valid integer"),
        (lambda plain: verdict(plain).update(interval=[1]), "interval\\[1\\] is missing"),
        (lambda plain: verdict(plain).update(judgement="fine"), "judgement must be 'regressed'"),
    ],
)
def test_every_deviation_is_refused_by_its_place(file, change, word):
    changed(file, change)
    with pytest.raises(BadInputError, match=word):
        report_file.read(file)


def verdict(plain):
    return plain["weighings"][0]["comparison"]["verdicts"][0]


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"\xff\xfe", b"[" * 100_000, b'{"schema":' + b"1" * 9999]
)
def test_what_is_no_report_is_refused(tmp_path, content):
    (tmp_path / "r.json").write_bytes(content)
    with pytest.raises(BadInputError):
        report_file.read(tmp_path / "r.json")


def test_a_huge_file_is_refused_unread(tmp_path):
    with (tmp_path / "r.json").open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(BadInputError, match="larger than 4 MiB"):
        report_file.read(tmp_path / "r.json")


def test_links_pipes_and_folders_are_refused(tmp_path, file):
    (tmp_path / "link").symlink_to(file)
    os.mkfifo(tmp_path / "pipe")
    for name in ("link", "pipe", ".", "gone"):
        with pytest.raises(BadInputError):
            report_file.read(tmp_path / name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
)


@given(st.data())
def test_a_mutated_file_is_read_or_refused_and_nothing_else(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("mutated") / "r.json"
    report_file.write(REPORT, path)
    plain = json.loads(path.read_text())
    place = data.draw(st.sampled_from([plain, plain["weighings"][0], verdict(plain)]))
    place[data.draw(st.sampled_from([*place, "extra"]))] = data.draw(JSON)
    path.write_text(json.dumps(plain))
    try:
        read = report_file.read(path)
    except BadInputError:
        return
    assert isinstance(read, Report)
    assert len(reports.markdown(read)) < 10_000


def test_hostile_names_are_shown_and_not_obeyed():
    nasty = "@all](https://evil.example) | <img src=x>"
    hostile = a_report(
        a_verdict(metric=nasty, units="`|"),
        a_verdict(metric=nasty, judgement=Judgement.UNDECIDED, more_runs=3),
        crossed=(replace(CROSSED, metric=nasty, note=nasty, units=nasty),),
        benchmark="# -->\n![](https://evil.example)",
        contender="x\n\n/approve",
    )
    said = reports.markdown(hostile)
    tokens = MarkdownIt("commonmark").enable("table").parse(said)
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} <= {"text", "code_inline", "strong_open", "strong_close"}
    assert "evil" not in "".join(child.content for child in inline if child.type == "text")
    assert sum(token.type == "td_open" for token in tokens) == 14


@pytest.mark.parametrize(
    ("judgements", "bad", "undecided", "news"),
    [
        ([Judgement.UNCHANGED], False, False, False),
        ([Judgement.UNCHANGED, Judgement.UNDECIDED], False, True, False),
        ([Judgement.IMPROVED, Judgement.UNDECIDED], False, True, True),
        ([Judgement.CHANGED], False, False, True),
        ([Judgement.REGRESSED, Judgement.UNDECIDED], True, False, True),
    ],
)
def test_what_a_report_means(judgements, bad, undecided, news):
    report = a_report(*(a_verdict(judgement=judgement) for judgement in judgements))
    assert (report.is_bad, report.is_undecided, report.has_changes) == (bad, undecided, news)


def test_a_failed_benchmark_is_bad_news_and_said_first():
    report = a_report(failure="out of memory", benchmark="b")
    assert report.is_bad
    assert report.has_changes
    assert reports.title(report).startswith("1 benchmark failed")
    assert "`b` failed: `out of memory`" in reports.markdown(report)


def test_many_verdicts_stay_short_and_the_gravest_are_shown():
    same = [a_verdict(metric=f"m{n}", judgement=Judgement.UNCHANGED, effect=0.0) for n in range(3000)]
    said = reports.markdown(a_report(*same, a_verdict(metric="the one")))
    assert "`the one`" in said
    assert "and 2991 more" in said
    assert len(said) < 3000


def test_every_row_says_effect_interval_counts_and_noise():
    said = reports.markdown(a_report(a_verdict()))
    for part in ("-4.4 % [-5.8, -3.1]", "10+10", "1.1 %", "912.4 -> 871.9 img/s", "Look at what changed"):
        assert part in said


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ([], ""),
        ([None], ""),
        ([3], "To decide: about 3 more runs for m0."),
        ([1, 4], "To decide: about 4 more runs for m1, about 1 more run for m0."),
        (
            [5, 1, 2, 4, 3],
            "To decide: about 5 more runs for m0, about 4 more runs for m3, about 3 more runs for m4, fewer for 2 more.",
        ),
    ],
)
def test_what_would_decide_is_named_most_runs_first(more, text):
    undecided = [
        a_verdict(metric=f"m{at}", judgement=Judgement.UNDECIDED, more_runs=runs)
        for at, runs in enumerate(more)
    ]
    decided = a_verdict(metric="other", more_runs=9)
    assert reports.what_decides(a_report(decided, *undecided)) == text


@pytest.mark.parametrize(
    ("sides", "text"),
    [
        ((0, 0), ""),
        ((1, 0), "the machine was disturbed during 1 baseline run: see anubis show RUN"),
        (
            (2, 3),
            "the machine was disturbed during 2 baseline runs and 3 contender runs: see anubis show RUN",
        ),
    ],
)
def test_disturbed_runs_are_counted_by_side(sides, text):
    report = a_report(a_verdict(), disturbed_baseline=sides[0], disturbed_contender=sides[1])
    assert reports.disturbance(report.comparisons[0]) == text
    assert ("disturbed" in reports.markdown(report)) == bool(text)


def test_unknown_noise_is_not_known_yet():
    assert "| not known yet |" in reports.markdown(a_report(a_verdict(noise_floor=None)))


def test_crossed_bounds_are_bad_and_listed_up_to_a_limit():
    bounds = tuple(replace(CROSSED, metric=f"m{at}") for at in range(15))
    report = a_report(a_verdict(judgement=Judgement.UNDECIDED), crossed=bounds)
    assert (report.is_bad, report.is_undecided, report.has_changes) == (True, False, True)
    assert reports.title(report) == "15 thresholds crossed, 1 undecided"
    said = reports.markdown(report)
    assert "`resnet50-train` crosses a threshold: `m9 871.9 img/s -4.4 % from its level" in said
    assert "m10" not in said
    assert "and 5 more thresholds crossed" in said
    assert reports.title(a_report(crossed=bounds[:1])) == "1 threshold crossed"
