"""``anubis series``: histories drawn, listed and judged again."""

import re

import pytest

from support.command import Command

HEADER = "benchmark,metric,value,units,better,time_s,version\n"


def history(benchmark, metric, levels, units="s", better="lower"):
    noise = [0.3, -0.5, 0.9, -1.1, 0.1, 0.6, -0.8, 1.2, -0.2, -0.4]
    return "".join(
        f"{benchmark},{metric},{level * (1 + 0.005 * noise[at % 10])},{units},{better},{1_700_000_000 + at * 3600},v{at}\n"
        for at, level in enumerate(levels)
    )


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """The command in a home with two benchmarks, one of which became slower with v30."""
    folder = tmp_path_factory.mktemp("series")
    command = Command(folder / "home", folder)
    rows = [
        history("fft", "time", [1.0] * 30 + [1.25] * 20),
        history("fft", "rate", [100] * 30 + [80] * 20, "1/s", "higher"),
        history("sort", "time", [2.0] * 50),
        history("short", "time", [2.0] * 3),
    ]
    (folder / "history.csv").write_text(HEADER + "".join(rows))
    assert command("import", "history.csv").returncode == 0
    return command


def test_series_to_choose_from_say_how_they_differ(anubis):
    for batch in (16, 32):
        file = anubis.write(
            "bench.toml",
            "echo loss=1",
            more=f"""[env.vars]
BATCH = "{batch}"
[[output.metrics]]
name = "loss"
units = "none"
pattern = "loss=(.*)"
""",
        )
        assert anubis("run", file).returncode == 0
    ended = anubis("series", "show", "bench", "--metric", "loss")
    assert ended.returncode == 2
    assert "(env.vars.BATCH=16)" in ended.stderr
    key = ended.stderr.partition("--series: ")[2].split()[0]
    assert anubis("series", "show", "bench", "--metric", "loss", "--series", key).returncode == 0


def test_series_are_listed(seen):
    lines = seen("series").stdout.splitlines()
    assert lines[0].split() == [
        "BENCHMARK",
        "METRIC",
        "N",
        "LEVEL",
        "NOISE",
        "DETECTS",
        "LAST",
        "CHANGE",
        "STATE",
    ]
    (fft,) = [line for line in lines if line.startswith("fft") and "time" in line]
    assert "at v30" in fft
    assert "+25.0 %" in fft
    assert "stable" in fft
    assert [line.split()[-1] for line in lines if line.startswith("short")] == ["new"]
    assert len(seen("series", "--benchmark", "sort").stdout.splitlines()) == 2
    assert seen("series", "--benchmark", "none").stdout == "no series\n"
    assert seen("series", "--label", "imported_from=csv").stdout == "\n".join([*lines, ""])
    assert seen("series", "--label", "imported_from=asv").stdout == "no series\n"
    assert seen("series", "--machine", "0123").stdout == "no series\n"


def test_the_list_judges_the_newest_runs_and_show_judges_all(tmp_path):
    command = Command(tmp_path / "home", tmp_path)
    (tmp_path / "history.csv").write_text(HEADER + history("fft", "time", [1.0] * 30 + [1.25] * 200))
    assert command("import", "history.csv").returncode == 0
    (line,) = command("series").stdout.splitlines()[1:]
    assert line.split()[1:3] == ["time", "200+"]
    assert "at v30" not in line
    (row,) = command.json("series", "list")
    assert (row["n"], row["earlier"], row["last_change"]) == (200, 30, None)
    whole = command.json("series", "show", "fft")
    assert (whole["n"], whole["earlier"], len(whole["points"])) == (230, 0, 230)
    assert [change["first_new"] for change in whole["changes"]] == ["v30"]


def test_a_series_is_drawn_with_its_changes(seen):
    shown = seen("series", "show", "fft", "--metric", "time").stdout
    assert 10 <= shown.count("|") <= 12, "the bar of one change, as high as the picture but for its points"
    assert "0.9997 -> 1.250 s" in shown
    assert "regressed (step)" in shown
    assert "ten more points" in shown


def test_a_series_has_to_be_one(seen):
    several = seen("series", "show", "fft")
    assert several.returncode == 2
    assert "--metric: rate, time" in several.stderr
    assert seen("series", "show", "none").returncode == 2


def test_the_same_for_scripts(seen):
    rows = {(row["benchmark"], row["metric"]): row for row in seen.json("series")}
    change = rows["fft", "time"]["last_change"]
    assert change["judgement"] == "regressed"
    assert (rows["sort", "time"]["last_change"], rows["sort", "time"]["state"]) == (None, "stable")
    (one,) = seen.json("series", "show", "fft", "--metric", "time")["changes"]
    assert one == change
    assert one["last_old"] < "v30" <= one["first_new"]


def test_everything_is_judged_again_in_one_command(seen):
    (alert,) = seen.json("series", "analyse")
    assert (alert["benchmark"], alert["kind"], len(alert["rows"])) == ("fft", "regression", 2)
    assert seen("series", "analyse").stdout == "no alert changed\n"
    assert [row["id"] for row in seen.json("alerts")] == [alert["id"]]


def test_an_empty_home_has_no_series(anubis):
    assert anubis("series").stdout == "no series\n"
    assert anubis("series", "analyse").stdout == "no alert changed\n"


def test_a_series_without_a_stable_level_says_so_and_raises_no_alert(anubis):
    levels = [1.0] * 12 + [1.25] * 12
    (anubis.folder / "modes.csv").write_text(HEADER + history("fft", "time", levels * 5))
    assert anubis("import", "modes.csv").returncode == 0

    assert anubis("series").stdout.splitlines()[1].split()[-1] == "unstable"
    shown = anubis("series", "show", "fft").stdout
    assert re.search(
        r"unstable: alternates between \S+ m?s \(50 % of the points\) and 1\.2\d+ s \(50 %\)",
        " ".join(shown.split()),
    )
    assert "what differs between runs at these levels" in " ".join(shown.split())
    found = anubis.json("series", "show", "fft")
    assert (found["state"], found["changes"]) == ("unstable", [])
    assert found["instability"]["kind"] == "modes"
    assert [round(mode["level"], 2) for mode in found["instability"]["modes"]] == [1.0, 1.25]
    assert anubis("series", "analyse").stdout == "no alert changed\n"
