import os

import pytest

from anubis.agent.observe import facts, kernel, python_facts


@pytest.fixture
def files(monkeypatch):
    """Small files of the kernel, as told; nothing else is there."""
    contents = {}
    for module in (kernel, facts):
        monkeypatch.setattr(module, "read", lambda path, most=0: contents.get(path, ""))
    monkeypatch.setattr(kernel.os, "access", lambda path, mode: path in contents)
    return contents


def test_facts_of_this_machine_are_stable():
    first, second = (facts.gather(kernel.MemoryGroup(), "/") for _ in range(2))
    assert first["fingerprint"] == second["fingerprint"]
    assert first["fingerprint_inputs"]["cpus"] == len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([0], "0"), ([0, 1, 2], "0-2"), ([0, 2, 3, 7], "0,2-3,7")]
)
def test_ranges_of_cpus(numbers, text):
    assert facts._ranges(numbers) == text


def test_memory_classes_ignore_what_kernels_differ_in():
    classes = {facts._memory_class(size) for size in (25_276_510_208, 25_270_000_000, 25_600_000_000)}
    assert len(classes) == 1
    assert len({facts._memory_class(gib << 30) for gib in (8, 16, 24, 32, 64)}) == 5


def test_cpu_of_an_arm_machine(files):
    files["/proc/cpuinfo"] = (
        "processor\t: 0\nFeatures\t: fp asimd sve\nCPU implementer\t: 0x41\nCPU part\t: 0xd40\n\nprocessor\t: 1\n"
    )
    cpu = facts._cpu("aarch64")
    assert cpu["model"] == "aarch64 implementer 0x41 part 0xd40"
    assert cpu["features"] == ["asimd", "sve"]
    assert cpu["threads_per_core"] is None


def test_limits_of_version_two(files):
    files["/proc/self/cgroup"] = "0::/a/b\n"
    files["/sys/fs/cgroup/a/b/memory.events"] = "low 0\noom 4\noom_kill 3\noom_group_kill 0\n"
    files["/sys/fs/cgroup/a/b/memory.max"] = "max\n"
    files["/sys/fs/cgroup/a/memory.max"] = "1048576\n"
    files["/sys/fs/cgroup/a/b/cpu.max"] = "150000 100000\n"
    group = kernel.MemoryGroup()
    assert (group.version, group.kills(), group.limit_bytes()) == (2, 3, 1_048_576)
    assert kernel.cpu_limit() == 1.5
    assert group.peak_bytes() is None


def test_limits_of_version_one_in_a_container(files):
    files["/proc/self/cgroup"] = "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n0::/\n"
    files["/sys/fs/cgroup/memory/memory.oom_control"] = "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n"
    files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "2097152\n"
    files["/sys/fs/cgroup/memory/cgroup.procs"] = f"{os.getpid()}\n"
    files["/sys/fs/cgroup/memory/memory.max_usage_in_bytes"] = "1000\n"
    files["/sys/fs/cgroup/cpu/cpu.cfs_quota_us"] = "-1\n"
    files["/sys/fs/cgroup/cpu/cpu.cfs_period_us"] = "100000\n"
    group = kernel.MemoryGroup()
    assert (group.version, group.kills(), group.limit_bytes()) == (1, 2, 2_097_152)
    assert (group.alone, group.peak_bytes()) == (True, 1000)
    assert kernel.cpu_limit() is None


def test_without_any_control_group_the_machine_counts(files):
    files["/proc/vmstat"] = "nr_free_pages 5\noom_kill 7\n"
    group = kernel.MemoryGroup()
    assert (group.version, group.kills(), group.limit_bytes(), group.alone) == (0, 7, None, False)


def test_a_kernel_that_tells_nothing(files):
    assert kernel.MemoryGroup().kills() is None


def installed(folder, *names):
    packages = folder / "lib" / "python3.11" / "site-packages"
    packages.mkdir(parents=True)
    for name in names:
        (packages / name).mkdir()


def test_the_benchmarks_python_and_what_is_in_it(tmp_path):
    real, virtual = tmp_path / "real", tmp_path / "venv"
    installed(real, "numpy-1.0.dist-info")
    installed(virtual, "torch-2.0.dist-info", "old-1.egg-info", "torch")
    for folder in (real / "bin", virtual / "bin"):
        folder.mkdir()
    (real / "bin" / "python3.11").write_bytes(b"\x7fELF")
    (real / "bin" / "python3.11").chmod(0o755)
    (virtual / "bin" / "python3").symlink_to(real / "bin" / "python3.11")
    (virtual / "pyvenv.cfg").write_text("")
    found = python_facts.benchmark_python(f"/no/such/folder:{virtual}/bin", "", "/")
    assert found["distributions"] == ["old-1", "torch-2.0"]
    assert found["file"] == str(real / "bin" / "python3.11")
    (virtual / "pyvenv.cfg").unlink()
    other = python_facts.benchmark_python(f"{virtual}/bin", "", "/")
    assert other["distributions"] == ["numpy-1.0"]
    assert other["distributions_digest"] != found["distributions_digest"]


def test_a_wrapper_script_is_not_followed(tmp_path):
    (tmp_path / "python").write_text("#!/bin/sh\n")
    (tmp_path / "python").chmod(0o755)
    assert python_facts.benchmark_python(str(tmp_path), "", "/")["distributions"] is None


def test_a_machine_without_python(tmp_path):
    assert python_facts.benchmark_python(str(tmp_path), "", "/") is None


def test_pyenvs_wrapper_is_followed(tmp_path):
    for version in ("3.9.1", "3.11.7", "3.13.0"):
        home = tmp_path / "versions" / version
        packages = home / "lib" / "python3.x" / "site-packages" / f"of-{version}.dist-info"
        packages.mkdir(parents=True)
        (home / "bin").mkdir()
        (home / "bin" / "python3").write_bytes(b"\x7fELF")
        (home / "bin" / "python3").chmod(0o755)
    (tmp_path / "shims").mkdir()
    (tmp_path / "shims" / "python3").write_text("#!/bin/sh\n")
    (tmp_path / "shims" / "python3").chmod(0o755)
    (tmp_path / "version").write_text("3.9.1\n")
    (tmp_path / "work" / "deep").mkdir(parents=True)
    (tmp_path / "work" / ".python-version").write_text("3.11.7 3.9.1\n")

    def found(chosen, cwd):
        return python_facts.benchmark_python(f"{tmp_path}/shims", chosen, str(cwd))["distributions"]

    assert found("", "/") == ["of-3.9.1"]
    assert found("", tmp_path / "work" / "deep") == ["of-3.11.7"]
    assert found("3.13.0:3.9.1", tmp_path / "work") == ["of-3.13.0"]
    assert found("system", "/") is None
