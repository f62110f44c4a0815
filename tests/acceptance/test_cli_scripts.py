"""What scripts read: JSON of every command, the shared options, ids, and hints for mistyped names."""

import json

import pytest

from anubis.client import Client
from anubis.model.ids import derived_run_id
from anubis.settings import Settings
from anubis.testing import a_run
from anubis.wiring import build

METRICS = """
[info.labels]
team = "{team}"
[subject]
commit = "{commit}"
[[output.metrics]]
name = "accuracy"
units = "none"
pattern = 'accuracy=(\\S+)'
better = "higher"
[[output.metrics]]
name = "latency"
units = "s"
pattern = 'latency=(\\S+)'
better = "lower"
"""


def measured(anubis, *, name="bench", team="vision", commit="c0ffee", accuracy=0.9, latency=1):
    """A run of a descriptor that prints these values; its id."""
    more = METRICS.format(team=team, commit=commit)
    file = anubis.write(
        f"{name}.toml", f"sh -c 'echo accuracy={accuracy}; echo latency={latency}'", more=more
    )
    return anubis.json("run", file)["runs"][0]["id"]


@pytest.fixture
def run_id(anubis):
    return measured(anubis)


def test_logs_are_objects_line_by_line(anubis):
    anubis("run", "--", "sh", "-c", "echo one; echo two >&2; printf 'th\\377ree'")
    lines = [json.loads(line) for line in anubis("logs", "--json").stdout.splitlines()]
    assert {(line["stream"], line["line"]) for line in lines} == {
        ("stdout", "one"),
        ("stderr", "two"),
        ("stdout", "th\ufffdree"),
    }
    assert all(line["time_s"] > 1.7e9 for line in lines)
    only = [json.loads(line)["line"] for line in anubis("logs", "--json", "--stderr").stdout.splitlines()]
    assert only == ["two"]


def test_logs_are_followed_as_objects(anubis):
    anubis("submit", "--", "sh", "-c", "echo first; while [ ! -e gate ]; do sleep 0.05; done; echo last")
    following = anubis.start("logs", "--follow", "--json")
    assert json.loads(following.stdout.readline())["line"] == "first"
    (anubis.folder / "gate").touch()
    rest, err = following.communicate(timeout=60)
    assert (json.loads(rest)["line"], following.returncode) == ("last", 0), err


def test_the_descriptor_of_a_run_has_its_overrides(anubis):
    file = anubis.write("bench.toml", "true")
    anubis("run", file, "--set", "measure.repeats=2")
    answer = anubis.json("descriptor")
    assert answer["text"] == file.read_text()
    assert answer["descriptor"]["measure"]["repeats"] == 2
    assert answer["run"] == anubis.json("status")["id"]


def test_records_move_as_json(anubis, run_id, tmp_path):
    assert anubis.json("record", "path")["path"].startswith(str(anubis.home))
    exported = anubis.json("record", "export", "-o", tmp_path / "run.zst")
    assert exported == {"path": str(tmp_path / "run.zst")}
    assert anubis("record", "export", "-o", "-", "--json").returncode == 2
    anubis.home = tmp_path / "other"
    (imported,) = anubis.json("record", "import", exported["path"])
    assert imported["id"] == run_id


def test_an_export_describes_its_file(anubis, run_id, tmp_path):
    written = anubis.json("export", "-o", tmp_path / "values.csv")
    assert written == {"path": str(tmp_path / "values.csv"), "format": "csv", "problems": []}
    refused = anubis("export", "--json")
    assert refused.returncode == 2
    assert "--output" in json.loads(refused.stderr)["remedy"]


def test_a_worker_says_whether_it_drove(anubis):
    anubis("history")
    assert anubis.json("worker") == {"drove": True}


def test_the_home_is_an_option_before_and_after_the_command(anubis, run_id, tmp_path):
    other = tmp_path / "other"
    for words in (["--home", other, "history"], ["history", "--home", other]):
        assert anubis(*words, "--json").stdout == "[]\n"
    assert anubis("--home", other, "submit", "--", "true").returncode == 0
    assert anubis("watch", "--home", other).returncode == 0, "the worker drives the runs of that home"
    assert anubis("--home", other, "record", "path").stdout.startswith(f"{other}/records/")
    assert len(anubis.json("history")) == 1
    assert anubis("--home", anubis.home / "anubis.db", "history").returncode == 2, "a file is no home"


def test_runs_are_found_by_commit(anubis):
    first, second = measured(anubis, commit="c0ffee"), measured(anubis, commit="decade")
    ids = lambda *words: [run["id"] for run in anubis.json("history", *words)]  # noqa: E731  shorter than a def here
    assert ids("--commit", "c0ffee") == [first]
    assert ids("--commit", "de") == [second]
    assert ids("--commit", "0ffee") == []
    assert anubis("export", "--commit", "decade").stdout.count("decade") == 4, "two metrics and two times"


