"""The commands of the tutorials and how-to guides run as the pages show them, in a fresh home, one after the other."""

import json
import os
import shutil
import sqlite3
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta

import pytest

from support.command import Command
from support.git import git
from support.pages import blocks, follow, lines_not_printed
from support.programs import needed
from support.service import Service
from support.tree import ROOT, shown

DOCS = ROOT / "docs"
PAGES = sorted([*(DOCS / "tutorial").glob("*.md"), *(DOCS / "howto").glob("*.md")])
RECORDED = ROOT / "tests" / "recorded"

RATE = """
[subject]
commit = "auto"
[[output.metrics]]
name = "{metric}"
units = "M/s"
pattern = 'rate ([\\d.]+)'
better = "higher"
"""
#: Prints the level of the commit as a rate, with noise that depends only on the number of the execution.
WORK = """
import math, pathlib
count = pathlib.Path({count!r})
number = len(count.read_bytes()) if count.exists() else 0
count.write_bytes(b"." * (number + 1))
level = float(pathlib.Path(__file__).with_name("level").read_text())
print("rate", level * (1 + 0.004 * math.sin(7.3 * number) + 0.003 * math.sin(31.7 * number)))
"""
WRONG = """\
spec_version = "1.0"
[info]
name = "x y"
[hardware]
instance_type = "local"
[ml]
benchmark_cod = "true"
[measure]
repeats = 0
[[output.metrics]]
name = "loss"
units = "none"
pattern = "(loss"
"""


@pytest.fixture
def reader(tmp_path):
    """A user with an empty home who starts in an empty folder."""
    folder = tmp_path / "reader" / "work"
    folder.mkdir(parents=True)
    command = Command(tmp_path / "reader" / ".anubis", folder)
    surroundings = command.environment() | {"HOME": str(tmp_path / "reader"), "ANUBIS_CLIENT_ID": "reader"}
    del surroundings["ANUBIS_HOME"]
    command.environment = lambda: surroundings
    with ExitStack() as command.until_the_end:
        yield command
    command.close()


def project(reader, *, name="squares", metric="rate", commits=10, slower_from=None, measured=False):
    """A repository with bench.toml and an origin; since a commit everything takes longer."""
    git(reader.folder, "init", "-q", "-b", "main")
    text = RATE.format(metric=metric)
    reader.write("bench.toml", "python3 work.py", more=text).write_text(
        reader.write("bench.toml", "python3 work.py", more=text).read_text().replace('"bench"', f'"{name}"')
    )
    (reader.folder / "work.py").write_text(WORK.format(count=str(reader.folder.parent / "count")))
    for number in range(1, commits + 1):
        level = 80 if slower_from and number >= slower_from else 100
        (reader.folder / "level").write_text(f"{level}\n{' ' * number}")
        git(reader.folder, "add", ".")
        git(reader.folder, "commit", "-q", "-m", f"change {number}")
        if measured:
            assert reader("run", "bench.toml").returncode == 0
    git(reader.folder, "init", "-q", "--bare", "../origin.git")
    git(reader.folder, "remote", "add", "origin", "../origin.git")
    git(reader.folder, "push", "-q", "origin", "main")


def examples(reader):
    """The examples, with a program that prints the metrics of the training at once."""
    shutil.copytree(ROOT / "examples", reader.folder / "examples")
    train = reader.folder / "examples" / "sklearn-digits" / "train.py"
    train.write_text("import sys\nprint('epoch 1:', sys.argv[2], 'images/s')\nprint('{\"accuracy\": 97}')\n")


def alerting(reader):
    """A repository whose history has an alert."""
    project(reader, name="train", metric="throughput", commits=12, slower_from=8, measured=True)
    reader("series", "analyse")
    (alert,) = reader.json("alerts")
    return [("558d442d3564414a", alert["id"]), ("558d", alert["id"][:8]), ("0123456789abcdef", alert["id"])]


def versions(reader):
    """A repository, two descriptors, and runs with two labels."""
    project(reader)
    for name in ("baseline.toml", "contender.toml"):
        shutil.copy(reader.folder / "bench.toml", reader.folder / name)
    for branch in ("main", "next"):
        labels = f"info.labels.branch={branch}"
        assert (
            reader("run", "bench.toml", "--set", "info.labels.team=vision", "--set", labels).returncode == 0
        )


def operated(reader):
    """A home with a few runs."""
    project(reader)
    assert reader("run", "bench.toml", "--rounds", "2").returncode == 0


def failing(reader):
    """A benchmark that does not print its metric."""
    metric = "[[output.metrics]]\nname = 'loss'\nunits = 'none'\npattern = 'loss: ([\\d.]+)'\n"
    reader.write("bad.toml", "printf 'Loss = 0.31\\nstep 2\\n'", more=metric).rename(
        reader.folder / "bench.toml"
    )
    assert reader("run", "bench.toml").returncode == 1


