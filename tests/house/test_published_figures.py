"""Published figures are the output of the benches, stored in the repository, and say how they were measured."""

import importlib
import importlib.util
import json
import re
import subprocess
import sys

import pytest

from support.tree import ROOT

BENCHES = ROOT / "benchmarks"
PART = re.compile(r"<!-- generated: ([\w.]+) -->\n.*?<!-- end -->", re.DOTALL)
PAGES = ["performance.md", "concepts/verdicts.md"]


@pytest.fixture
def bench(monkeypatch):
    """Imports modules of the benches, which lie outside the package."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCHES))
    monkeypatch.syspath_prepend(str(BENCHES / "detection"))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if str(BENCHES) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


@pytest.fixture
def detection(bench):
    """The script of the detection bench, which needs the other modules of its folder."""
    spec = importlib.util.spec_from_file_location("detection_bench", BENCHES / "detection" / "__main__.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class RecordingPeers:
    """Other detectors that find nothing and note how many series they get."""

    def __init__(self):
        self.asked = {}

    def ask(self, name, mode, series):
        self.asked.setdefault(name, []).append(len(series))
        return {"found": [[] for _ in series], "alarms": [[] for _ in series]}


def parts(page):
    return PART.findall((ROOT / "docs" / page).read_text())


def test_every_bench_is_published_and_every_stored_report_has_a_bench(bench):
    commands = bench("publish").COMMANDS
    used = {name.split(".")[1] for page in PAGES for name in parts(page) if name.startswith("bench.")}
    stored = {path.stem for path in (BENCHES / "results").iterdir()}
    assert set(commands) == used == stored


def test_every_table_of_a_report_is_on_a_page_with_its_conditions(bench):
    report = bench("report")
    published = {name for page in PAGES for name in parts(page)}
    for name in bench("publish").COMMANDS:
        names = [*report.load(name).tables, "conditions"]
        assert {f"bench.{name}.{table}" for table in names} <= published


def test_every_part_of_the_judge_of_verdicts_is_published(bench, detection):
    commands = bench("publish").COMMANDS
    assert {part: commands[part] for part in detection.CODE} == {
        part: ["detection", part] for part in detection.CODE
    }


def test_bars_say_their_target_their_seeds_and_how_many_cases_they_count(bench):
    report, table = bench("report"), bench("table")
    for name in ("accuracy", "online", "robustness", "gates", "comparisons", "metrics", "confirmation"):
        stored = report.load(name).tables[name].rows
        assert stored[0][1] == "bar"
        assert stored[0][3:5] == list(table.OURS)
        assert all(row[2] for row in stored), "every row has the number of its cases"


def test_performance_has_no_table_that_no_bench_wrote():
    left = PART.sub("", (ROOT / "docs" / "performance.md").read_text())
    assert [line for line in left.splitlines() if line.startswith("|")] == []


def test_verdicts_has_no_table_of_figures_that_no_bench_wrote():
    text = PART.sub("", (ROOT / "docs" / "concepts" / "verdicts.md").read_text())
    measured = text[text.index("### How many runs do I need?") :]
    assert [line for line in measured.splitlines() if line.startswith("|")] == []


def test_a_page_that_differs_from_the_stored_output_is_reported(bench, tmp_path, monkeypatch):
    report = bench("report")
    stored = json.loads((report.RESULTS / "gate.json").read_text())
    stored["tables"]["gate"]["rows"][1][2] = "1"
    (tmp_path / "gate.json").write_text(json.dumps(stored))
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    assert report.published("gate.gate") not in (ROOT / "docs" / "performance.md").read_text()


def test_output_of_the_quick_mode_is_not_published(bench, tmp_path, monkeypatch):
    report = bench("report")
    report.Report(quick=True).save(tmp_path / "gate.json")
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    with pytest.raises(ValueError, match=r"gate\.json is of a quick run: measure again without --quick"):
        report.load("gate")


def test_figures_of_older_code_say_so(bench, tmp_path, monkeypatch):
    report = bench("report")
    for name in ("detector/scores.py", "samples/spread.py", "samples/text.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("LEAST = 4.5\n")
    monkeypatch.setattr(report, "PACKAGE", tmp_path)
    measured = report.Report(quick=False, load=0.1, code=("detector", "samples/spread.py"))
    (tmp_path / "samples" / "text.py").write_text("LEAST = 4.0\n")
    assert "has changed" not in measured.conditions()
    for name in ("detector/scores.py", "samples/spread.py"):
        (tmp_path / name).write_text("LEAST = 4.0\n")
        assert measured.conditions().endswith("**Code has changed since: detector, samples/spread.py.**")
        (tmp_path / name).write_text("LEAST = 4.5\n")
    assert "has changed" not in measured.conditions()


@pytest.mark.parametrize(("load", "busy"), [(0.5, False), (0.6, True)])
def test_figures_of_a_busy_machine_say_so(bench, load, busy):
    measured = bench("report").Report(quick=False, load=load)
    assert ("Other programs were running" in measured.conditions()) == busy


def test_every_detector_gets_the_same_series(detection):
    peers = RecordingPeers()
    bars = detection.accurate(None, peers, True)
    assert {counts[0] for counts in peers.asked.values()} == {max(bar.series for bar in bars)}

    peers = RecordingPeers()
    bars = [
        *detection.spikes(None, peers, ("otava",), 2),
        *detection.delays(peers, ("otava",), 2, 100),
    ]
    assert set(peers.asked["otava"]) == {bar.series for bar in bars}


@pytest.mark.parametrize(("peer", "shown"), [(0.92, "0.92 (tie)"), (0.89, "0.89"), (None, "")])
def test_near_values_on_labels_of_one_person_are_ties(bench, peer, shown):
    bar = bench("table").Bar(name="F1", tuned=0.939, least=0.92, peers={"asv": peer}, series=41, tie=0.04)
    assert bar.row() == ["F1", ">= 0.92", "41", "0.939", "", "", shown, "", ""]


def test_the_seed_that_was_not_used_for_choosing_constants_decides(bench):
    bar = bench("table").Bar(name="alarms", tuned=0.0, fresh=0.03, most=0, series=100)
    assert bar.row()[3:5] == ["**0.03 (missed)**", "0"]


@pytest.mark.parametrize("path", sorted(BENCHES.glob("bench_*.py")), ids=lambda path: path.stem)
def test_every_bench_can_store_its_output(path):
    shown = subprocess.run([sys.executable, path, "--help"], capture_output=True, text=True, check=True)
    assert "--json FILE" in shown.stdout
    assert "--quick" in shown.stdout
