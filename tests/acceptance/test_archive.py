"""Daily data sets: DuckDB reads them, and a writer that is killed leaves nothing wrong."""

import hashlib
import json
import signal
import subprocess
import sys

import pytest

duckdb = pytest.importorskip("duckdb")

METRIC = """[[output.metrics]]
name = "score"
units = "1/s"
pattern = 'score=(\\S+)'
"""
#: Writes an archive and kills itself at one of the puts.
KILLED = """
import os, signal, sys
from pathlib import Path
from anubis.client import Client
from anubis.settings import Settings
from anubis.store.folders import FolderObjects

at, when, folder = int(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
put, calls = FolderObjects.put, 0

def killed(self, key, stream):
    global calls
    calls += 1
    if calls == at and when == "before":
        os.kill(os.getpid(), signal.SIGKILL)
    put(self, key, stream)
    if calls == at:
        os.kill(os.getpid(), signal.SIGKILL)

FolderObjects.put = killed
with Client.embedded(Settings.from_env(os.environ)) as client:
    client.storage.archive(folder, today=True)
"""


@pytest.fixture
def runs(anubis):
    anubis.write("bench.toml", "sh -c 'echo score=1.5; echo score=2.5; echo oops >&2'", more=METRIC)
    for _ in range(2):
        done = anubis("run", "bench.toml")
        assert done.returncode == 0, done.stderr
    return sorted(run["id"] for run in anubis.json("history"))


def read(folder, table):
    """All rows of a table, by DuckDB."""
    return duckdb.sql(f"SELECT * FROM read_parquet('{folder}/*/{table}-*.parquet')").fetchall()


def manifests(folder):
    for path in folder.glob("*/manifest.json"):
        manifest = json.loads(path.read_text())
        for file in manifest["files"]:
            assert hashlib.sha256((folder / file["path"]).read_bytes()).hexdigest() == file["sha256"]
        yield manifest


def events_in(folder):
    """The numbers of the events in the files that the manifests name."""
    paths = [
        str(folder / file["path"])
        for manifest in manifests(folder)
        for file in manifest["files"]
        if file["table"] == "events"
    ]
    return sorted(row[0] for path in paths for row in duckdb.sql(f"SELECT seq FROM '{path}'").fetchall())


def stored(anubis, runs):
    return sorted(event["seq"] for run in runs for event in anubis.json("show", run)["events"])


def test_duckdb_reads_what_was_measured(anubis, runs, tmp_path):
    folder = tmp_path / "archive"
    written = anubis.json("archive", "write", folder, "--today")
    assert not any(manifest["complete"] for manifest in written)
    assert anubis("archive", "write", folder).stdout == "nothing new\n"
    assert events_in(folder) == stored(anubis, runs)
    assert sorted(row[0] for row in read(folder, "runs")) == runs
    joined = duckdb.sql(
        f"SELECT r.run_id, p.value FROM '{folder}/*/runs-*.parquet' r "
        f"JOIN '{folder}/*/points-*.parquet' p USING (run_id) WHERE p.metric = 'score' ORDER BY r.run_id"
    ).fetchall()
    assert [run for run, _ in joined] == runs
    assert sorted(row[3] for row in read(folder, "samples") if row[1] == "score") == [1.5, 1.5, 2.5, 2.5]
    assert {row[-1] for row in read(folder, "lines")} == {"score=1.5", "score=2.5", "oops"}
    (day,) = anubis.json("archive", "list", folder)
    assert day == written[0]
    assert day["day"] in anubis("archive", "list", folder).stdout


def test_a_killed_writer_leaves_manifests_that_name_only_what_is_there(anubis, runs, tmp_path):
    folder = tmp_path / "archive"
    status = -signal.SIGKILL
    kills = 0
    while status == -signal.SIGKILL:
        kills += 1
        when = "before" if kills % 2 else "after"
        done = subprocess.run(
            [sys.executable, "-c", KILLED, str(1 + kills // 2), when, str(folder)],
            env=anubis.environment(),
            check=False,
        )
        status = done.returncode
        assert set(events_in(folder)) <= set(stored(anubis, runs))
    assert status == 0
    assert kills >= 3
    assert events_in(folder) == stored(anubis, runs)


def test_an_archive_needs_a_name(anubis):
    refused = anubis("archive", "write")
    assert refused.returncode == 2
    assert "ANUBIS_ARCHIVE" in refused.stderr
