"""A home folder on a disk that is full, or mounted read-only."""

import contextlib
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
    """A home with two runs on a disk of its own."""
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


def test_commits_of_a_process_that_died_are_read_from_a_read_only_disk(measured):
    """They are only in the log of the database, whose index cannot be created there."""
    add = [sys.executable, "-c", ADD_ONE_AND_DIE, f"sqlite:///{measured.home}/anubis.db"]
    added = subprocess.run(add, capture_output=True, text=True, check=True).stdout.strip()
    (measured.home / "anubis.db-shm").unlink()
    mount_read_only(measured.home)
    assert added in {row["id"] for row in measured.json("history")}
