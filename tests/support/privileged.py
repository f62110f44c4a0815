"""Fixtures that need privileges, and skip without them: a memory limit that kills, and a small disk."""

import os
import subprocess
from pathlib import Path

import pytest

from anubis.agent.observe.kernel import MemoryGroup
from support.processes import until


@pytest.fixture
def memory_group():
    """``memory_group(limit_bytes)``: the folder of a new memory control group below that of the tests."""
    groups = []

    def limited(limit_bytes):
        outer = MemoryGroup()
        group = Path(outer.folder or "/no/memory/cgroup") / f"anubis-test-{os.getpid()}"
        try:
            group.mkdir()
            groups.append(group)
            limit = "memory.max" if outer.version == 2 else "memory.limit_in_bytes"
            (group / limit).write_text(str(limit_bytes))
        except OSError as error:
            pytest.skip(f"needs the right to make a memory cgroup: {error}")
        return group

    yield limited
    for group in groups:
        until(lambda group=group: not (group / "cgroup.procs").read_text(), "the memory cgroup is empty")
        group.rmdir()


def entering(group):
    """For ``preexec_fn``: the new process enters the group before exec."""
    return lambda: (group / "cgroup.procs").write_text(str(os.getpid()))


@pytest.fixture
def small_disk():
    """``small_disk(folder, size_bytes)``: creates the folder, mounts a file system of that size at it, and returns it."""
    disks = []

    def mounted(folder, size_bytes):
        folder.mkdir(parents=True)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
        done = subprocess.run(mount, check=False, capture_output=True)
        if done.returncode:
            pytest.skip(f"needs the right to mount: {done.stderr.decode().strip()}")
        disks.append(folder)
        return folder

    yield mounted
    for disk in disks:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)
