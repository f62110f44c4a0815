"""The chain: every line commits to those before it, with several writers and after a cut."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.errors import FullError
from anubis.sealing.chain import Addition, BrokenChainError, Head, Kind, RecordChain
from anubis.testing.builders import NOW_S


def sealed(run_id, **digests):
    return Addition(run_id=run_id, kind=Kind.SEALED, digests=digests or {"run": run_id * 4})


def add(chain, *run_ids):
    return chain.add([sealed(run_id) for run_id in run_ids], now_s=NOW_S)


@pytest.fixture
def chain(tmp_path):
    return RecordChain(tmp_path / "chain.jsonl")


def test_lines_are_numbered_and_linked(chain):
    add(chain, "a")
    add(chain, "b", "c")
    found = list(chain.entries())
    assert [(entry.n, entry.run_id) for entry, _ in found] == [(1, "a"), (2, "b"), (3, "c")]
    assert [entry.previous for entry, _ in found[1:]] == [head.sha256 for _, head in found[:-1]]
    assert chain.path.stat().st_mode & 0o777 == 0o600


def test_an_empty_chain_has_no_entries(chain):
    assert list(chain.entries()) == []
    assert chain.recent() == []


def test_an_entry_that_repeats_the_last_of_its_run_is_left_out(chain):
    add(chain, "a", "b", "a")
    assert add(chain, "a") == []
    purged = [Addition(run_id="a", kind=Kind.PURGED)]
    assert [entry.n for entry in chain.add(purged, now_s=NOW_S)] == [3]
    assert chain.add(purged, now_s=NOW_S) == []
    assert [entry.n for entry in add(chain, "a")] == [4]


def lines(chain):
    return chain.path.read_bytes().splitlines(keepends=True)


CHANGES = {
    "changed": lambda rows: [rows[0], rows[1].replace(b"bbbb", b"cccc"), *rows[2:]],
    "removed": lambda rows: [rows[0], *rows[2:]],
    "the first removed": lambda rows: rows[1:],
    "reordered": lambda rows: [rows[0], rows[2], rows[1], rows[3]],
    "repeated": lambda rows: [*rows[:2], *rows[1:]],
    "not JSON": lambda rows: [rows[0], b"nonsense\n", *rows[2:]],
    "a list": lambda rows: [rows[0], b"[]\n", *rows[2:]],
    "deep": lambda rows: [rows[0], b"[" * 100_000 + b"\n", *rows[2:]],
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_line_that_does_not_continue_the_chain(chain, change):
    add(chain, "a", "b", "c", "d")
    chain.path.write_bytes(b"".join(change(lines(chain))))
    with pytest.raises(BrokenChainError):
        list(chain.entries())


def test_the_rest_is_signed_again_after_a_change_but_the_head_differs(chain):
    add(chain, "a", "b")
    *_, (_, head) = chain.entries()
    chain.path.unlink()
    add(chain, "a", "x")
    *_, (_, other) = chain.entries()
    assert other.n == head.n
    assert other != head


@pytest.mark.parametrize("left", [1, 10, -1])
def test_a_line_that_was_cut_off_is_replaced(chain, left):
    add(chain, "a", "b")
    first, second = lines(chain)
    chain.path.write_bytes(first + second[:left])
    assert [entry.run_id for entry, _ in chain.entries()] == ["a"]
    add(chain, "c")
    assert [entry.run_id for entry, _ in chain.entries()] == ["a", "c"]


def test_a_first_line_that_was_cut_off(chain):
    chain.path.write_bytes(b'{"n": 1')
    add(chain, "a")
    assert [entry.n for entry, _ in chain.entries()] == [1]


def test_long_lines(chain):
    """Longer than what is read at the end of the file at once."""
    names = {f"a1/worker/{rank}/stdout": "0" * 64 for rank in range(3000)}
    for run_id in "ab":
        chain.add([sealed(run_id, **names)], now_s=NOW_S)
    assert chain.add([sealed("b", **names)], now_s=NOW_S) == []
    with chain.path.open("ab") as file:
        file.write(b"x" * 200_000)
    add(chain, "c")
    assert [entry.run_id for entry, _ in chain.entries()] == ["a", "b", "c"]


def test_nothing_continues_a_damaged_last_line(chain):
    add(chain, "a")
    with chain.path.open("ab") as file:
        file.write(b"nonsense\n")
    with pytest.raises(BrokenChainError):
        add(chain, "b")


def test_a_full_disk_leaves_no_part_of_a_line(chain, monkeypatch):
    add(chain, "a")
    write = os.write

    def full(file, data):
        if len(data) < 20:
            raise OSError(28, "No space left on device")
        return write(file, data[: len(data) // 2])

    with monkeypatch.context() as patched:
        patched.setattr("os.write", full)
        with pytest.raises(FullError):
            add(chain, "b")
    add(chain, "c")
    assert [entry.run_id for entry, _ in chain.entries()] == ["a", "c"]


def test_many_writers(chain):
    program = (
        "import sys; from pathlib import Path\n"
        "from anubis.sealing.chain import *\n"
        "chain = RecordChain(Path(sys.argv[1]))\n"
        "for at in range(20):\n"
        "    chain.add([Addition(run_id=f'{sys.argv[2]}.{at}', kind=Kind.SEALED, digests={'run': '1'})], now_s=1.0)\n"
    )

    def work(name):
        subprocess.run([sys.executable, "-c", program, chain.path, name], check=True)

    with ThreadPoolExecutor() as pool:
        list(pool.map(work, "abc"))
    names = [entry.run_id for entry, _ in chain.entries()]
    assert sorted(names) == sorted(f"{name}.{at}" for name in "abc" for at in range(20))


@given(st.integers(min_value=0), st.text("0123456789abcdef", min_size=64, max_size=64))
def test_a_head_as_text(n, sha256):
    assert Head.of(str(Head(n, sha256))) == Head(n, sha256)


@pytest.mark.parametrize("text", ["", "1", "1:", "x:" + "0" * 64, "1:" + "0" * 63, "-1:" + "0" * 64])
def test_what_is_not_a_head(text):
    with pytest.raises(ValueError, match="NUMBER:SHA256"):
        Head.of(text)


def test_entries_are_json_lines(chain):
    add(chain, "a")
    (line,) = lines(chain)
    assert set(json.loads(line)) == {"n", "time_s", "kind", "run_id", "digests", "previous"}
