import os
import subprocess
import sys
from pathlib import Path
from signal import SIGKILL

from anubis.agent import process_tree
from support.processes import until

LATER = "import os, sys; sys.stdin.readline(); os.execve('/bin/sleep', ['sleep', '600'], {'ANUBIS_RECORD': sys.argv[1]})"

ROWS = {
    1: [b"S", b"0"],
    10: [b"S", b"1"],
    11: [b"S", b"10"],
    12: [b"R", b"11"],
    13: [b"Z", b"11"],
    14: [b"S", b"10"],
    15: [b"S", b"14"],
    20: [b"S", b"1"],
}


def test_everything_below_a_process_parents_first():
    assert process_tree.descendants(10, set(), ROWS) == [11, 14, 12, 15]


def test_branches_can_be_left_out():
    assert process_tree.descendants(10, {14}, ROWS) == [11, 12]


def test_a_process_that_is_gone_has_nothing_below():
    assert process_tree.descendants(99, set(), ROWS) == []
    assert process_tree.command_line(2**22 + 1) == ""


def test_a_process_that_executes_a_program_meanwhile_is_ended(monkeypatch):
    """During execve(2) a process has no environment."""
    record = f"/records/{os.getpid()}"
    command = [sys.executable, "-I", "-S", "-c", LATER, record]
    with subprocess.Popen(command, env={}, stdin=subprocess.PIPE, text=True) as between:

        def go_on(_):
            between.stdin.write("\n")
            between.stdin.flush()
            until(lambda: Path(f"/proc/{between.pid}/environ").read_bytes(), "it has an environment")

        monkeypatch.setattr(process_tree, "sleep", go_on)
        assert process_tree.end_orphans(record) == 1
        assert between.wait() == -SIGKILL
