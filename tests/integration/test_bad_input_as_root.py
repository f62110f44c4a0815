"""Benchmarks that meet a limit of the machine, measured through ``anubis run``: a memory limit, a full disk."""

import json

import pytest

from support.command import Command
from support.measured import Measured
from support.privileged import entering, memory_group, small_disk  # noqa: F401  fixtures

FLOOD = "import sys\nfor _ in range(100): sys.stdout.write('x' * 1_000_000)\n"
GREEDY = "print('greedy', flush=True)\nx = bytearray(1 << 30)\n"


@pytest.fixture
def anubis(tmp_path):
    (tmp_path / "work").mkdir()
    return Command(tmp_path / "home", tmp_path / "work")


def test_the_kernel_kills_it_for_want_of_memory(anubis, memory_group):  # noqa: F811
    run = Measured(anubis, GREEDY, preexec_fn=entering(memory_group(256 << 20)))
    run.fails("out_of_memory", "because memory ran out", "more memory")
    assert run.bytes() == b"greedy\n"


def test_output_that_fills_the_disk_of_the_record(anubis, small_disk):  # noqa: F811
    small_disk(anubis.home / "records", 8 << 20)
    run = Measured(anubis, FLOOD).fails("disk_full", "ANUBIS_HOME")
    stream = json.loads(run.bytes("exit.json"))["streams"]["stdout"]
    assert stream["bytes"] + stream["lost_bytes"] == 100_000_000
    assert run.bytes() == b"x" * stream["bytes"]


def test_output_that_fills_the_disk_of_everything(anubis, small_disk, monkeypatch):  # noqa: F811
    """The database lies on the same disk: what is needed to say so was kept free."""
    monkeypatch.setenv("ANUBIS_MIN_FREE_BYTES", "1000000")
    small_disk(anubis.home, 16 << 20)
    run = Measured(anubis, FLOOD).fails("disk_full", "ANUBIS_HOME")
    assert run.bytes().startswith(b"x")


def test_nothing_is_placed_on_a_disk_that_is_full_already(anubis, small_disk):  # noqa: F811
    small_disk(anubis.home, 16 << 20)
    run = Measured(anubis, "print('hello')").fails("disk_full", "MiB free")
    assert run.folder is None
