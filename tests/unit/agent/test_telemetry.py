import math
import os
import subprocess

from anubis.agent.observe.gauges import COLUMNS, Gauges
from anubis.agent.observe.sampler import Synced, _append
from anubis.record import telemetry
from anubis.record.files import FolderFiles
from anubis.record.telemetry import Telemetry


def write(path, *rows, columns=(("a", "B"), ("b", "ratio"))):
    content = telemetry.header(list(columns), 1.0) + b"".join(telemetry.row(*row) for row in rows)
    path.write_bytes(content)
    return content


def test_rows_become_columns(tmp_path):
    write(tmp_path / "telemetry", (1.5, [1.0, 0.5]), (2.5, [2.0, float("nan")]))
    read = Telemetry(FolderFiles(str(tmp_path)))
    assert list(read.times_s) == [1.5, 2.5]
    assert list(read.columns["a"]) == [1.0, 2.0]
    assert math.isnan(read.columns["b"][1])
    assert read.units == {"a": "B", "b": "ratio"}


def test_a_truncated_tail_is_left_out(tmp_path):
    content = write(tmp_path / "telemetry", (1.5, [1.0, 0.5]), (2.5, [2.0, 0.5]))
    header = content.index(b"\n") + 1
    for kept in range(len(content)):
        (tmp_path / "telemetry").write_bytes(content[:kept])
        assert len(Telemetry(FolderFiles(str(tmp_path)))) == max(0, kept - header) // 16


def test_a_run_too_short_for_telemetry(tmp_path):
    assert len(Telemetry(FolderFiles(str(tmp_path)))) == 0


def test_a_row_is_written_whole_or_not_at_all(tmp_path):
    whole = os.open(tmp_path / "whole", os.O_RDWR | os.O_CREAT)
    assert _append(whole, 0, b"row") == 3
    full = os.open("/dev/full", os.O_WRONLY)
    assert os.fstat(whole).st_size == 3
    for file in (whole, full):
        os.close(file)


def test_gauges_of_this_machine():
    """This process is the agent; a child that waits for its input is a benchmark."""
    gauges = Gauges(os.getpid(), "/record")

    def sample():
        return dict(zip([name for name, _ in COLUMNS], gauges.sample(), strict=True))

    before = sample()
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        row = sample()
        child.stdin.close()
    assert row["tree_processes"] - before["tree_processes"] == 1
    assert row["tree_threads"] - before["tree_threads"] == 1
    assert row["tree_memory"] > before["tree_memory"]
    assert 0 < row["memory_available"] < os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert all(
        math.isfinite(row[name]) for name in ("load1", "cpu_user", "cpu_idle", "tree_cpus", "others_cpus")
    )


def test_the_benchmarks_processes_are_those_below_the_agent(monkeypatch):
    rows = {
        10: b"S 1 10 10 0 0 0 0 0 0 0 5 5 100 50 20 0 1 0 7 0 99",
        11: b"S 10 11 11 0 0 0 0 0 0 0 30 10 0 0 20 0 4 0 7 0 5",
        12: b"S 11 11 11 0 0 0 0 0 0 0 40 20 0 0 20 0 2 0 7 0 6",
        13: b"S 10 13 13 0 0 0 0 0 0 0 99 99 0 0 20 0 1 0 7 0 50",
        14: b"S 1 14 14 0 0 0 0 0 0 0 99 99 0 0 20 0 1 0 7 0 50",
    }
    monkeypatch.setattr(
        "anubis.agent.process_tree.table", lambda: {pid: row.split() for pid, row in rows.items()}
    )
    monkeypatch.setattr("anubis.agent.observe.gauges.Gauges._is_sidecar", lambda self, pid: pid == 13)
    row = dict(zip([name for name, _ in COLUMNS], Gauges(10, "/record").sample(), strict=True))
    page = os.sysconf("SC_PAGE_SIZE")
    assert (row["tree_processes"], row["tree_threads"], row["tree_memory"]) == (2, 6, 11 * page)


def test_a_stream_is_synced_when_it_has_grown(tmp_path, monkeypatch):
    path = tmp_path / "stdout"
    path.write_bytes(b"x")
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    stream = Synced(str(path))
    stream.sync()
    stream.sync()
    assert len(synced) == 1
    path.write_bytes(b"xy")
    stream.sync()
    assert len(synced) == 2
