"""``anubis bisect`` in a real repository: a culprit among twelve commits, one that does not build, Ctrl-C."""

import signal

import pytest

from support.git import git

BENCH = """\
n=$(cat {counter} 2>/dev/null || echo 0)
echo $((n + 1)) >{counter}
. ./build
awk -v level="$level" -v n="$n" 'BEGIN {{
    noise = 1 + 0.004 * sin(7.3 * n) + 0.003 * sin(31.7 * n)
    print "latency=" level * noise
    print "rate=" 1000 / level / noise
}}'
"""
METRICS = """
[[output.metrics]]
name = "latency"
units = "ms"
pattern = 'latency=(\\S+)'
better = "lower"
"""
RATE = """
[[output.metrics]]
name = "rate"
units = "1/s"
pattern = 'rate=(\\S+)'
better = "higher"
"""
COMMITS, CULPRIT, BROKEN = 12, 9, 6


@pytest.fixture
def repository(anubis, tmp_path):
    """Twelve commits in the working folder: since the ninth everything takes 10 % longer; the sixth is broken."""
    folder = anubis.folder
    git(folder, "init", "-q", "-b", "main")
    (folder / "bench.sh").write_text(BENCH.format(counter=tmp_path / "count"))
    anubis.write("bench.toml", "sh bench.sh", more=METRICS)
    for number in range(1, COMMITS + 1):
        build = "exit 3" if number == BROKEN else f"level={11 if number >= CULPRIT else 10}"
        (folder / "build").write_text(f"{build}\n# {number}\n")
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"change {number}", "--date", f"2026-01-{number:02} 12:00:00 +0000")
    return git(folder, "rev-list", "--reverse", "HEAD").split()


def trees(anubis):
    """Working trees beside the first, and what is left of their folders."""
    listed = git(anubis.folder, "worktree", "list", "--porcelain").count("worktree ") - 1
    left = list((anubis.home / "worktrees").rglob("*")) if (anubis.home / "worktrees").exists() else []
    return listed, left


def test_the_culprit_is_found_with_few_runs(anubis, repository):
    found = anubis.json("bisect", repository[0], "HEAD", "bench.toml")
    assert found["first_bad"] == repository[CULPRIT - 1]
    assert found["last_good"] == repository[CULPRIT - 2]
    assert found["verdict"]["judgement"] == "regressed"
    assert "REGRESSION" in found["verdict"]["text"]
    assert {one["commit"]: one["side"] for one in found["answers"]}.items() <= {
        commit: "skipped" if at == BROKEN else "bad" if at >= CULPRIT else "good"
        for at, commit in enumerate(repository, 1)
    }.items()
    runs = anubis.json("history", "-n", 1000)
    assert len(runs) <= 6 + 5, "three of good and bad, and one of each commit on the way"
    assert {run["family_id"] for run in runs} == {found["family_id"]}
    assert trees(anubis) == (0, [])


def test_it_is_said_in_words(anubis, repository):
    ended = anubis("bisect", repository[0], "main", "bench.toml", "--metric", "latency")
    assert ended.returncode == 0
    assert f"first bad commit: {repository[CULPRIT - 1]}" in ended.stdout
    assert f"A: change {CULPRIT}" in ended.stdout
    assert "latency" in ended.stdout
    assert "REGRESSION (min effect 2 %)" in ended.stdout
    assert "Runs differ by" in ended.stdout
    assert " commits left)" in ended.stderr


def test_what_is_stored_is_not_measured_again(anubis, repository):
    first = anubis.json("bisect", repository[0], "HEAD", "bench.toml")
    before = len(anubis.json("history", "-n", 1000))
    assert anubis.json("bisect", repository[0], "HEAD", "bench.toml") == first
    assert len(anubis.json("history", "-n", 1000)) == before
    anubis.write("bench.toml", "sh bench.sh", more=METRICS + RATE)
    other = anubis.json("bisect", repository[2], "HEAD", "bench.toml", "--metric", "rate")
    assert other["first_bad"] == first["first_bad"]


def test_a_broken_neighbour_leaves_several_suspects(anubis, repository):
    git(anubis.folder, "checkout", "-q", "-b", "side", repository[CULPRIT - 3])
    for number, build in enumerate(("exit 3", "level=11"), 20):
        (anubis.folder / "build").write_text(f"{build}\n# {number}\n")
        git(anubis.folder, "commit", "-qam", f"change {number}")
    ended = anubis("bisect", repository[CULPRIT - 3], "side", "bench.toml")
    assert ended.returncode == 4
    assert "one of these 2" in ended.stdout
    assert "skipped" in ended.stderr
    assert "exit code 3" in ended.stderr


