import pytest

from anubis.cli.doctor.installation_checks import State
from anubis.cli.doctor.machine_checks import machine_checks

QUIET = {
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "performance\n",
    "sys/devices/system/cpu/intel_pstate/no_turbo": "1\n",
    "proc/loadavg": "0.01 0.02 0.03 1/200 4242\n",
    "proc/stat": "cpu  1000 0 500 90000 10 0 5 0 0 0\ncpu0 1 2 3\n",
    "proc/meminfo": "MemTotal: 1000 kB\nSwapTotal: 2000 kB\nSwapFree: 2000 kB\n",
    "proc/self/cgroup": "0::/user/mine\n",
    "sys/fs/cgroup/user/mine/cpu.max": "max 100000\n",
    "sys/fs/cgroup/user/mine/memory.max": "max\n",
    "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
}


def checks(folder, **changed):
    files = QUIET | {key.replace("|", "/"): text for key, text in changed.items()}
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return {check.name: check for check in machine_checks(folder)}


def test_a_quiet_machine_is_fine(tmp_path):
    found = checks(tmp_path)
    assert {name: check.state for name, check in found.items()} == dict.fromkeys(found, State.OK)
    assert len(found) == 8


@pytest.mark.parametrize(
    ("name", "file", "text", "found"),
    [
        ("governor", "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave", "performance on 1 core, powersave on 1 core"),
        ("turbo", "sys/devices/system/cpu/intel_pstate/no_turbo", "0", "on: the clock rate depends on temperature"),
        ("load", "proc/loadavg", "900.5 1 1 1/2 3", "900.50 on"),
        ("steal", "proc/stat", "cpu  900 0 0 0 0 0 0 100 0 0", "10.0 % of the time since boot"),
        ("swap", "proc/meminfo", "SwapTotal: 2048 kB\nSwapFree: 1024 kB", "1.00 MiB of 2.00 MiB used"),
        ("cpu limit", "sys/fs/cgroup/user/mine/cpu.max", "150000 100000", "1.5 of"),
        ("cpu limit", "sys/fs/cgroup/user/cpu.max", "50000 100000", "0.5 of"),
        ("clock source", "sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet", "hpet"),
    ],
)  # fmt: skip
def test_what_disturbs_is_told_with_a_remedy(tmp_path, name, file, text, found):
    check = checks(tmp_path, **{file: text})[name]
    assert check.state is State.WARN
    assert check.found.startswith(found) or found in check.found
    assert check.remedy


def test_a_memory_limit_is_told(tmp_path):
    limit = "sys/fs/cgroup/user/mine/memory.max"
    assert checks(tmp_path, **{limit: str(2**30)})["memory limit"].found == "1.00 GiB by cgroup"


def test_a_machine_without_any_of_these_files_has_nothing_to_say(tmp_path):
    assert list(machine_checks(tmp_path)) == []
