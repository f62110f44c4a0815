"""``anubis import`` and ``anubis export``, as a person moves a history."""

from pathlib import Path

import pytest

from support.command import Command
from support.mlflow_server import MlflowServer, serving

RECORDED = Path(__file__).parents[1] / "recorded" / "histories"
CSV = "benchmark,metric,value,units,time_s,version\n" + "".join(
    f"fft,time,{value},s,{1_700_000_000 + at},v{at}\n" for at, value in enumerate((1.0, 1.1, 1.2))
)


@pytest.fixture
def history(anubis):
    path = anubis.folder / "history.csv"
    path.write_text(CSV)
    return path


def test_a_history_comes_in_once(anubis, history):
    ended = anubis("import", history)
    assert ended.returncode == 0
    assert "csv (1 file)" in ended.stdout
    assert "3 runs with 3 values" in ended.stdout
    assert "3 new runs" in ended.stdout
    assert "nothing new: every value is stored already" in anubis("import", history).stdout
    rows = anubis.json("history", "--label", "imported_from=csv")
    assert [row["subject"] for row in rows] == ["v2", "v1", "v0"]


def test_every_recorded_history_comes_in(anubis):
    files = [RECORDED / name for name in ("asv-results", "data.js", "pytest-benchmark.json", "perfkit.json")]
    answer = anubis.json("import", *files)
    assert set(answer["formats"].values()) == {
        "asv",
        "github-action-benchmark",
        "pytest-benchmark",
        "perfkit",
    }
    assert answer["stored_runs"] == answer["runs"] == len(anubis.json("history", "-n", 1000))


def test_a_dry_run_stores_nothing(anubis, history):
    answer = anubis.json("import", history, "--dry-run")
    assert (answer["runs"], answer["stored_runs"], answer["benchmarks"]) == (3, None, ["fft"])
    assert "nothing was stored" in anubis("import", history, "--dry-run").stdout
    assert anubis.json("history") == []


def test_errors_keep_a_file_out_unless_a_part_is_enough(anubis, history):
    history.write_text(CSV + "fft,time,fast,s,1700000009,v9\n")
    ended = anubis("import", history)
    assert ended.returncode == 2
    assert f"{history}:5" in ended.stderr
    assert "nothing was stored" in ended.stderr
    assert anubis.json("history") == []
    part = anubis("import", history, "--partial")
    assert part.returncode == 0
    assert len(anubis.json("history")) == 3


def test_what_the_file_does_not_say_is_given(anubis):
    file = anubis.folder / "today.csv"
    file.write_text("benchmark,value,units,parameter.seed\nfft,1.5,s,1\nfft,1.7,s,2\n")
    words = [
        "--time",
        "2026-03-01T12:00:00Z",
        "--commit",
        "a" * 40,
        "--machine",
        "rack-7",
        "--ignore",
        "seed",
    ]
    assert anubis("import", file, *words).returncode == 0
    (row,) = anubis.json("history")
    assert (row["subject"], row["metrics"]["time"]["value"]) == ("a" * 40, 1.6)
    assert "seed" not in row["labels"]


def test_an_export_makes_the_same_history_elsewhere(anubis, history, tmp_path):
    anubis("import", history)
    other = Command(tmp_path / "elsewhere", anubis.folder)
    out = anubis.folder / "out.csv"
    assert anubis("export", "-o", out).returncode == 0
    assert "nothing new: every value is stored already" in anubis("import", out).stdout, (
        "imported where it came from it adds nothing"
    )
    assert "3 new runs" in other("import", out).stdout
    assert other("export").stdout == anubis("export").stdout == out.read_text()


@pytest.mark.parametrize("form", ["csv", "bmf", "openmetrics", "parquet"])
def test_every_format_is_written(anubis, history, form):
    anubis("import", history)
    out = anubis.folder / "out"
    assert anubis("export", "--format", form, "--output", out).returncode == 0
    assert out.stat().st_size > 50
    assert [path.name for path in anubis.folder.glob(".*")] == []


def test_an_export_takes_the_conditions_of_history(anubis, history):
    anubis("import", history)
    header = anubis("export", "--name", "none").stdout.splitlines()
    assert len(header) == 1
    assert len(anubis("export", "--label", "imported_from=csv", "--metric", "time").stdout.splitlines()) == 4
    assert len(anubis("export", "--metric", "memory").stdout.splitlines()) == 1
    assert len(anubis("export", "--until", "2000-01-01").stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["import"], "FILE"),
        (["import", "gone.json"], "No such file"),
        (["import", "notes.txt"], "the format of notes.txt is not recognised"),
        (["import", "run.tar.zst"], "anubis record import run.tar.zst"),
        (["import", "notes.txt", "--format", "asvv"], "not a known format to import"),
        (["export", "--format", "asv"], "not a known format to export"),
        (["export", "-o", "no/such/folder"], "No such file"),
        (["export", "--family", "@last"], "0 runs are stored"),
    ],
)
def test_bad_input(anubis, words, sentence):
    (anubis.folder / "notes.txt").write_text("to do: measure\n")
    (anubis.folder / "run.tar.zst").write_text("an archive\n")
    ended = anubis(*words)
    assert ended.returncode == 2, ended
    assert sentence in ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert not list(anubis.folder.glob(".*"))


HEADER = "benchmark,metric,value,units,time_s,version\n"


def rows(*each):
    return HEADER + "".join(f"fft,{metric},{value},{units},1700000000,v0\n" for metric, value, units in each)


def values(anubis):
    (run,) = anubis.json("history")
    return {metric: (each["value"], each["units"]) for metric, each in run["metrics"].items()}


