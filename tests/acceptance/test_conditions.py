"""The conditions of ``[measure]``: what applies is recorded, what does not is said, and the machine is put back."""

import json
import os
import signal
from pathlib import Path

import pytest

from anubis.agent.execute import conditions as module
from anubis.agent.execute import governor
from anubis.agent.execute.conditions import Conditions, numbers, one_of_each_core
from anubis.agent.options import Options
from anubis.pipeline.host.resources import FOLDER
from support.agents import Agents, python
from support.processes import until

SHOWN = "import os; print('cpus', *sorted(os.sched_getaffinity(0))); print('nice', os.getpriority(os.PRIO_PROCESS, 0))"


@pytest.fixture
def agents(tmp_path):
    return Agents(tmp_path)


@pytest.fixture
def machine(tmp_path):
    """A machine with four CPUs in two cores and their governors."""
    for number in range(4):
        cpu = tmp_path / f"sys/devices/system/cpu/cpu{number}"
        (cpu / "cpufreq").mkdir(parents=True)
        (cpu / "cpufreq/scaling_governor").write_text("powersave\n")
        (cpu / "topology").mkdir()
        (cpu / "topology/thread_siblings_list").write_text("0,2\n" if number % 2 == 0 else "1,3\n")
    (tmp_path / "state").mkdir()
    return tmp_path


def governors(machine):
    return {
        path.read_text().strip() for path in machine.glob("sys/devices/system/cpu/*/cpufreq/scaling_governor")
    }


def conditions(agents):
    return json.loads((agents.record / "facts.json").read_text())["conditions"]


def output(agents):
    return (agents.record / "stdout").read_text()


def test_the_benchmark_is_pinned_and_has_its_priority(agents):
    last = max(os.sched_getaffinity(0))
    agents.measure("--pin", str(last), "--nice", 3, command=python(SHOWN))
    assert f"cpus {last}\n" in output(agents)
    before = os.getpriority(os.PRIO_PROCESS, 0)
    assert f"nice {max(3, before)}\n" in output(agents) or "nice 3\n" in output(agents)
    assert conditions(agents)["pin"] == {"asked": str(last), "why": None, "cpus": [last]}


def test_cpus_that_the_run_may_not_use_are_recorded_as_missing(agents):
    facts = agents.measure("--pin", "9000-9001", command=python(SHOWN))
    assert facts["cause"] is None
    assert conditions(agents)["pin"]["why"] == "the run may not use these CPUs: 9000, 9001"
    inputs = json.loads((agents.record / "facts.json").read_text())["fingerprint_inputs"]
    assert inputs["missing_conditions"] == ["pin"], "its points are not compared with those of pinned runs"


def test_auto_takes_one_cpu_of_each_core(machine):
    assert one_of_each_core({0, 1, 2, 3}, str(machine / "sys")) == {0, 1}
    assert one_of_each_core({0, 1, 2, 3, 4, 5}, str(machine / "none")) == {1, 2, 3, 4, 5}, (
        "the core of CPU 0 is spared"
    )
    assert numbers("0-2,5") == {0, 1, 2, 5}


MEMORY = "print(open('/proc/self/numa_maps').readlines()[-1].split()[1])"


@pytest.mark.skipif(
    not Path("/sys/devices/system/node/node0").exists(), reason="the kernel has no NUMA nodes"
)
def test_the_benchmark_has_the_cpus_and_the_memory_of_its_node(agents):
    agents.measure("--numa", 0, command=python(f"{SHOWN}; {MEMORY}"))
    assert conditions(agents)["numa"]["why"] is None
    cpus = conditions(agents)["numa"]["cpus"]
    assert f"cpus {' '.join(map(str, cpus))}\n" in output(agents)
    assert output(agents).endswith("bind:0\n")


def test_a_node_that_is_not_there_is_missing_with_the_nodes_that_are(agents, machine):
    for node in (0, 2):
        folder = machine / f"sys/devices/system/node/node{node}"
        folder.mkdir(parents=True)
        (folder / "cpulist").write_text("")
    agents.measure("--numa", 7, "--sysfs", machine / "sys", command=python(SHOWN))
    why = conditions(agents)["numa"]["why"]
    assert why == "this machine has no NUMA node 7; set numa to one of its nodes: 0, 2"