def test_ctrl_c_leaves_nothing_behind_and_the_next_call_goes_on(anubis, repository):
    slow = anubis.write("bench.toml", "sh -c 'sh bench.sh; test -e go || sleep 600'", more=METRICS)
    process = anubis.start("bisect", repository[0], "HEAD", slow)
    for line in process.stderr:
        if b" running" in line:
            break
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert trees(anubis) == (0, [])
    assert {run["status"] for run in anubis.json("history")} == {"cancelled"}
    quick = anubis.write("bench.toml", "sh bench.sh", more=METRICS)
    assert anubis.json("bisect", repository[0], "HEAD", quick)["first_bad"] == repository[CULPRIT - 1]


def test_an_alert_says_what_to_search(anubis, repository):
    about = '[subject]\ncommit = "auto"\n'
    for at, rounds in ((1, 12), (COMMITS, 12)):
        git(anubis.folder, "checkout", "-q", repository[at - 1])
        anubis.write("bench.toml", "sh bench.sh", more=about + METRICS)
        git(anubis.folder, "update-index", "--assume-unchanged", "bench.toml")
        anubis("run", "bench.toml", "--rounds", rounds)
        git(anubis.folder, "update-index", "--no-assume-unchanged", "bench.toml")
        git(anubis.folder, "checkout", "-q", "--", "bench.toml")
    (alert,) = anubis.json("alerts")
    assert (alert["last_old"], alert["first_new"]) == (repository[0], repository[-1])
    before = len(anubis.json("history", "-n", 1000))
    found = anubis.json("bisect", "--alert", alert["id"])
    assert found["first_bad"] == repository[CULPRIT - 1]
    assert len(anubis.json("history", "-n", 1000)) - before <= 6, "good and bad were measured already"


def test_branches_are_searched_when_asked_for(anubis, repository):
    git(anubis.folder, "checkout", "-q", "-b", "topic", repository[3])
    (anubis.folder / "slow").write_text("")
    for number in (1, 2):
        (anubis.folder / "build").write_text(f"level={13 if number == 2 else 10}\n# topic {number}\n")
        git(anubis.folder, "commit", "-qam", f"topic {number}")
    culprit = git(anubis.folder, "rev-parse", "HEAD")
    git(anubis.folder, "checkout", "-q", "-B", "main", repository[4])
    git(anubis.folder, "merge", "-q", "-X", "theirs", "-m", "merge topic", "topic")
    merge = git(anubis.folder, "rev-parse", "HEAD")
    words = ["bisect", repository[2], "main", "bench.toml"]
    assert anubis.json(*words)["first_bad"] == merge
    assert anubis.json(*words, "--all-parents")["first_bad"] == culprit


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["HEAD~1", "HEAD"], 2, "needs a good commit"),
        (["HEAD~1", "HEAD", "gone.toml"], 2, "No such file"),
        (["nothing", "HEAD", "bench.toml"], 2, "no commit 'nothing'"),
        (["HEAD", "HEAD~3", "bench.toml"], 2, "is not an ancestor"),
        (["HEAD~1", "HEAD", "bench.toml"], 4, "is detected with 3 runs of each"),
        (["HEAD~6", "HEAD", "bench.toml"], 2, "cannot be measured"),
        (["HEAD~1", "HEAD", "two.toml"], 2, "choose one with --metric: latency, rate"),
        (["HEAD~1", "HEAD", "sweep.toml", "--metric", "latency"], 2, "describes 2 runs"),
        (["HEAD~1", "HEAD", "bench.toml", "--metric", "latencies"], 2, "did you mean latency?"),
        (["--alert", "beef"], 2, "no alert"),
        (["HEAD", "HEAD", "bench.toml"], 2, "the same commit"),
    ],
)
def test_what_cannot_be_searched(anubis, repository, words, code, sentence):
    anubis.write("two.toml", "sh bench.sh", more=METRICS + RATE)
    anubis.write("sweep.toml", "sh bench.sh", more=METRICS + '[matrix]\n"env.vars.SIZE" = ["1", "2"]\n')
    ended = anubis("bisect", *words)
    assert ended.returncode == code, ended.stderr
    assert sentence in ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert trees(anubis) == (0, [])


def test_a_folder_without_a_repository(anubis):
    anubis.write("bench.toml", "true", more=METRICS)
    ended = anubis("bisect", "HEAD~1", "HEAD", "bench.toml")
    assert ended.returncode == 2
    assert "not a git repository" in ended.stderr
