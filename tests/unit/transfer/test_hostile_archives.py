"""Run archives that no export has written are refused in bounded memory, and nothing of them is stored."""

import os
import resource
import subprocess
import sys

import pytest

from anubis.cli.app import execute
from support import hostile_archives

ARCHIVES = hostile_archives.archives()
#: Memory that an import may take; MiB.
MOST_MIB = 300
#: Archives that would take memory or time if they were believed.
LARGE = [name for name in ARCHIVES if any(word in name for word in ("GiB", "MiB", "million", "100,000"))]


@pytest.fixture
def home(tmp_path, monkeypatch):
    folder = tmp_path / "home"
    monkeypatch.setenv("ANUBIS_HOME", str(folder))
    return folder


def stored(home):
    return {str(path.relative_to(home)) for path in home.rglob("*")} - {
        "anubis.db",
        "anubis.db-wal",
        "anubis.db-shm",
    }


def test_the_archive_that_all_others_change_is_accepted(home, tmp_path, capsys):
    file = tmp_path / "valid"
    file.write_bytes(hostile_archives.valid())
    assert execute(["record", "import", str(file)]) == 0
    assert len(stored(home)) > 5
    assert not (home / "incoming").exists()


@pytest.mark.parametrize("name", [name for name in ARCHIVES if name not in LARGE])
def test_it_is_refused_and_nothing_is_stored(home, tmp_path, capsys, name):
    file = tmp_path / "hostile"
    file.write_bytes(ARCHIVES[name]())
    code = execute(["record", "import", str(file)])
    shown = capsys.readouterr().err
    assert code == 2, shown
    assert shown.count("error: ") == 1
    assert stored(home) == set()
    assert execute(["history", "--json"]) == 0
    assert capsys.readouterr().out.strip() == "[]"


IMPORTER = """
import re, sys
from pathlib import Path
from anubis.cli.app import execute
from anubis.transfer import run_transfer
import anubis.store.migrations.upgrade
code = execute(["record", "import", sys.argv[1]])
# The peak since exec; ru_maxrss includes that of the process that forked this one.
(peak_kib,) = re.findall(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())
print(code, int(peak_kib) // 1024)
"""


@pytest.mark.parametrize("name", LARGE)
def test_a_large_one_is_refused_in_bounded_memory(home, tmp_path, name):
    file = tmp_path / "hostile"
    file.write_bytes(ARCHIVES[name]())

    def limited():
        resource.setrlimit(resource.RLIMIT_CPU, (30, 30))
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    ended = subprocess.run(
        [sys.executable, "-c", IMPORTER, str(file)],
        preexec_fn=limited,
        check=False,
        capture_output=True,
        text=True,
    )
    assert ended.stdout, ended.stderr
    code, peak_mib = map(int, ended.stdout.split())
    assert code == 2, ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert peak_mib < MOST_MIB
    assert stored(home) == set()


def test_there_are_many():
    assert len(ARCHIVES) >= 70


@pytest.mark.parametrize("share", range(0, 100, 5))
def test_a_truncated_archive_is_refused(home, tmp_path, capsys, share):
    content = hostile_archives.valid()
    file = tmp_path / "cut"
    file.write_bytes(content[: len(content) * share // 100])
    assert execute(["record", "import", str(file)]) == 2
    assert stored(home) == set()


@pytest.mark.parametrize("kind", ["folder", "pipe"])
def test_what_is_not_a_file_is_refused(home, tmp_path, capsys, kind):

    path = tmp_path / kind
    path.mkdir() if kind == "folder" else os.mkfifo(path)
    assert execute(["record", "import", str(path)]) == 2
    assert "error: " in capsys.readouterr().err
    assert stored(home) == set()