def write(anubis, name, *each):
    path = anubis.folder / name
    path.write_text(rows(*each))
    return path


def test_a_file_with_another_metric_joins_the_run(anubis):
    anubis("import", write(anubis, "time.csv", ("time", 1.5, "s")))
    ended = anubis("import", write(anubis, "memory.csv", ("memory", 7, "B"), ("time", 1.5, "s")))
    assert ended.returncode == 0
    assert "stored  values added to 1 stored run" in ended.stdout
    assert "anubis series analyse" in ended.stdout
    assert values(anubis) == {"time": (1.5, "s"), "memory": (7, "B")}
    again = anubis("import", "memory.csv")
    assert "nothing new: every value is stored already" in again.stdout
    assert "analyse" not in again.stdout
    answer = anubis.json("import", write(anubis, "third.csv", ("rate", 2, "1/s"), ("size", 3, "B")))
    assert (answer["stored_runs"], answer["stored_values"], answer["joined_runs"]) == (0, 2, 1)
    assert set(anubis.json("series")[0]) >= {"metric"}
    assert {row["metric"] for row in anubis.json("series")} == {"time", "memory", "rate", "size"}


@pytest.mark.parametrize(("value", "units"), [(1.6, "s"), (1.5, "ms")])
def test_another_value_of_a_stored_metric_is_refused_with_both_values(anubis, value, units):
    anubis("import", write(anubis, "time.csv", ("time", 1.5, "s")))
    other = write(anubis, "other.csv", ("memory", 7, "B"), ("time", value, units))
    ended = anubis("import", other)
    assert ended.returncode == 2
    assert f'"fft" of v0 has time = {value} {units} here, but 1.5 s in the stored run' in ended.stderr
    assert "--partial" in ended.stderr
    assert values(anubis) == {"time": (1.5, "s")}, "nothing of the file is stored"
    dry = anubis.json("import", other, "--dry-run", code=2)
    assert [problem["severity"] for problem in dry["problems"]] == ["error"]
    partial = anubis("import", other, "--partial")
    assert partial.returncode == 0
    assert "--partial leaves this value out" in partial.stderr
    assert "values added to 1 stored run, 1 value left out: another value is stored" in partial.stdout
    assert values(anubis) == {"time": (1.5, "s"), "memory": (7, "B")}
    again = anubis("import", other, "--partial")
    assert "nothing new, 1 value left out: another value is stored" in again.stdout
    assert anubis.json("import", other, "--partial")["differing"] == 1


def test_a_dry_run_exits_as_the_import_would(anubis):
    wrong = write(anubis, "wrong.csv", ("time", 1.5, "s"), ("memory", "much", "B"))
    ended = anubis("import", wrong, "--dry-run")
    assert ended.returncode == 2
    assert "nothing was stored (dry run)" in ended.stdout
    assert anubis("import", wrong, "--dry-run", "--partial").returncode == 0
    assert anubis.json("history") == []


def test_a_misspelt_column_stores_nothing(anubis):
    (anubis.folder / "wrong.csv").write_text("benchmark,time,metrc,value\nfft,5,rate,1\n")
    ended = anubis("import", "wrong.csv")
    assert ended.returncode == 2
    assert 'unknown column "metrc": did you mean "metric"?' in ended.stderr
    assert anubis.json("history") == []


def test_files_of_one_import_are_joined_too_and_may_not_contradict(anubis):
    one, same = write(anubis, "one.csv", ("time", 1.5, "s")), write(anubis, "same.csv", ("time", 1.5, "s"))
    two, other = write(anubis, "two.csv", ("memory", 7, "B")), write(anubis, "other.csv", ("time", 9.5, "s"))
    ended = anubis("import", one, other)
    assert ended.returncode == 2
    assert f"{other}: " in ended.stderr
    assert "time = 9.5 s here, but 1.5 s in an earlier file" in ended.stderr
    assert anubis.json("history") == []
    assert "1 run with 2 values" in anubis("import", one, same, two).stdout
    assert values(anubis) == {"time": (1.5, "s"), "memory": (7, "B")}


def test_no_value_of_a_file_is_added_to_a_measured_run(anubis):
    anubis("run", anubis.write("hello.toml", "echo hello"))
    text = anubis("export").stdout
    (anubis.folder / "same.csv").write_text(text)
    assert "every value is stored already" in anubis("import", "same.csv").stdout
    (anubis.folder / "more.csv").write_text(text.replace("wall_time", "accuracy"))
    ended = anubis("import", "more.csv")
    assert "accuracy of the file is not added" in ended.stderr
    assert "accuracy" not in anubis.json("history")[0]["metrics"]


def test_the_runs_of_an_mlflow_server_are_imported_once(anubis):
    with serving(MlflowServer()) as server:
        for number in range(3):
            server.add("train", f"run{number}", {"loss": number + 0.5}, start_time=1_700_000_000_000 + number)
        ended = anubis("import", "mlflow", server.address)
        assert ended.returncode == 0, ended.stderr
        assert "mlflow (1 file)" in ended.stdout
        assert "3 new runs" in ended.stdout
        server.runs[0]["data"]["metrics"].append({"key": "accuracy", "value": 0.9})
        assert "values added to 1 stored run" in anubis("import", "--format", "mlflow", server.address).stdout
        server.runs[1]["data"]["metrics"][0]["value"] = 9.0
        assert (
            "loss = 9.0 here, but 1.5 in the stored run" in anubis("import", "mlflow", server.address).stderr
        )
    assert anubis("import", "mlflow", server.address).returncode == 2
    (anubis.folder / "mlflow").write_text("")
    assert "the format of mlflow is not recognised" in anubis("import", "mlflow", "x").stderr, (
        "a file comes first"
    )
