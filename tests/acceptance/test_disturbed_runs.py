"""One flag for a disturbed machine: the same in every command that shows the runs."""

import csv
import io
from xml.etree import ElementTree as ET

import pytest

from support.command import Command

HEADER = "benchmark,metric,value,units,better,time_s,version,contaminated\n"
#: Of ten old runs the last three were disturbed, and the only new one.
DISTURBED = [at >= 7 for at in range(11)]


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    folder = tmp_path_factory.mktemp("disturbed")
    command = Command(folder / "home", folder)
    rows = [
        f"fft,time,{1.0 + 0.001 * (at % 3)},s,lower,{1_700_000_000 + at * 3600},v{at},{flag}\n"
        for at, flag in enumerate(DISTURBED)
    ]
    (folder / "history.csv").write_text(HEADER + "".join(rows))
    assert command("import", "history.csv").returncode == 0
    return command


def test_series_and_exports_agree(seen):
    points = seen.json("series", "show", "fft")["points"]
    assert [point["contaminated"] for point in points] == DISTURBED
    exported = seen("export", "--format", "csv").stdout
    rows = sorted(csv.DictReader(io.StringIO(exported)), key=lambda row: float(row["time_s"]))
    assert [row["contaminated"] == "true" for row in rows] == DISTURBED


SENTENCE = "the machine was disturbed during 3 baseline runs and 1 contender run"


def test_the_gate_says_so_in_every_form(seen):
    assert SENTENCE in seen("check").stdout
    assert SENTENCE in seen("check", "--format", "markdown").stdout
    junit = ET.fromstring(seen("check", "--format", "junit").stdout.encode())
    assert SENTENCE in junit.find(".//system-out").text
    (entry,) = seen.json("check")["weighings"]
    assert (entry["disturbed_baseline"], entry["disturbed_contender"]) == (3, 1)


def test_runs_that_were_not_disturbed_are_not_mentioned(seen):
    ids = [run["id"] for run in reversed(seen.json("history"))]
    quiet = seen("check", ids[6]).stdout
    assert "disturbed" not in quiet
    named = seen("check", ids[0], "--baseline", ids[9]).stdout
    assert "the machine was disturbed during 1 baseline run: see" in named


def test_results_and_comparisons_say_so(seen):
    assert "* the machine was disturbed" in seen("results").stdout
    ids = [run["id"] for run in reversed(seen.json("history"))]
    compared = seen("compare", ",".join(ids[:3]), ",".join(ids[6:9]))
    assert "disturbed during 2 of the runs" in compared.stderr
    (answer,) = seen.json("compare", ",".join(ids[:3]), ",".join(ids[6:9]), code=compared.returncode)
    assert (answer["disturbed_baseline"], answer["disturbed_contender"]) == (0, 2)
