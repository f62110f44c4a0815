"""Both sides of a comparison are treated alike: order, layout of memory, paths; and a control shows whether that suffices."""

import json
import re
from pathlib import Path

import pytest

from support.c_programs import compiled

#: The second run of a round is 20 % slower, whichever side it belongs to; 1 % of noise.
SLOTS = """\
n=$(cat count 2>/dev/null || echo 0)
echo $((n + 1)) >count
awk -v n="$n" 'BEGIN { print "latency=" 100 * (1 + 0.2 * (n % 2)) * (1 + 0.01 * sin(7.3 * n)) }'
"""
LATENCY = """
[[output.metrics]]
name = "latency"
units = "ms"
pattern = 'latency=(\\S+)'
better = "lower"
"""


@pytest.fixture
def slots(anubis):
    """The files of two sides that are equal, except that the second run of each round is slower."""
    (anubis.folder / "slots.sh").write_text(SLOTS)
    return [anubis.write(name, "sh slots.sh", more=LATENCY) for name in ("old.toml", "new.toml")]


def test_the_effect_of_the_order_is_shown_and_is_part_of_neither_effect_nor_noise(anubis, slots):
    old, new = slots
    report = anubis.json("check", new, "--baseline", old, "--rounds", 6)
    (verdict,) = [one for one in report["weighings"][0]["verdicts"] if one["metric"] == "latency"]
    assert verdict["slot_effect"] == pytest.approx(0.2, abs=0.03)
    assert verdict["noise_floor"] < 0.05
    assert "The second run of a round is" in verdict["next_step"]


def test_runs_of_two_files_are_compared_within_their_rounds(anubis, slots):
    shown = anubis("run", *slots, "--rounds", 6)
    assert shown.returncode == 0, shown.stderr
    assert "higher than the first" in shown.stdout
    assert "higher than the first" in anubis("compare").stdout


def control_runs(anubis):
    return anubis.json("history", "--label", "anubis-control=true", "-n", 1000)


@pytest.fixture
def steady(anubis):
    """A benchmark without noise."""
    return anubis.write("steady.toml", "echo latency=100", more=LATENCY)


def test_a_control_compares_a_file_with_itself_and_no_history_contains_it(anubis, steady):
    anubis("run", steady, "--rounds", 3)
    before = anubis.json("series", "list")
    report = anubis.json("check", steady, "--control")
    (verdict,) = [one for one in report["weighings"][0]["verdicts"] if one["metric"] == "latency"]
    assert (verdict["judgement"], verdict["n_baseline"], verdict["n_contender"]) == ("unchanged", 6, 6)
    assert report["controls"]["count"] == 1
    assert report["controls"]["false"] == 0
    assert anubis.json("series", "list") == before
    assert len(control_runs(anubis)) == 12
    assert anubis("check").returncode == 0, "judging the last control again"
    assert anubis.json("check")["controls"]["count"] == 1, "counts it once"


def test_a_false_control_fails_and_is_counted_and_alerts_nobody(anubis):
    """One side is always faster: a bias that a control must show."""
    (anubis.folder / "side.sh").write_text(
        "n=$(cat count 2>/dev/null || echo 0)\necho $((n + 1)) >count\n"
        "case $((n % 4)) in 0|3) echo latency=100;; *) echo latency=80;; esac\n"
    )
    about = LATENCY + '[[notify]]\nto = "mailto:a@example.org"\n'
    file = anubis.write("side.toml", "sh side.sh", more=about)
    report = anubis.json("check", file, "--control", "--rounds", 8, code=3)
    assert "improvement" in report["title"]
    assert (report["controls"]["count"], report["controls"]["false"]) == (1, 1)
    assert report["controls"]["interval"] == [pytest.approx(0.025), 1.0]
    assert anubis.json("alerts", "list") == []
    shown = anubis("check", file, "--control", "--rounds", 8, "--fail-on", "never")
    assert shown.returncode == 0
    assert "A/A controls on this machine: 2 of 2 false" in shown.stdout
    assert "published: at most 5.0 %" in shown.stdout
    assert "see anubis doctor" in shown.stdout, "two of two are too many"
    assert anubis("check", file).stdout.count("2 of 2 false") == 1, "beside every verdict of this machine"


def test_a_control_of_too_few_runs_for_a_test_is_not_counted(anubis, steady):
    assert anubis.json("check", steady, "--control", "--rounds", 2)["controls"] is None


