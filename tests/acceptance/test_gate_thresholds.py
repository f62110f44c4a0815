"""Thresholds of the descriptor in ``anubis check``, in every form of its report, and in the outcome of ``anubis run``."""

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
import xmlschema

from support.noisy import METRICS, Noisy

SCHEMA = Path(__file__).parents[1] / "recorded" / "junit" / "junit-10.xsd"
SENTENCE = "below its minimum of 50 1/s"


class Bounded(Noisy):
    """The noisy benchmark with a bound of its rate."""

    bounds = "min = 50"

    def file(self, subject, name="noisy.toml", *, more=""):
        metrics = METRICS + f"[output.metrics.threshold]\n{self.bounds}\n"
        about = f'[subject]\nversion = "{subject}"\n'
        return self.anubis.write(name, "sh noisy.sh", more=about + metrics + more)


@pytest.fixture
def bench(anubis):
    return Bounded(anubis)


def test_a_first_measurement_below_its_minimum_fails_the_gate(anubis, bench):
    bench.level(1000 / 45)
    ended = anubis("check", bench.file("1"))
    assert ended.returncode == 3, ended.stdout
    assert SENTENCE in ended.stdout
    assert ended.stdout.splitlines()[-1] == "1 threshold crossed"
    assert anubis("check", "--fail-on", "never").returncode == 0
    bench.level(10)
    assert anubis("check", bench.file("2")).returncode == 0


def test_every_form_of_the_report_contains_it(anubis, bench, tmp_path):
    bench.level(1000 / 45)
    files = [tmp_path / name for name in ("report.json", "junit.xml", "summary.md")]
    words = [word for file in files for word in ("--report", file)]
    assert anubis("check", bench.file("1"), *words).returncode == 3
    report, junit, summary = (file.read_text() for file in files)
    (bound,) = json.loads(report)["weighings"][0]["crossed"]
    assert (bound["metric"], bound["bound"], bound["reference"]) == ("rate", "min", 50)
    xmlschema.XMLSchema(SCHEMA).validate(junit)
    tree = ET.fromstring(junit.encode())
    (case,) = [case for case in tree.iter("testcase") if case.get("name") == "rate threshold min"]
    assert SENTENCE in case.find("failure").get("message")
    assert tree.get("failures") == "1"
    assert SENTENCE in summary
    assert "1 threshold crossed" in summary
    answer = anubis.json("check", code=3)
    assert answer["exit_code"] == 3
    assert SENTENCE in answer["weighings"][0]["crossed"][0]["text"]


@pytest.mark.parametrize(("level", "code"), [(10.3, 0), (11, 3)])
def test_a_relative_bound_is_relative_to_the_baseline(anubis, bench, level, code):
    bench.bounds = "change = '5%'\nmin_effect = '1%'"
    bench.measure("1", 10, rounds=8)
    bench.level(level)
    ended = anubis("check", bench.file("2"), "--runs", 3, "--min-effect", "50%")
    assert ended.returncode == code, "the verdict alone would pass"
    assert ("% from its level of" in ended.stdout) == (code == 3)
    assert ("(limit 5.0 %)  THRESHOLD" in ended.stdout) == (code == 3)


def test_a_failed_benchmark_comes_before_a_crossed_bound(anubis, bench):
    """The first run crosses the bound, the second one fails."""
    (anubis.folder / "noisy.sh").write_text("[ -e ran ] && exit 1\ntouch ran\necho latency=9 rate=45\n")
    ended = anubis("check", bench.file("1"), "--runs", 2)
    assert ended.returncode == 1
    assert SENTENCE in ended.stdout
    assert ended.stdout.splitlines()[-1] == "1 benchmark failed, 1 threshold crossed"


def test_a_run_says_it_and_exits_as_the_run_ended(anubis, bench):
    bench.level(1000 / 45)
    ended = anubis("run", bench.file("1"))
    assert ended.returncode == 0
    assert "threshold: rate is " in ended.stdout
    assert SENTENCE in ended.stdout
    (remark,) = anubis.json("run", bench.file("1"))["remarks"]
    assert (remark["kind"], remark["metric"], remark["bound"]) == ("threshold", "rate", "min")
    assert SENTENCE in anubis("results").stdout
    assert SENTENCE in anubis("show").stdout
    several = anubis("run", bench.file("1"), "--rounds", 5)
    assert several.stdout.count(SENTENCE) == 3
    assert "and 2 more runs with remarks" in several.stdout
    bench.level(10)
    kept = anubis("run", bench.file("2"))
    assert "threshold" not in kept.stdout
