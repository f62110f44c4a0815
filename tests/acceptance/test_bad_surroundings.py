"""Folders, links, addresses and records that are not valid: one clear error each, and never a defect."""

import os
import struct

import pytest

from anubis.record.index_writer import ENTRY_FORMAT, HEADER


def refused(ended):
    return ended.returncode == 2 and ended.stderr.count("error: ") == 1 and "help: " in ended.stderr


def test_a_working_folder_that_is_not_utf8(anubis):
    anubis.folder = anubis.folder / os.fsdecode(b"w\xff")
    anubis.folder.mkdir()
    anubis.write("bench.toml", "true")
    for words in (["run", "bench.toml"], ["submit", "bench.toml"], ["run", "--", "true"]):
        ended = anubis(*words)
        assert refused(ended), ended
        assert "w\\udcff has a name that is not UTF-8" in ended.stderr
    assert anubis.json("history") == []


def test_a_script_folder_with_a_loop_of_links(anubis):
    folder = anubis.folder / "code"
    folder.mkdir()
    (folder / "run.py").write_text("print(1)\n")
    (folder / "loop").symlink_to("loop")
    for path in ("code", "code/loop"):
        ended = anubis("run", anubis.write("bench.toml", "true"), "--script", path)
        assert refused(ended), ended
    assert anubis.json("history") == []


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hidden@localhost/x?nonsense=1",
        "postgresql://me:hidden@[::1/x",
        "postgresql://%zz:hidden@h/x",
        "postgresql://me:hidden@localhost/x?connect_timeout=abc",
    ],
)
def test_options_of_a_database_address(anubis, monkeypatch, address):
    monkeypatch.setenv("ANUBIS_DATABASE_URL", address)
    ended = anubis("history")
    assert refused(ended), ended
    assert "ANUBIS_DATABASE_URL" in ended.stderr
    assert "hidden" not in ended.stderr


@pytest.mark.parametrize("noise", ["random", "largest", "short"])
def test_logs_over_noise_in_the_time_index(anubis, noise):
    assert anubis("run", "--", "echo", "hello").returncode == 0
    (lines,) = anubis.home.glob("records/*/a1/benchmark/0/lines")
    for size in range(1, 40):
        lines.write_bytes(
            {
                "random": HEADER + bytes((size * 37 + 11 * at) % 256 for at in range(40 * size)),
                "largest": HEADER + b"".join(_entry(kind) * size for kind in range(3)),
                "short": HEADER[:size],
            }[noise]
        )
        if size % 13 == 1:
            for words in ((), ("-t",), ("--json",), ("--raw",)):
                ended = anubis("logs", *words)
                assert ended.returncode in {0, 2}, ended
                assert "defect" not in ended.stderr
    assert "hello" in anubis("logs", "--raw").stdout


def _entry(kind):
    """Entries with the largest and the smallest numbers."""
    largest = 2**63 - 1
    return struct.pack(ENTRY_FORMAT, largest, largest, -1, 0, kind) + struct.pack(
        ENTRY_FORMAT, -largest, -largest, -1, 0, kind
    )