def test_a_node_without_cpus_is_missing(machine):
    folder = machine / "sys/devices/system/node/node1"
    folder.mkdir(parents=True)
    (folder / "cpulist").write_text("\n")
    applied = asking(numa=1, sysfs=str(machine / "sys"))
    assert (applied.cpus, applied.numa, applied.missing) == (set(), None, ["numa"])
    assert applied.asked["numa"]["why"] == "the run may use none of the CPUs of node 1 (it has only memory)"


def test_the_governor_is_set_for_the_run_and_put_back(agents, machine):
    shown = f"cat {machine}/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    words = ("--governor", "performance", "--sysfs", machine / "sys", "--machine-state", machine / "state")
    agents.measure(*words, command=["sh", "-c", shown])
    assert output(agents) == "performance"
    assert governors(machine) == {"powersave"}
    assert conditions(agents)["governor"] == {"asked": "performance", "why": None}
    assert [path.name for path in (machine / "state").iterdir()] == [governor.LOCK]


def test_a_governor_that_cannot_be_set_is_missing(agents, machine):
    words = ("--governor", "performance", "--sysfs", machine / "none", "--machine-state", machine / "state")
    agents.measure(*words, command=["true"])
    assert "has no frequency governors" in conditions(agents)["governor"]["why"]


def test_two_runs_do_not_change_the_governor_at_once(machine):
    first = governor.Governor(str(machine / "state"), "performance", str(machine / "sys"))
    second = governor.Governor(str(machine / "state"), "schedutil", str(machine / "sys"))
    assert (first.why, second.why) == ("", "another run has set the governor of this machine")
    assert not governor.put_back_left(str(machine / "state"), str(machine / "sys")), (
        "the first one still holds it"
    )
    first.close()
    assert governors(machine) == {"powersave"}


@pytest.mark.parametrize("by", ["the next agent", "doctor"])
def test_a_killed_agent_leaves_the_governor_to_the_next(agents, machine, tmp_path, by):
    words = ("--sysfs", machine / "sys", "--machine-state", machine / "state")
    process = agents.start("--governor", "performance", *words, command=["sleep", "60"])
    until(lambda: governors(machine) == {"performance"}, "the governor is set")
    until((agents.record / "facts.json").exists, "the benchmark may run")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert governors(machine) == {"performance"}
    if by == "doctor":
        until(
            lambda: governor.put_back_left(str(machine / "state"), str(machine / "sys")), "its lock is free"
        )
    else:
        until(lambda: not locked(machine), "its lock is free")
        (tmp_path / "other").mkdir()
        other = Agents(tmp_path / "other")
        other.measure(*words, command=["true"])
    assert governors(machine) == {"powersave"}


def test_the_engine_puts_back_what_a_killed_agent_left(anubis):
    left = anubis.home / FOLDER / governor.STATE
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    assert anubis("run", anubis.write("next.toml", "echo 1")).returncode == 0
    assert not left.exists()


def asking(**asked):
    """The conditions of an agent with these options."""
    options = Options(["--record", "unused"])
    for name, value in asked.items():
        setattr(options, name, value)
    return Conditions(options)


def test_caches_are_dropped_before_each_execution(tmp_path, monkeypatch):
    caches = tmp_path / "drop_caches"
    caches.touch()
    monkeypatch.setattr(module, "_CACHES", str(caches))
    applied = asking(drop_caches=True)
    applied.drop_caches()
    applied.drop_caches()
    assert caches.read_text() == "3\n3\n"
    assert applied.missing == []


def test_caches_that_cannot_be_dropped_are_recorded_as_missing(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_CACHES", str(tmp_path / "none"))
    applied = asking(drop_caches=True)
    applied.drop_caches()
    assert applied.missing == ["drop_caches"]
    assert applied.asked["drop_caches"]["why"] == f"{tmp_path}/none: No such file or directory"


def test_a_higher_priority_is_tried_and_put_back(monkeypatch):
    calls = []
    monkeypatch.setattr(os, "setpriority", lambda *words: calls.append(words[2]))
    before = os.getpriority(os.PRIO_PROCESS, 0)
    applied = asking(nice=before - 1)
    assert (applied.nice, applied.missing, calls) == (before - 1, [], [before - 1, before])


def test_a_higher_priority_without_rights_is_recorded_as_missing(monkeypatch):
    def refused(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "setpriority", refused)
    applied = asking(nice=os.getpriority(os.PRIO_PROCESS, 0) - 1)
    assert (applied.nice, applied.missing) == (0, ["nice"])
    assert applied.asked["nice"]["why"] == "a higher priority needs rights: Permission denied"


def locked(machine):
    lock = os.open(machine / "state" / governor.LOCK, os.O_RDWR)
    try:
        return not governor.is_locked(lock)
    finally:
        os.close(lock)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"/devices/../../etc/passwd": "x"}', '{"/x": 5}'])