def files_of_others(reader):
    """What other tools wrote."""
    recorded = RECORDED / "histories"
    shutil.copytree(recorded / "asv-results", reader.folder / "results")
    saved = reader.folder / ".benchmarks" / "Linux-CPython"
    saved.mkdir(parents=True)
    shutil.copy(recorded / "pytest-benchmark.json", saved / "0001.json")
    shutil.copy(recorded / "data.js", reader.folder)
    shutil.copy(recorded / "hyperfine-scan.json", reader.folder / "today.json")
    with closing(sqlite3.connect(reader.folder / "mlflow.db")) as database:
        database.executescript((recorded / "mlflow.sql").read_text())
    columns = "benchmark,metric,value,units,better,commit,time\n"
    rows = [
        f"train,throughput,{(100 if day <= 40 else 95) + day % 3 / 2},img/s,higher,c{day:07},{nth(day)}\n"
        for day in range(1, 61)
    ]
    (reader.folder / "nightly.csv").write_text(columns + "".join(rows))
    today = f"train,throughput,80,img/s,higher,c0000061,{nth(61)}\n"
    (reader.folder / "today.csv").write_text(columns + today)
    git(reader.folder, "init", "-q")
    git(reader.folder, "commit", "-q", "--allow-empty", "-m", "first")


def replicas(reader):
    """The run of two workers and a parameter server."""
    hardware = 'strategy = "parameter_server"\n[hardware.distributed]\nnum_instances = 2\n'
    file = reader.write("several.toml", """sh -c 'echo hello; test $ANUBIS_ROLE != server || sleep 600'""")
    file.write_text(file.read_text().replace("[ml]", f"{hardware}[ml]"))
    assert reader("run", file).returncode == 0


def served(reader):
    """A project, and a service with another home."""
    needed("curl")
    project(reader)
    service = Service(reader.folder.parent / "team").start()
    reader.until_the_end.callback(service.stop)
    return [("http://127.0.0.1:8080", service.url)]


def shared(reader):
    """A service with the home of the reader."""
    service = Service(reader.home).start()
    reader.until_the_end.callback(service.stop)
    return [("https://bench.example.org:8443", service.url)]


def trained(reader):
    """A project, and a family of runs that print lines to search for."""
    project(reader)
    lines = "echo 'CUDA error'; echo loss=nan; echo Killed >&2"
    file = reader.write("train.toml", f'sh -c "{lines}"')
    file.write_text(file.read_text().replace('"bench"', '"train"'))
    assert reader("run", "train.toml", "--rounds", "2").returncode == 0


def triggered(reader):
    """Descriptors to start, and the secrets of the service."""
    for name in ("train", "serve"):
        reader.write(f"{name}.toml", "true")
    reader.home.mkdir(exist_ok=True)
    file = reader.home / "secrets.toml"
    file.touch(0o600)
    file.write_text(
        "".join(f'{name}-hook = "0123456789abcdef"\n' for name in ("github", "gitlab", "registry"))
    )


def nth(day):
    """The time of a day's measurement; the 61st was an hour ago."""
    return (datetime.now(UTC) - timedelta(days=61 - day, hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def old_descriptors(reader):
    shutil.copy(RECORDED / "descriptors" / "old_documented_training.toml", reader.folder / "training.toml")


def descriptors(reader):
    """A descriptor with problems, programs to measure, and the examples."""
    examples(reader)
    (reader.folder / "train.py").write_text("print('accuracy', 97)\n")
    (reader.folder / "bench").write_text("#!/bin/sh\nexit 0\n")
    (reader.folder / "bench").chmod(0o755)
    (reader.folder / "wrong.toml").write_text(WRONG)


#: Page -> what its reader has before; (id on the page, actual id) if it returns any.
PREPARED = {
    "add-an-engine": lambda reader: None,
    "alerts": alerting,
    "ci": project,
    "compare-two-versions": versions,
    "containers": lambda reader: None,
    "emit-metrics": lambda reader: None,
    "find-the-commit": alerting,
    "first-benchmark": examples,
    "import-a-history": files_of_others,
    "keep-data": operated,
    "notify": alerting,
    "operate": operated,
    "python": lambda reader: None,
    "search-output": trained,
    "serve-a-team": served,
    "several-processes": replicas,
    "shell-completion": lambda reader: None,
    "start-runs-from-a-repository": triggered,
    "troubleshoot": failing,
    "upgrade-old-descriptors": old_descriptors,
    "users-and-projects": shared,
    "write-a-descriptor": descriptors,
}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_work(reader, page):
    words = PREPARED.get(page.stem, project)(reader) or ()
    ended = follow(page, folder=reader.folder, environment=reader.environment(), words=words)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
    assert lines_not_printed(page, reader.folder) == []


def test_what_is_prepared_belongs_to_a_page():
    assert PREPARED.keys() - {page.stem for page in PAGES} == set()


def test_most_commands_are_tried():
    counted = [block for page in PAGES for block in blocks(page) if block.language in {"sh", "console"}]
    assert sum(block.is_tried for block in counted) > len(counted) * 0.8


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_a_block_that_is_not_tried_has_a_reason(page):
    reasons = [block.comments["not tried"] for block in blocks(page) if "not tried" in block.comments]
    assert [reason for reason in reasons if len(reason.split()) < 2] == []


def test_a_wrong_command_and_a_wrong_status_are_noticed(tmp_path):
    page = tmp_path / "page.md"
    for block in (
        "```sh\ntrue\nfalse\n```",
        "<!-- exit: 2 -->\n```console\n$ false\noutput\n```",
        "```sh\nno-such-command\n```",
    ):
        page.write_text(f"# Page\n\n{block}\n")
        ended = follow(page, folder=tmp_path, environment=dict(os.environ))
        assert ended.returncode == 99
    page.write_text(
        "<!-- file: a.json -->\n```json\n[1]\n```\n\n<!-- exit: 1 -->\n```sh\ngrep -q 1 a.json\nfalse\n```\n"
    )
    assert follow(page, folder=tmp_path, environment=dict(os.environ)).returncode == 0
    assert json.loads((tmp_path / "a.json").read_text()) == [1]
