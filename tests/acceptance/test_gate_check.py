"""``anubis check`` as a pipeline runs it."""

import json
import signal
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from support.command import Command
from support.forges import TOKEN, GitHubApi
from support.noisy import Noisy

SCHEMA = Path(__file__).parents[1] / "recorded" / "junit" / "junit-10.xsd"


@pytest.fixture
def bench(anubis):
    return Noisy(anubis)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The command in a home where version 2 is worse than version 1; for commands that only look."""
    folder = tmp_path_factory.mktemp("measured")
    bench = Noisy(Command(folder / "home", folder))
    bench.measure("1", 10, rounds=8)
    bench.measure("2", 11)
    return bench.anubis


def test_a_regression_fails_the_pipeline_and_says_why(measured):
    ended = measured("check")
    assert ended.returncode == 3, ended.stdout
    assert "latency" in ended.stdout
    assert "n=8+1 runs  REGRESSION (min effect 2 %)" in ended.stdout
    assert "Runs differ by" in ended.stdout
    assert "Look at what changed" in ended.stdout
    assert "1 -> 2" in ended.stdout
    assert "2 regressions" in ended.stdout.splitlines()[-1]


@pytest.mark.parametrize(("level", "code"), [(10, 0), (9, 0), (11, 3)])
def test_a_file_is_measured_and_compared_in_one_command(anubis, bench, level, code):
    bench.measure("1", 10, rounds=8)
    bench.level(level)
    answer = anubis.json("check", bench.file("2"), "--runs", 4, code=code)
    (weighing,) = answer["weighings"]
    assert (answer["exit_code"], weighing["baseline"], weighing["contender"]) == (code, "1", "2")
    assert {verdict["n_contender"] for verdict in weighing["verdicts"]} == {4}
    assert all("%" in verdict["text"] and verdict["next_step"] for verdict in weighing["verdicts"])


def test_two_files_are_measured_side_by_side(anubis, bench):
    old = anubis.write("old.toml", "sh -c 'echo latency=10 rate=100'", more=bench_metrics(bench))
    new = anubis.write("new.toml", "sh -c 'echo latency=12 rate=100'", more=bench_metrics(bench))
    assert anubis("check", new, "--baseline", old, "--runs", 3).returncode == 3
    for file in (old, new):
        file.write_text(file.read_text().replace(f'name = "{file.stem}"', 'name = "same"'))
    assert anubis("check", new, "--baseline", old, "--runs", 3).returncode == 3
    assert anubis("check").returncode == 3, "the family of two files is its own comparison"


def test_two_benchmarks_are_each_compared_with_their_own_history(anubis, bench):
    """A regression of the first one must not become an improvement of the second one."""

    commands = ["sh -c 'cat level-one'", "sh -c 'cat level-two'"]
    levels = [anubis.folder / "level-one", anubis.folder / "level-two"]

    def measure(version, one, two):
        for path, level in zip(levels, (one, two), strict=True):
            path.write_text(f"latency={level} rate=100")
        about = f'[subject]\nversion = "{version}"\n{bench_metrics(bench)}'
        return [
            anubis.write(f"{n}.toml", c, more=about) for n, c in zip(("one", "two"), commands, strict=True)
        ]

    anubis("run", *measure("1", 100, 200), "--rounds", 6)
    ended = anubis("check", *measure("2", 150, 100), "--rounds", 3)
    assert ended.returncode == 3, ended.stdout
    assert "1 regression" in ended.stdout.splitlines()[-1]
    assert {"one  1 -> 2", "two  1 -> 2"} <= set(ended.stdout.splitlines())
    assert anubis("check").returncode == 3, "the stored runs are compared in the same way"


def test_runs_of_one_round_are_compared_as_a_pair(anubis, bench, tmp_path):
    """The machine is 30 % slower in every further round, which is ten times the difference between the sides."""
    count = tmp_path / "count"
    count.write_text("0")
    files = [
        anubis.write(
            f"{name}.toml",
            f"sh -c 'n=$(cat {count}); echo $((n+1)) >{count}; r=$((n/2));"
            f" echo latency=$(( ({level} + r % 3) * (10 + 3 * r) )) rate=100'",
            more=bench_metrics(bench),
        )
        for name, level in (("old", 1000), ("new", 1030))
    ]
    old, new = files
    answer = anubis.json("check", new, "--baseline", old, "--rounds", 7, code=3)
    verdicts = {verdict["metric"]: verdict for verdict in answer["weighings"][0]["verdicts"]}
    assert verdicts["latency"]["judgement"] == "regressed"
    assert verdicts["latency"]["effect"] == pytest.approx(0.03, abs=0.002)
    assert verdicts["latency"]["estimator"] == "alternated pairs"
    assert verdicts["rate"]["judgement"] == "unchanged"


def bench_metrics(bench):
    return bench.file("x").read_text().partition("[[output.metrics]]")[2].join(["[[output.metrics]]", ""])


def test_branches_have_histories_of_their_own(anubis, bench):
    """A pull request is compared with the main branch, and leaves no trace in its history."""
    bench.level(10)
    main = bench.file("1")
    anubis("run", main, "--rounds", 6, "--set", "info.labels.branch=main")
    bench.level(12)
    words = ["--set", "info.labels.branch=topic", "--baseline-label", "branch=main", "--runs", 4]
    assert anubis("check", bench.file("2"), *words).returncode == 3
    lines = [(row["labels"]["branch"], row["n"]) for row in anubis.json("series", "--metric", "latency")]
    assert sorted(lines) == [("main", 6), ("topic", 4)]


def test_a_first_measurement_cannot_be_judged(anubis, bench):
    bench.measure("1", 10)
    ended = anubis("check")
    assert ended.returncode == 0, "undecided fails only on request"
    assert "this is the first measurement" in ended.stdout
    assert anubis("check", "--fail-on", "undecided").returncode == 4
    assert anubis("check", "--fail-on", "regression").returncode == 0


def test_earlier_runs_of_the_same_subject_are_no_first_measurement(anubis, bench):
    bench.measure("1", 10)
    ended = anubis("check", bench.file("1"))
    assert "first measurement" not in ended.stdout
    assert "no earlier values of another subject, only of 1: set subject.commit" in ended.stdout


def test_a_baseline_of_several_subjects_says_so(anubis, bench):
    for version in ("1", "2", "3"):
        bench.measure(version, 10)
    assert "noisy  2 subjects up to 2 -> 3" in anubis("check").stdout
    assert "Baseline `2 subjects up to 2`, contender `3`" in anubis("check", "--format", "markdown").stdout


def test_an_undecided_gate_says_what_would_decide_it(anubis, bench):
    bench.measure("1", 10, rounds=2)
    bench.measure("2", 10.1)
    ended = anubis("check")
    assert ended.returncode == 0
    assert "To decide: about 5 more runs for latency, about 5 more runs for rate." in ended.stdout
    assert ended.stdout.splitlines()[-1] == "2 undecided"
    assert "about 5 more runs for `latency`" in anubis("check", "--format", "markdown").stdout
    assert "about 5 more runs for latency" in anubis.json("check")["to_decide"]


def test_a_baseline_that_does_not_exist_is_refused_before_anything_is_measured(anubis, bench):
    bench.level(10)
    file = bench.file("1")
    for words in (
        ["--baseline-label", "branch=main"],
        ["--baseline-subject", "0"],
        ["--baseline", "@last"],
        ["--baseline", "team=vision"],
    ):
        ended = anubis("check", file, *words)
        assert ended.returncode == 2, ended
        assert ended.stderr.count("error: ") == 1
        assert anubis.json("history") == [], "nothing was run"
    bench.measure("0", 10, rounds=2)
    assert (
        "no successful run of noisy has the label branch=main"
        in anubis("check", file, "--baseline-label", "branch=main").stderr
    )
    answer = anubis.json("check", file, "--baseline", "@last~1,@last")
    assert {verdict["n_baseline"] for verdict in answer["weighings"][0]["verdicts"]} == {2}


def test_a_benchmark_that_fails_is_no_verdict(anubis, bench):
    bench.measure("1", 10, rounds=6)
    bench.level("broken")
    ended = anubis("check", bench.file("2"), "--runs", 2, "--fail-on", "never")
    assert ended.returncode == 1
    assert "failed: 2 contender runs" in ended.stdout


def test_what_the_exit_status_is_of_may_be_chosen(measured):
    assert measured("check", "--fail-on", "regression").returncode == 3
    assert measured("check", "--fail-on", "never").returncode == 0
    assert measured("check", "--min-effect", "50%").returncode == 0


def test_baselines_are_named_by_runs_subject_or_label(anubis, bench):
    old = bench.measure("1", 10, rounds=4, more='[info.labels]\nbranch = "main"\n')
    new = bench.measure("2", 12, rounds=4, more='[info.labels]\nbranch = "topic"\n')
    assert anubis("check", ",".join(new), "--baseline", ",".join(old)).returncode == 3
    assert anubis("check", *new, "--baseline-label", "branch=main").returncode == 3
    bench.measure("3", 12, rounds=4, more='[info.labels]\nbranch = "topic"\n')
    ended = anubis("check", "--baseline-subject", "2", "--fail-on", "undecided")
    assert ended.returncode == 0
    assert "2 -> 3" in ended.stdout
    assert ended.stdout.splitlines()[-1] == "2 no change"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--baseline", "@last~1", "--baseline-subject", "1"], "more than one baseline"),
        (["--runs", "3"], "require a descriptor file"),
        (["--set", "info.name=x"], "require a descriptor file"),
        (["--baseline", "old.toml"], "require a descriptor file"),
        (["@last", "noisy.toml"], "runs and files"),
        (["gone.toml"], "No such file"),
        (["@last", "--baseline", "@last"], "on both sides"),
        (["--baseline-label", "branch=none"], "no successful run"),
        (["--baseline-subject", "unheard-of"], "no successful run"),
        (["--post", "pigeon"], "no installed plug-in posts to 'pigeon'"),
        (["--report", "no/such/folder/r.json"], "cannot be written"),
        (["--min-effect", "much"], "not a share"),
    ],
)
def test_bad_input_is_one_clear_error(measured, words, sentence):
    ended = measured("check", *words)
    assert ended.returncode == 2, ended
    assert sentence in ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert "Traceback" not in ended.stderr
    assert len(measured.json("history")) == 9, "nothing was run"


def test_nothing_was_ever_run(anubis):
    ended = anubis("check")
    assert ended.returncode == 2
    assert "0 runs are stored" in ended.stderr


def test_reports_for_machines_and_people(measured, tmp_path):
    files = [tmp_path / name for name in ("report.json", "junit.xml", "summary.md")]
    assert measured("check", *(word for file in files for word in ("--report", file))).returncode == 3
    report, junit, summary = (file.read_text() for file in files)
    assert json.loads(report)["schema"] == 1
    xmlschema.XMLSchema(SCHEMA).validate(junit)
    assert {case.get("name") for case in ET.fromstring(junit.encode()).iter("testcase")} == {
        "latency",
        "rate",
    }
    assert "| `noisy` | `latency` |" in summary
    assert measured("check", "--format", "markdown").stdout == summary
    assert measured("check", "--format", "junit").stdout == junit


def test_many_metrics_are_summed_up_unless_all_are_asked_for(anubis):
    metrics = "".join(
        f'[[output.metrics]]\nname = "m{at}"\nunits = "s"\npattern = \'m{at}=(\\S+)\'\nbetter = "lower"\n'
        for at in range(25)
    )
    for version, value in (("1", 1), ("2", 2)):
        words = " ".join(f"m{at}={value if at == 7 else 1}" for at in range(25))
        (anubis.folder / "values").write_text(words)
        file = anubis.write("many.toml", "cat values", more=f'[subject]\nversion = "{version}"\n{metrics}')
        anubis("run", file, "--rounds", 4)
    ended = anubis("check")
    assert ended.returncode == 3
    assert "  m7  " in ended.stdout
    assert "  m8  " not in ended.stdout
    assert "1 regression, 24 no change" in ended.stdout
    assert "  m8  " in anubis("check", "--all").stdout


def test_the_trusted_step_posts_what_the_other_computed(measured, monkeypatch, tmp_path):
    assert measured("check", "--report", "report.json").returncode == 3
    commit, event = "a" * 40, tmp_path / "event.json"
    event.write_text(json.dumps({"after": commit, "repository": {"full_name": "org/model"}}))
    api = GitHubApi()
    with api.running() as server:
        environment = {
            "GITHUB_API_URL": server.url,
            "GITHUB_EVENT_NAME": "push",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_TOKEN": TOKEN,
        }
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        ended = measured("notify", "--report", "report.json", "--post", "github")
        assert ended.returncode == 0, ended.stderr
        assert "posted to https://github.com/check" in ended.stderr
        assert api.checks[0]["conclusion"] == "failure"
        assert measured("check", "--post", "github").returncode == 3, "the verdict, not the posting, decides"
        monkeypatch.setenv("GITHUB_TOKEN", "wrong")
        refused = measured("notify", "--report", "report.json", "--post", "github")
    assert refused.returncode == 1
    assert "error: " in refused.stderr


@pytest.mark.parametrize("content", ["", "{}", '{"schema": 1}', "[1]"])
def test_a_report_that_is_none_is_refused(anubis, content):
    (anubis.folder / "report.json").write_text(content)
    ended = anubis("notify", "--report", "report.json", "--post", "github")
    assert ended.returncode == 2
    assert "the report is not valid" in ended.stderr


def test_a_gate_that_was_interrupted_is_cancelled_not_failed(anubis):
    file = anubis.write("long.toml", "sh -c 'echo begun; sleep 600'")
    process = anubis.start("check", file, "--report", "gate.xml")
    while not (anubis.home.is_dir() and "begun" in anubis("logs").stdout):
        pass
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 5, err
    assert b"cancelled: 1 of 1 runs did not end, and nothing was judged" in err
    assert not (anubis.folder / "gate.xml").exists()


def test_after_a_confirmed_change_the_baseline_is_the_new_level_alone(anubis, bench):
    """Both levels in one baseline would make the noise as large as the step."""
    bench.measure("1", 10, rounds=6)
    bench.level(15)
    assert "an alert is open" not in anubis("check", bench.file("2"), "--rounds", 3).stdout
    for version in ("3", "4", "5"):
        answer = anubis.json("check", bench.file(version), "--rounds", 3)
        (weighing,) = answer["weighings"]
        for verdict in weighing["verdicts"]:
            assert abs(verdict["effect"]) < 0.02
            assert verdict["noise_floor"] < 0.02
            assert verdict["interval"][1] < 0.04
        assert weighing["note"].startswith("an alert is open: regression since 2, latency +")
    bench.level(22)
    assert anubis("check", bench.file("6"), "--rounds", 3).returncode == 3


def test_the_noise_of_a_named_baseline_is_its_own(anubis, bench):
    """A step in the history of the contender is not noise of the baseline."""
    bench.measure("1", 10, rounds=6)
    for version in ("2", "3", "4"):
        bench.measure(version, 15)
    answer = anubis.json("check", bench.file("5"), "--baseline-subject", "1", "--rounds", 2, code=3)
    (weighing,) = answer["weighings"]
    assert {verdict["judgement"] for verdict in weighing["verdicts"]} == {"regressed"}
    assert max(verdict["noise_floor"] for verdict in weighing["verdicts"]) < 0.02


def test_too_few_runs_have_a_mean_without_an_interval(anubis, bench):
    """Of three cells of one metric, each with one run a side."""
    for version, level in (("1", 10), ("2", 11)):
        (anubis.folder / "level").write_text(str(level))
        file = bench.file(version, more='[matrix]\n"env.vars.N" = ["1", "2", "3"]\n')
        anubis("run", file)
    ended = anubis("check", "--metric", "latency")
    assert "not enough runs" in ended.stdout
    (line,) = [line for line in ended.stdout.splitlines() if line.startswith("geometric mean")]
    assert "of 3 cells" in line
    assert "[" not in line
