"""Properties of this machine that make measurements vary: clocks, governors, other load, limits.

Sources: the kernel's cpufreq, cgroup v2 and clocksource documentation (Documentation/admin-guide), proc(5).
"""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from anubis.cli.doctor.installation_checks import Check, State
from anubis.cli.views import units

#: Clock sources that are read in nanoseconds; others access a device, which takes microseconds.
QUICK_CLOCKS = {"tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page", "timebase", "tod"}
#: Load per core above which other processes compete with the benchmark.
BUSY = 0.25
#: Share of the time stolen by the hypervisor above which measurements are affected.
STOLEN = 0.01
SWAPPED = 0.05


def machine_checks(root: Path = Path("/")) -> Iterator[Check]:
    """One check for every property that this machine reports; ``root`` is the root of the file system."""
    for check in _CHECKS:
        result = check(root)
        if result is not None:
            yield result


def _governor(root: Path) -> Check | None:
    pattern = "sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor"
    governors = Counter(text for path in root.glob(pattern) if (text := _read(path)))
    if not governors:
        return None
    observed = ", ".join(
        f"{name} on {units.counted(count, 'core')}" for name, count in sorted(governors.items())
    )
    if set(governors) == {"performance"}:
        return Check("governor", State.OK, observed)
    return Check("governor", State.WARN, observed, "sudo cpupower frequency-set --governor performance")


def _turbo(root: Path) -> Check | None:
    no_turbo = _read(root / "sys/devices/system/cpu/intel_pstate/no_turbo")
    boost = _read(root / "sys/devices/system/cpu/cpufreq/boost")
    if no_turbo is None and boost is None:
        return None
    if no_turbo == "1" or (no_turbo is None and boost == "0"):
        return Check("turbo", State.OK, "off")
    remedy = (
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo"
        if no_turbo is not None
        else "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost"
    )
    return Check("turbo", State.WARN, "on: the clock rate depends on temperature and on other cores", remedy)


def _smt(root: Path) -> Check | None:
    state = _read(root / "sys/devices/system/cpu/smt/control")
    if state not in {"on", "off", "forceoff"}:
        return None
    if state != "on":
        return Check("SMT", State.OK, "off")
    remedy = 'set pin = "auto" in [measure], or: echo off | sudo tee /sys/devices/system/cpu/smt/control'
    return Check("SMT", State.WARN, "on: two threads share a core and its caches", remedy)


def _aslr(root: Path) -> Check | None:
    state = _read(root / "proc/sys/kernel/randomize_va_space")
    if state is None:
        return None
    if state != "0":
        return Check("ASLR", State.OK, "on: the layout of memory is part of the noise, not a bias")
    remedy = "echo 2 | sudo tee /proc/sys/kernel/randomize_va_space"
    return Check("ASLR", State.WARN, "off: one layout of memory is measured, which may favour a side", remedy)


def _isolation(root: Path) -> Check | None:
    isolated = _read(root / "sys/devices/system/cpu/isolated")
    if isolated is None:
        return None
    if not isolated:
        return Check("isolation", State.OK, "none: the scheduler may run other processes on every CPU")
    return Check("isolation", State.OK, f'CPUs {isolated} (use them with pin = "{isolated}" in [measure])')


def _load(root: Path) -> Check | None:
    text = _read(root / "proc/loadavg")
    if text is None:
        return None
    load, cores = float(text.split()[0]), os.cpu_count() or 1
    observed = f"{load:.2f} on {units.counted(cores, 'core')}"
    if load <= BUSY * cores:
        return Check("load", State.OK, observed)
    return Check("load", State.WARN, observed, "wait until other processes have ended (see top)")


def _steal(root: Path) -> Check | None:
    text = _read(root / "proc/stat")
    fields = text.split("\n", 1)[0].split()[1:] if text else []
    if len(fields) < 8 or not any(map(int, fields)):
        return None
    ratio = int(fields[7]) / sum(map(int, fields[:8]))
    observed = f"{units.share(ratio)} of the time since boot"
    if ratio <= STOLEN:
        return Check("steal", State.OK, observed)
    return Check(
        "steal", State.WARN, observed, "use a dedicated machine: other virtual machines use these cores"
    )


def _swap(root: Path) -> Check | None:
    text = _read(root / "proc/meminfo")
    if text is None:
        return None
    rows = dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
    total, free = (1024 * int(rows.get(name, "0 kB").split()[0]) for name in ("SwapTotal", "SwapFree"))
    if total == 0:
        return Check("swap", State.OK, "none")
    used = total - free
    observed = f"{units.size(used)} of {units.size(total)} used"
    if used <= SWAPPED * total:
        return Check("swap", State.OK, observed)
    return Check("swap", State.WARN, observed, "free memory, then: sudo swapoff -a && sudo swapon -a")


def _cpu_limit(root: Path) -> Check | None:
    text = next(_cgroup_files(root, "cpu.max"), None)
    if text is None:
        return None
    quota, period = [*text.split(), "100000"][:2]
    if quota == "max":
        return Check("cpu limit", State.OK, "none")
    cores = int(quota) / int(period)
    observed = f"{cores:g} of {units.counted(os.cpu_count() or 1, 'core')} by cgroup"
    return Check(
        "cpu limit", State.WARN, observed, "give whole cores (cpuset) instead of a quota: quotas throttle"
    )


def _memory_limit(root: Path) -> Check | None:
    text = next(_cgroup_files(root, "memory.max"), None)
    if text is None:
        return None
    return Check("memory limit", State.OK, "none" if text == "max" else f"{units.size(int(text))} by cgroup")


def _clock(root: Path) -> Check | None:
    observed = _read(root / "sys/devices/system/clocksource/clocksource0/current_clocksource")
    if observed is None:
        return None
    if observed in QUICK_CLOCKS:
        return Check("clock source", State.OK, observed)
    return Check(
        "clock source",
        State.WARN,
        observed,
        "short times are imprecise: see the kernel's clocksource= option",
    )


def _cgroup_files(root: Path, name: str) -> Iterator[str]:
    """Contents of the limit files from this process's cgroup (version 2) to the root; the innermost actual limit first."""
    cgroup = next(
        (
            line[3:]
            for line in (_read(root / "proc/self/cgroup") or "").splitlines()
            if line.startswith("0::")
        ),
        None,
    )
    if cgroup is None:
        return
    folder = root / "sys/fs/cgroup" / cgroup.strip("/")
    limits = [text for place in (folder, *folder.parents) if (text := _read(place / name))]
    yield from (text for text in limits if not text.startswith("max"))
    yield from limits


def _read(path: Path) -> str | None:
    try:
        return path.read_text().strip()
    except OSError:
        return None


_CHECKS = (
    _governor,
    _turbo,
    _smt,
    _aslr,
    _isolation,
    _load,
    _steal,
    _swap,
    _cpu_limit,
    _memory_limit,
    _clock,
)
