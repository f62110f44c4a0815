"""What needs privileges: a memory limit that kills, and a disk that is really full."""

import os
import subprocess
from pathlib import Path

import pytest

from anubis.agent.observe.kernel import MemoryGroup
from anubis.model.cause import Cause
from support.agents import Agents, python

LIMIT_BYTES = 64 << 20
GREEDY = "import os; print(os.getpid(), flush=True); x = bytearray(1 << 30)"


@pytest.fixture
def agents(tmp_path):
    return Agents(tmp_path)


@pytest.fixture
def small_group(tmp_path):
    """A memory control group with a limit, below the one the tests run in."""
    outer = MemoryGroup()
    group = Path(outer.folder or "/no/memory/cgroup") / f"anubis-test-{os.getpid()}"
    try:
        group.mkdir()
        limit = "memory.max" if outer.version == 2 else "memory.limit_in_bytes"
        (group / limit).write_text(str(LIMIT_BYTES))
    except OSError as error:
        if group.exists():
            group.rmdir()
        pytest.skip(f"needs the right to make a memory cgroup: {error}")
    yield group
    group.rmdir()


def entering(group):
    return lambda: (group / "cgroup.procs").write_text(str(os.getpid()))


def test_killed_by_the_kernel_for_want_of_memory(agents, small_group):
    facts = agents.measure("--repeats", 2, command=python(GREEDY), preexec_fn=entering(small_group))
    assert (facts["cause"], facts["code"], facts["signal"]) == (Cause.OUT_OF_MEMORY, 137, 9)
    assert len(facts["executions"]) == 1
    assert 0 < facts["cgroup_peak_bytes"] <= LIMIT_BYTES
    assert agents.json("facts.json")["memory"]["limit_bytes"] == LIMIT_BYTES


def test_a_part_of_it_killed_for_want_of_memory(agents, small_group):
    code = (
        f"import subprocess, sys; sys.exit(3 if subprocess.call([sys.executable, '-c', {GREEDY!r}]) else 0)"
    )
    facts = agents.measure(command=python(code), preexec_fn=entering(small_group))
    assert (facts["cause"], facts["code"]) == (Cause.OUT_OF_MEMORY, 3)


def test_a_kill_in_the_same_group_is_not_blamed_on_an_honest_137(agents, small_group):
    facts = agents.measure(command=["sh", "-c", "exit 137"], preexec_fn=entering(small_group))
    assert facts["cause"] == Cause.USER_ERROR


@pytest.fixture
def small_disk(tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(disk)], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip(f"needs the right to mount: {mounted.stderr.decode().strip()}")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_a_full_disk_ends_in_a_complete_record(small_disk):
    agents = Agents(small_disk)
    facts = agents.measure(
        "--repeats", 2, command=python("print('x' * 3_000_000)"), patterns={"loss": "loss=(.)"}
    )
    stdout = facts["streams"]["stdout"]
    assert facts["cause"] == Cause.DISK_FULL
    assert stdout["bytes"] + stdout["lost_bytes"] == 3_000_001
    assert len(facts["executions"]) == 1
    assert agents.bytes("stdout") == b"x" * stdout["bytes"]


def test_a_benchmark_that_fills_the_disk_itself(small_disk):
    agents = Agents(small_disk)
    code = "open('big', 'wb').write(bytes(3_000_000))"
    facts = agents.measure("--cwd", small_disk, command=python(code))
    assert (facts["cause"], facts["code"]) == (Cause.DISK_FULL, 1)