def test_a_control_that_fails_is_not_counted(anubis):
    broken = anubis.write("broken.toml", "false", more=LATENCY)
    report = anubis.json("check", broken, "--control", code=1)
    assert report["controls"] is None
    assert anubis.json("alerts", "list") == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--baseline", "steady.toml"), "takes no baseline"),
        (("--baseline-subject", "1"), "takes no baseline"),
        (("steady.toml",), "requires one descriptor file"),
    ],
)
def test_a_control_with_other_sides_is_refused(anubis, steady, words, message):
    refused = anubis("check", steady, *words, "--control")
    assert refused.returncode == 2
    assert message in refused.stderr
    assert control_runs(anubis) == []


def test_a_baseline_by_label_or_subject_contains_no_control(anubis):
    file = anubis.write("steady.toml", "echo latency=100")
    text = file.read_text().replace("[hardware]", '[info.labels]\nteam = "vision"\n[hardware]')
    file.write_text(text + LATENCY + '[subject]\nversion = "1"\n')
    anubis("run", file, "--rounds", 3)
    anubis("check", file, "--control", "--rounds", 12)
    for count, *words in ((3, "--baseline-subject", "1"), (4, "--baseline-label", "team=vision")):
        report = anubis.json("check", file, *words, "--fail-on", "never")
        assert {verdict["n_baseline"] for verdict in report["weighings"][0]["verdicts"]} == {count}, words
    assert anubis("check", "team=vision", "--baseline-subject", "1", "--fail-on", "never").returncode == 2
    report = anubis.json("check", "team=vision", "--fail-on", "never")
    assert {verdict["n_contender"] for verdict in report["weighings"][0]["verdicts"]} <= {5}


def test_doctor_measures_controls_and_shows_the_rate_of_this_machine(anubis, steady):
    shown = anubis("doctor", "--control", steady, "--controls", 2, "--rounds", 3)
    assert shown.returncode in {0, 1}, shown.stderr
    assert "control 2 of 2: 1 no change" in shown.stderr
    assert "2 controls measured, 0 false." in shown.stdout
    assert "A/A controls on this machine: 0 of 2 false" in " ".join(shown.stdout.split())
    assert len(control_runs(anubis)) == 12


def test_doctor_refuses_what_it_cannot_measure(anubis, steady):
    assert anubis("doctor", "--control", "nothing.toml").returncode == 2
    for words in (["--rounds", 3], ["--controls", 3], ["--control"], [steady]):
        refused = anubis("doctor", *words)
        assert refused.returncode == 2
        assert "belong together" in refused.stderr
    steady.write_text("")
    assert anubis("doctor", "--control", steady).returncode == 2


def test_paths_of_different_length_are_said_once(anubis, steady):
    for folder in ("old", "much-longer", "new"):
        (anubis.folder / folder).mkdir()
        (anubis.folder / folder / "bench.toml").write_text(steady.read_text())
    equal = anubis("check", "new/bench.toml", "--baseline", "old/bench.toml", "--rounds", 2)
    assert "differ in length" not in equal.stderr
    other = anubis("run", "much-longer/bench.toml", "new/bench.toml", "--rounds", 2)
    assert other.stderr.count("differ in length") == 1
    assert "../old and ../new" in other.stderr


STACK = Path(__file__).parents[2] / "benchmarks" / "layout" / "stack.c"


@pytest.mark.parametrize("fixed", [True, False])
def test_both_sides_have_environments_of_equal_size_and_layouts_that_are_recorded(anubis, fixed):
    files = []
    for name in ("old", "much-longer"):
        folder = anubis.folder / name
        folder.mkdir()
        compiled(STACK, folder / "stack", "-O1")
        more = f"[measure]\nrepeats = 2\nfixed_layout = {str(fixed).lower()}\n"
        more += f'[env.vars]\nWHERE = "{folder}"\n'
        files.append(anubis.write(f"{name}.toml", f"{folder}/stack", more=more))
    runs = anubis.json("run", *files, "--rounds", 2)["runs"]
    layouts = []
    for run in runs:
        (exit_file,) = anubis.home.glob(f"records/**/{run['id']}/**/exit.json")
        executions = json.loads(exit_file.read_text())["executions"]
        layouts.append([execution["layout_offset"] for execution in executions])
        printed = re.findall(r"size=(\d+)", exit_file.with_name("stdout").read_text())
        assert [*map(int, printed)] == layouts[-1]
    different = {offset for layout in layouts for offset in layout}
    assert different == {0} if fixed else len(different) > 2
