"""A home folder that this user may only read: looking works, and what must write says so once."""

import contextlib
import ctypes
import os

import pytest

from support.processes import until

_PR_CAPBSET_DROP, _CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH = 24, 1, 2

LOOKING = [
    ["history"],
    ["show", "@last"],
    ["results", "@last"],
    ["status", "@last"],
    ["logs", "@last"],
    ["descriptor", "@last"],
    ["series"],
    ["alerts"],
    ["export"],
    ["compare", "@last~1", "@last"],
]


def without_rights():
    """For ``preexec_fn``: permissions of files hold for root too."""
    if os.geteuid() == 0:
        libc = ctypes.CDLL(None)
        for capability in (_CAP_DAC_OVERRIDE, _CAP_DAC_READ_SEARCH):
            libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0)


@pytest.fixture
def measured(anubis):
    """A home with two runs that is read-only for everyone."""
    file = anubis.write("hello.toml", "echo hello")
    assert anubis("run", file, "--rounds", "2").returncode == 0
    folders = [anubis.home, *(path for path in anubis.home.rglob("*") if path.is_dir())]
    files = [path for path in anubis.home.rglob("*") if path.is_file()]
    for path in files:
        path.chmod(0o444)
    for folder in folders:
        folder.chmod(0o555)
    yield anubis
    for folder in folders:
        folder.chmod(0o755)
    for path in files:
        if path.exists():
            path.chmod(0o644)


def contents(home):
    return {path: path.stat().st_mtime_ns for path in home.rglob("*")}


@pytest.mark.parametrize("words", LOOKING, ids=" ".join)
def test_looking_needs_no_permission_to_write(measured, words):
    before = contents(measured.home)
    ended = measured(*words, preexec_fn=without_rights)
    assert (ended.returncode, ended.stderr) in {(0, ""), (4, "")}, "4: two runs do not decide a comparison"
    assert ended.stdout
    assert contents(measured.home) == before


@pytest.mark.parametrize(
    "words",
    [["run", "hello.toml"], ["submit", "hello.toml"], ["purge", "@last", "--yes"], ["import", "values.csv"]],
    ids=" ".join,
)
def test_what_must_write_says_so_once(measured, words):
    (measured.folder / "values.csv").write_text("benchmark,value,time_s\nfft,1.5,1700000000\n")
    before = contents(measured.home)
    ended = measured(*words, preexec_fn=without_rights)
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.count("error: ") == 1
    assert f"{measured.home}/" in ended.stderr
    assert "help: " in ended.stderr
    assert "Traceback" not in ended.stderr
    assert contents(measured.home) == before


def test_a_run_that_cannot_be_driven_ends_the_command_with_one_error(anubis):
    process = anubis.start("run", "--", "sleep", "600")
    until(lambda: list(anubis.home.glob("records/*/a1/benchmark/0/alive")), "the run is measured")
    process.kill()
    process.wait()
    folders = [anubis.home, *(path for path in anubis.home.rglob("*") if path.is_dir())]
    # The agent continues without its driver: parts of files get their final names at any moment.
    modes = {}
    for path in anubis.home.rglob("*"):
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                modes[path] = path.stat().st_mode
                path.chmod(0o444)
    for folder in folders:
        folder.chmod(0o555)
    try:
        ended = anubis("watch", preexec_fn=without_rights)
    finally:
        for folder in folders:
            folder.chmod(0o755)
        for path, mode in modes.items():
            with contextlib.suppress(FileNotFoundError):
                path.chmod(mode)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.count("error: ") == 1
    assert "cannot be written" in ended.stderr
    assert "anubis status" in ended.stderr