def test_statuses_are_words_for_people_and_names_in_json(anubis):
    anubis("submit", "--", "sh", "-c", "echo begun; while [ ! -e gate ]; do sleep 0.05; done")
    following = anubis.start("logs", "--follow")
    assert following.stdout.readline() == b"begun\n"
    for words in (["status"], ["history"]):
        assert "running" in anubis(*words).stdout
    assert anubis.json("status")["status"] == "watch"
    for name in ("running", "watch"):
        assert len(anubis.json("history", "--status", name)) == 1
    assert anubis.json("history", "--status", "queued") == []
    (anubis.folder / "gate").touch()
    assert anubis("watch").returncode == 0
    following.communicate(timeout=60)


def test_only_named_metrics_are_checked(anubis):
    families = []
    for accuracy in (0.9, 0.5):
        command = f"sh -c 'echo accuracy={accuracy}; echo latency=1'"
        file = anubis.write("bench.toml", command, more=METRICS.format(team="vision", commit=accuracy))
        families.append(anubis.json("run", file, "--rounds", 5)["runs"][0]["family_id"])
    words = ["check", families[1], "--baseline", families[0]]

    def judged(*more, code):
        (found,) = anubis.json(*words, *more, code=code)["weighings"]
        return sorted(verdict["metric"] for verdict in found["verdicts"])

    assert judged(code=3) == ["accuracy", "latency"]
    assert judged("--metric", "latency", code=0) == ["latency"]
    assert judged("--metric", "accuracy", code=3) == ["accuracy"]
    refused = anubis(*words, "--metric", "acuracy")
    assert refused.returncode == 2
    assert "did you mean accuracy?" in refused.stderr


#: A command with a mistyped name, its exit status, the name that is meant.
MISTYPED = [
    ("history --metric acuracy", 0, "accuracy"),
    ("history --benchmark bensh", 0, "bench"),
    ("history --label tean=vision", 0, "team"),
    ("history --label team=vison", 0, "vision"),
    ("export --metric latencies", 0, "latency"),
    ("alerts --benchmark bensh", 0, "bench"),
    ("series --benchmark bensh", 0, "bench"),
    ("series --metric acuracy", 0, "accuracy"),
    ("series --label tean=vision", 0, "team"),
    ("series analyse --benchmark bensh", 0, "bench"),
    ("series show bensh", 2, "bench"),
    ("series show bench --metric acuracy", 2, "accuracy"),
    ("results --samples acuracy", 2, "accuracy"),
    ("compare @last @last~1 --metric acuracy", 2, "accuracy"),
    ("compare team=vison team=vision", 2, "vision"),
    ("check @last --baseline-label team=vison", 2, "vision"),
]


def test_mistyped_names_are_recognised(anubis):
    measured(anubis)
    measured(anubis, name="other", team="speech")
    for words, code, meant in MISTYPED:
        ended = anubis(*words.split())
        assert (ended.returncode, f"did you mean {meant}?" in ended.stderr) == (code, True), (
            words,
            ended.stderr,
        )


def test_conditions_that_match_nothing_together_are_no_mistake(anubis, run_id):
    assert (
        anubis("history", "--metric", "latency", "--label", "team=vision", "--status", "failed").stderr == ""
    )


def test_runs_are_named_by_persons(anubis, monkeypatch):
    monkeypatch.setenv("ANUBIS_CLIENT_ID", "Ada Lovelace")
    anubis("submit", "--", "sh", "-c", "while true; do sleep 0.05; done")
    anubis("cancel", "@last", "--why", "too long")
    anubis("watch")
    assert "by Ada Lovelace" in anubis("status").stdout
    assert "too long, by Ada Lovelace" in " ".join(anubis("show").stdout.split())
    assert anubis.json("status")["owner"] == "Ada Lovelace"


def test_ids_of_one_millisecond_are_printed_longer_and_accepted(anubis, tmp_path):
    """Two runs of two homes may share a millisecond; here a copy of a run gets a neighbour's id."""
    settings = Settings.from_env({"ANUBIS_HOME": str(anubis.home)})
    cause = "01234567-89ab-7000-8000-000000000000"
    ids = [derived_run_id(cause, alert, 0) for alert in ("one", "two")]
    installation = build(settings)
    installation.world.runs.add([(a_run(id=run_id), "text") for run_id in ids], [])
    installation.close()
    shown = [line.split()[0] for line in anubis("history").stdout.splitlines()[1:]]
    assert {short for short in shown if len(short) > 13} == set(shown)
    assert {anubis.json("status", short)["id"] for short in shown} == set(ids)
    with Client.open(settings) as client:
        client.runs.cancel(ids)