def test_a_damaged_state_changes_nothing(machine, text):
    (machine / "state" / governor.STATE).write_text(text)
    assert governor.put_back_left(str(machine / "state"), str(machine / "sys"))
    assert governors(machine) == {"powersave"}


def test_a_condition_that_did_not_apply_is_shown(anubis):
    file = anubis.write("pinned.toml", "echo 1", more='[measure]\npin = "9000"\nnice = 1')
    shown = anubis("run", file)
    assert shown.returncode == 0, shown.stderr
    assert "note: measure.pin did not apply: the run may not use these CPUs: 9000" in shown.stdout


FASTER = """
import pathlib, time
count = pathlib.Path("{count}")
number = len(count.read_text()) if count.exists() else 0
count.write_text("x" * (number + 1))
time.sleep(max(0.1, 0.6 - 0.1 * number))
"""


def test_a_warm_up_lasts_until_the_benchmark_is_steady(agents, tmp_path):
    code = FASTER.format(count=tmp_path / "count")
    facts = agents.measure("--warmups", 30, "--until-steady", "--repeats", 2, command=python(code))
    warm_up = facts["warm_up"]
    assert warm_up["is_steady"], warm_up
    assert warm_up["executions"] > 5
    phases = [one["phase"] for one in facts["executions"]]
    assert phases == ["warmup"] * warm_up["executions"] + ["measure"] * 2
    assert [one["repeat"] for one in facts["executions"]][-2:] == [0, 1]
    (event,) = [event for event in agents.events() if event["event"] == "warmed_up"]
    assert (event["executions"], event["is_steady"]) == (warm_up["executions"], True)


def test_a_benchmark_that_fails_in_its_warm_up_has_no_end_of_it(agents):
    facts = agents.measure("--warmups", 30, "--until-steady", command=["false"])
    assert (facts["warm_up"], len(facts["executions"])) == (None, 1)


# Three levels of four executions each, 200 ms apart: no window has one level, and other load hides no step.
UNSTEADY = """
n=$(cat {count}); echo $((n + 1)) > {count}
sleep 0.$(printf %03d $((n / 4 % 3 * 200)))
echo value=1
"""


def test_a_run_without_a_steady_state_says_so(anubis, tmp_path):
    (tmp_path / "count").write_text("0\n")
    (tmp_path / "unsteady.sh").write_text(UNSTEADY.format(count=tmp_path / "count"))
    file = anubis.write("unsteady.toml", f"sh {tmp_path}/unsteady.sh", more='[measure]\nwarmups = "auto"')
    shown = anubis("run", file)
    assert shown.returncode == 0, shown.stderr
    assert "note: no steady state after 30 warm-ups" in " ".join(shown.stdout.split())
    assert "no steady state after 30 warm-ups" in " ".join(anubis("show", "@last").stdout.split())
    assert len(anubis.json("show", "@last")["exit"]["executions"]) == 31
    assert anubis("run", file, "--set", "measure.warmups=0").returncode == 0
    ids = [run["id"] for run in anubis.json("history")]
    compared = anubis("compare", ids[1], ids[0])
    assert "no steady state in the warm-ups of 1 of the runs" in " ".join(compared.stderr.split())


def test_energy_is_counted_for_every_execution_and_unknown_without_counters(agents, machine):
    zone = machine / "sys/class/powercap/intel-rapl:0"
    zone.mkdir(parents=True)
    (zone / "name").write_text("package-0\n")
    (zone / "energy_uj").write_text("999000000\n")
    (zone / "max_energy_range_uj").write_text("1000000000\n")
    used = f"echo 1000000 > {zone}/energy_uj"
    facts = agents.measure("--sysfs", machine / "sys", "--repeats", 2, command=["sh", "-c", used])
    assert [one["energy"] for one in facts["executions"]] == [
        {"cpu_j": 2.0, "why": None},
        {
            "cpu_j": None,
            "why": "the energy counters (RAPL) did not change: the execution was too short for them",
        },
    ]
