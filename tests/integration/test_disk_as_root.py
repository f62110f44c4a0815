"""A home folder on a disk that is full, or mounted read-only."""

import contextlib
import shutil
import subprocess
import sys

import pytest

from support.command import Command
from support.privileged import small_disk  # noqa: F401  a fixture

ADD_ONE_AND_DIE = """if True:
    import os, sys
    from anubis.store import open_store
    from anubis.testing import a_run
    run = a_run()
    open_store(sys.argv[1]).runs.add([(run, "")], [])
    print(run.id, flush=True)
    os._exit(0)
"""


@pytest.fixture
def measured(tmp_path, small_disk):  # noqa: F811
    """A home with two runs on a separate disk."""
    (tmp_path / "work").mkdir()
    anubis = Command(small_disk(tmp_path / "home", 16 << 20), tmp_path / "work")
    file = anubis.write("hello.toml", "echo hello")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ANUBIS_MIN_FREE_BYTES", "1000000")
        assert anubis("run", file, "--rounds", "2").returncode == 0
    return anubis


def fill(folder):
    with contextlib.suppress(OSError), (folder / "filling").open("wb", buffering=0) as file:
        for size in (1 << 16, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass


def mount_read_only(folder):
    subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)


@pytest.mark.parametrize("spoil", [fill, mount_read_only])
def test_a_disk_that_cannot_be_written_is_read(measured, spoil):
    ids = [row["id"] for row in measured.json("history")]
    spoil(measured.home)
    assert [row["id"] for row in measured.json("history")] == ids
    for verb in ("show", "results", "status", "logs"):
        ended = measured(verb, "@last")
        assert (ended.returncode, ended.stderr) == (0, ""), verb
        assert ended.stdout
    for words in (["run", "hello.toml"], ["submit", "hello.toml"], ["submit", "hello.toml", "--script", "."]):
        ended = measured(*words)
        assert (ended.returncode, ended.stdout) == (2, ""), words
        assert ended.stderr.count("error: ") == 1
        assert "Traceback" not in ended.stderr


def record_bytes(anubis, run_id):
    return sum(path.stat().st_size for path in (anubis.home / "records" / run_id).rglob("*"))


def test_purge_frees_a_disk_that_two_runs_have_filled(tmp_path, small_disk, monkeypatch):  # noqa: F811
    """Then the log of the database cannot grow. What the runs have left free, others have taken."""
    (tmp_path / "work").mkdir()
    anubis = Command(small_disk(tmp_path / "home", 16 << 20), tmp_path / "work")
    monkeypatch.setenv("ANUBIS_MIN_FREE_BYTES", "1000")
    monkeypatch.setenv("ANUBIS_PROCESS_SLOTS", "2")
    files = [anubis.write(f"{name}.toml", "head -c 60000000 /dev/zero") for name in ("one", "two")]
    assert anubis("run", *files).returncode == 1
    ids = [row["id"] for row in anubis.json("history")]
    fill(anubis.home)

    assert [row["id"] for row in anubis.json("history")] == ids
    assert len(ids) == 2
    large, small = sorted(ids, key=lambda run_id: record_bytes(anubis, run_id), reverse=True)
    purged = anubis("purge", large, "--yes")
    assert (purged.returncode, purged.stdout, purged.stderr) == (0, f"{large}\n", "")
    assert [row["id"] for row in anubis.json("history")] == [small]
    assert not (anubis.home / "records" / large).exists()
    assert anubis("purge", small, "--yes").returncode == 0
    (anubis.home / "filling").unlink()
    assert anubis("run", "--", "true").returncode == 0


def test_purge_of_a_run_without_a_record_on_a_full_disk_says_so(measured):
    """Nothing can be freed."""
    [run, _] = measured.json("history")
    shutil.rmtree(measured.home / "records" / run["id"])
    fill(measured.home)
    ended = measured("purge", run["id"], "--yes")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("error: ") == 1
    assert "free space on its disk" in ended.stderr
    assert len(measured.json("history")) == 2


def test_nothing_is_followed_where_the_database_cannot_be_written(measured, tmp_path, monkeypatch):
    """A worker measures where it can be written; here its folder is mounted read-only."""
    monkeypatch.setenv("ANUBIS_MIN_FREE_BYTES", "1000")
    run_id = measured("submit", "--", "sleep", "3600").stdout.strip()
    seen = tmp_path / "seen"
    seen.mkdir()
    subprocess.run(["mount", "--bind", str(measured.home), str(seen)], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", str(seen)], check=True)
        reader = Command(seen, measured.folder)
        ended = reader("watch", run_id)
        assert (ended.returncode, ended.stdout) == (2, ""), ended
        assert "no run can be continued or followed" in ended.stderr
        assert "anubis status" in ended.stderr
        assert reader("status", run_id).returncode == 0
        worker = reader("worker")
        assert (worker.returncode, worker.stderr.count("error: ")) == (2, 1), worker
    finally:
        subprocess.run(["umount", "--lazy", str(seen)], check=True)
        measured("cancel", run_id)
        measured("watch", run_id)


def test_commits_of_a_process_that_died_are_read_from_a_read_only_disk(measured):
    """They are only in the log of the database, whose index cannot be created there."""
    add = [sys.executable, "-c", ADD_ONE_AND_DIE, f"sqlite:///{measured.home}/anubis.db"]
    added = subprocess.run(add, capture_output=True, text=True, check=True).stdout.strip()
    (measured.home / "anubis.db-shm").unlink()
    mount_read_only(measured.home)
    assert added in {row["id"] for row in measured.json("history")}
