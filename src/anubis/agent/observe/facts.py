"""``facts.json``: facts about the machine, read from a few dozen small files of the kernel in a millisecond.

A fact that the system does not provide is null. ``fingerprint`` is a digest over ``fingerprint_inputs``, the facts that
must match for two points to be comparable.
"""

from __future__ import annotations

import os
from hashlib import blake2b
from json import dumps

from anubis.agent.observe.kernel import MemoryGroup, cpu_limit, read
from anubis.agent.observe.python_facts import benchmark_python

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

_CPU = "/sys/devices/system/cpu/"
#: CPU features that affect numerical code; the digest covers all features.
_FEATURES = ("avx", "amx", "sse4", "fma", "f16c", "sha_ni", "asimd", "sve", "bf16", "i8mm", "vnni", "neon")


def gather(
    memory_group: MemoryGroup, cwd: str, missing: Sequence[str] = (), sandboxed: bool = False
) -> dict[str, object]:
    """Every fact about the machine, as JSON values; ``cwd`` is where the benchmark will run.

    ``missing`` are the conditions of the descriptor that do not apply.
    """
    system = os.uname()
    cpu = _cpu(system.machine)
    memory = _memory(memory_group)
    facts: dict[str, object] = {
        "hostname": system.nodename,
        "system": {
            "name": system.sysname,
            "kernel": system.release,
            "machine": system.machine,
            "boot_id": _line("/proc/sys/kernel/random/boot_id"),
        },
        "cpu": cpu,
        "memory": memory,
        "container": _container(),
        "virtual_machine": _virtual_machine(cpu),
        "accelerators": _accelerators(),
        "python": benchmark_python(
            _environment(b"PATH") or "/bin:/usr/bin", _environment(b"PYENV_VERSION"), cwd
        ),
        "load": _line("/proc/loadavg"),
    }
    inputs = _fingerprint_inputs(facts, cpu, memory)
    if missing:
        inputs["missing_conditions"] = list(missing)
    if sandboxed:
        inputs["sandbox"] = True
    facts["fingerprint_inputs"] = inputs
    facts["fingerprint"] = blake2b(dumps(inputs).encode(), digest_size=16).hexdigest()
    return facts


def _environment(name: bytes) -> str:
    return os.environb.get(name, b"").decode("utf-8", "surrogateescape")


def _line(path: str) -> str | None:
    return read(path, 4096).strip() or None


def _cpu(machine: str) -> dict[str, object]:
    described = _first_processor()
    flags = described.get("flags", described.get("Features", "")).split()
    try:
        usable = sorted(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        usable = list(range(os.cpu_count() or 1))
    siblings, cores = _whole(described.get("siblings")), _whole(described.get("cpu cores"))
    part = f"{machine} implementer {described.get('CPU implementer')} part {described.get('CPU part')}"
    return {
        "model": described.get("model name") or (part if "CPU part" in described else machine),
        "vendor": described.get("vendor_id"),
        "microcode": described.get("microcode"),
        "features": [flag for flag in flags if flag.startswith(_FEATURES) or flag.endswith(_FEATURES)],
        "features_digest": blake2b(" ".join(sorted(flags)).encode(), digest_size=8).hexdigest()
        if flags
        else None,
        "hypervisor": "hypervisor" in flags,
        "online": os.cpu_count(),
        "usable": len(usable),
        "affinity": _ranges(usable),
        "threads_per_core": siblings // cores if siblings and cores else None,
        "limit": cpu_limit(),
        "governor": _line(_CPU + "cpu0/cpufreq/scaling_governor"),
        "max_khz": _whole(_line(_CPU + "cpu0/cpufreq/cpuinfo_max_freq")),
        "turbo": _turbo(),
        "numa_nodes": _line("/sys/devices/system/node/online"),
        "clock_source": _line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
    }


def _first_processor() -> dict[str, str]:
    """The first block of /proc/cpuinfo; reading all of it takes milliseconds on a large machine."""
    described = {}
    for line in read("/proc/cpuinfo", 4096).splitlines():
        name, _, value = line.partition(":")
        if not name.strip():
            break
        described[name.strip()] = value.strip()
    return described


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdigit() else None


def _ranges(numbers: list[int]) -> str:
    """[0, 1, 2, 5] as "0-2,5"."""
    parts: list[list[int]] = []
    for number in numbers:
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in parts)


def _turbo() -> bool | None:
    no_turbo = _line(_CPU + "intel_pstate/no_turbo")
    boost = _line(_CPU + "cpufreq/boost")
    return no_turbo == "0" if no_turbo else boost == "1" if boost else None


def _memory(group: MemoryGroup) -> dict[str, object]:
    sizes = {}
    for line in read("/proc/meminfo", 4096).splitlines():
        name, _, value = line.partition(":")
        sizes[name] = (_whole(value.split()[0]) or 0) * 1024
    total = sizes.get("MemTotal") or os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return {
        "total_bytes": total,
        "available_bytes": sizes.get("MemAvailable"),
        "swap_bytes": sizes.get("SwapTotal"),
        "limit_bytes": group.limit_bytes(),
        "huge_pages": _line("/sys/kernel/mm/transparent_hugepage/enabled"),
    }


def _container() -> str | None:
    """The kind of container; None outside a container."""
    if os.access("/run/.containerenv", os.F_OK):
        return "podman"
    if b"KUBERNETES_SERVICE_HOST" in os.environb:
        return "kubernetes"
    if os.access("/.dockerenv", os.F_OK):
        return "docker"
    return os.environb.get(b"container", b"").decode("utf-8", "replace") or None


def _virtual_machine(cpu: dict[str, object]) -> str | None:
    """Vendor and product of a virtual machine; None for a physical machine."""
    if not cpu["hypervisor"]:
        return None
    names = [_line("/sys/class/dmi/id/sys_vendor"), _line("/sys/class/dmi/id/product_name")]
    return " ".join(name for name in names if name) or "unknown"


def _accelerators() -> list[dict[str, object]]:
    if not os.access("/dev/nvidiactl", os.F_OK):
        return []
    from anubis.agent.observe.nvml import describe_in_fork

    return describe_in_fork()


def _fingerprint_inputs(
    facts: dict[str, object], cpu: dict[str, object], memory: dict[str, object]
) -> dict[str, object]:
    devices = facts["accelerators"]
    assert isinstance(devices, list)
    sizes = [
        size for size in (memory["total_bytes"], memory["limit_bytes"]) if isinstance(size, int) and size
    ]
    return {
        "machine": os.uname().machine,
        "cpu_model": cpu["model"],
        "cpus": cpu["usable"],
        "cpu_limit": cpu["limit"],
        "threads_per_core": cpu["threads_per_core"],
        "memory_class": _memory_class(min(sizes)) if sizes else None,
        "accelerators": [[device.get("name"), device.get("memory_bytes")] for device in devices],
        "container": facts["container"] is not None,
        "virtual": facts["virtual_machine"] is not None,
    }


def _memory_class(size: int) -> int:
    """Twice the binary logarithm, rounded, because kernels report totals that differ by a few MiB."""
    from math import log2

    return round(2 * log2(size))
