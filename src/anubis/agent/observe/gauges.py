"""Values that the sampler reads once a second: counters of the machine and of the benchmark's process tree."""

from __future__ import annotations

import os
import time

from anubis.agent import process_tree
from anubis.agent.observe.kernel import folder, read
from anubis.record import liveness

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_NAN = float("nan")
#: CPU states of /proc/stat (proc(5)) that are recorded, by position.
_CPU_STATES = {"user": 0, "nice": 1, "system": 2, "idle": 3, "iowait": 4, "steal": 7}

#: Name and unit of every column. Counters are recorded as rates over the interval; cpu_* ratios are of all CPUs together.
COLUMNS = [
    *((f"cpu_{state}", "ratio") for state in _CPU_STATES),
    ("cpu_pressure", "ratio"),
    ("memory_pressure", "ratio"),
    ("io_pressure", "ratio"),
    ("cpu_hz", "Hz"),
    ("throttle_events", "1/s"),
    ("group_throttled", "ratio"),
    ("load1", "1"),
    ("runnable", "1"),
    ("context_switches", "1/s"),
    ("memory_available", "B"),
    ("memory_dirty", "B"),
    ("swap_used", "B"),
    ("swap_in", "B/s"),
    ("swap_out", "B/s"),
    ("disk_read", "B/s"),
    ("disk_written", "B/s"),
    ("network_received", "B/s"),
    ("network_sent", "B/s"),
    ("tree_processes", "1"),
    ("tree_threads", "1"),
    ("tree_cpus", "1"),
    ("tree_memory", "B"),
    ("tree_read", "B/s"),
    ("tree_written", "B/s"),
    ("others_cpus", "1"),
]


class Gauges:
    """Reads the gauges from /proc and /sys; keeps the counters of the last sample to compute rates."""

    def __init__(
        self, agent: int, record: str, peers: Sequence[str] = (), *, sandboxed: bool = False
    ) -> None:
        """``peers``: records of other replicas of the run, whose processes are not others."""
        self._sandboxed = sandboxed
        self._agent = agent
        self._record = os.fsencode(record)
        self._peers = peers
        self._group = folder("cpu", "cpu.stat")[0]
        self._last: dict[str, float] = {}
        self._values: dict[str, float] = {}
        self._at = 0.0
        self._elapsed = 0.0
        self.sample()

    def sample(self) -> list[float]:
        """One value for each of COLUMNS; rates are NaN in the first sample."""
        now = time.monotonic()
        self._elapsed, self._at = now - self._at, now
        self._values = {}
        self._machine_cpu()
        self._pressure()
        self._clock()
        self._memory()
        self._traffic()
        self._tree()
        return [self._values.get(name, _NAN) for name, _ in COLUMNS]

    def _rate(self, name: str, counter: float, scale: float = 1.0) -> None:
        last = self._last.get(name)
        self._last[name] = counter
        if last is not None and self._elapsed > 0:  # a sum decreases when a process ends
            self._values[name] = max(0.0, counter - last) * scale / self._elapsed

    def _machine_cpu(self) -> None:
        text = read("/proc/stat", 1 << 18)
        for line in text.splitlines():
            name, _, rest = line.partition(" ")
            if name == "cpu":
                counts = [int(word) for word in rest.split()]
                for state, position in _CPU_STATES.items():
                    if position < len(counts):
                        self._rate(
                            f"cpu_{state}", counts[position], 1 / (_TICKS_PER_S * (os.cpu_count() or 1))
                        )
                self._rate("_busy", sum(counts[:3]) + sum(counts[5:7]), 1 / _TICKS_PER_S)
            elif name == "ctxt":
                self._rate("context_switches", int(rest))
            elif name == "procs_running":
                self._values["runnable"] = int(rest)
        self._values["load1"] = os.getloadavg()[0]

    def _pressure(self) -> None:
        """Share of the time in which at least one task waited (PSI, "some")."""
        for name in ("cpu", "memory", "io"):
            words = read(f"/proc/pressure/{name}").split()
            if words and words[0] == "some":
                self._rate(f"{name}_pressure", int(words[4].partition("=")[2]), 1e-6)

    def _clock(self) -> None:
        cpus = "/sys/devices/system/cpu"
        speeds, throttles = [], []
        for number in range(os.cpu_count() or 1):
            speed = read(f"{cpus}/cpu{number}/cpufreq/scaling_cur_freq").strip()
            if not speed and number == 0:
                break  # no cpufreq (a virtual machine): skip the other CPUs
            speeds.append(int(speed or 0) * 1000)
            throttles.append(
                int(read(f"{cpus}/cpu{number}/thermal_throttle/core_throttle_count").strip() or 0)
            )
        if speeds:
            self._values["cpu_hz"] = sum(speeds) / len(speeds)
            self._rate("throttle_events", sum(throttles))
        for line in read(self._group + "/cpu.stat").splitlines() if self._group else []:
            name, _, count = line.partition(" ")
            if name in {"throttled_usec", "throttled_time"}:
                self._rate("group_throttled", int(count), 1e-6 if name == "throttled_usec" else 1e-9)

    def _memory(self) -> None:
        sizes = {}
        for line in read("/proc/meminfo").splitlines():
            name, _, value = line.partition(":")
            sizes[name] = int(value.split()[0]) * 1024
        if "MemAvailable" in sizes:
            self._values["memory_available"] = sizes["MemAvailable"]
            self._values["memory_dirty"] = sizes["Dirty"]
            self._values["swap_used"] = sizes["SwapTotal"] - sizes["SwapFree"]
        for line in read("/proc/vmstat").splitlines():
            name, _, count = line.partition(" ")
            if name in {"pswpin", "pswpout"}:
                self._rate("swap_in" if name == "pswpin" else "swap_out", int(count), _PAGE_BYTES)

    def _traffic(self) -> None:
        disks, links = read("/proc/diskstats").splitlines(), read("/proc/net/dev").splitlines()[2:]
        got = put = 0
        for line in disks:
            words = line.split()
            if os.path.exists(f"/sys/block/{words[2]}/device"):  # without partitions, which would count twice
                got += int(words[5]) * 512
                put += int(words[9]) * 512
        if disks:
            self._rate("disk_read", got)
            self._rate("disk_written", put)
        got = put = 0
        for line in links:
            name, _, rest = line.partition(":")
            if name.strip() != "lo":
                got += int(rest.split()[0])
                put += int(rest.split()[8])
        if links:
            self._rate("network_received", got)
            self._rate("network_sent", put)

    def _tree(self) -> None:
        """The processes of the benchmark: descendants of the agent without its sidecars."""
        rows = process_tree.table()
        if self._agent not in rows:
            return
        sidecars = {
            pid for pid, fields in rows.items() if int(fields[1]) == self._agent and self._is_sidecar(pid)
        }
        members = process_tree.descendants(self._agent, sidecars, rows)
        if self._sandboxed:  # without bubblewrap and the first process of the sandbox
            parents = {self._agent, *(pid for pid in members if int(rows[pid][1]) == self._agent)}
            members = [pid for pid in members if int(rows[pid][1]) not in parents]
        ticks = sum(int(count) for count in rows[self._agent][13:15])  # of what the agent has reaped
        threads = pages = got = put = 0
        for pid in members:
            fields = rows[pid]
            ticks += sum(int(count) for count in fields[11:15])
            threads += int(fields[17])
            pages += int(fields[21])
            for line in read(f"/proc/{pid}/io").splitlines():
                name, _, count = line.partition(": ")
                got += int(count) if name == "read_bytes" else 0
                put += int(count) if name == "write_bytes" else 0
        self._values.update(
            tree_processes=len(members), tree_threads=threads, tree_memory=pages * _PAGE_BYTES
        )
        self._rate("tree_cpus", ticks, 1 / _TICKS_PER_S)
        self._rate("tree_read", got)
        self._rate("tree_written", put)
        agent_ticks = sum(int(count) for pid in (self._agent, *sidecars) for count in rows[pid][11:13])
        self._rate("_agent", agent_ticks, 1 / _TICKS_PER_S)
        busy, tree_cpus, agent_cpus = (self._values.get(name) for name in ("_busy", "tree_cpus", "_agent"))
        if busy is not None and tree_cpus is not None and agent_cpus is not None:
            self._values["others_cpus"] = max(0.0, busy - tree_cpus - agent_cpus - self._peer_cpus(rows))

    def _peer_cpus(self, rows: dict[int, list[bytes]]) -> float:
        """Processors that the other replicas of the run use."""
        ticks = 0
        for record in self._peers:
            pid = liveness.agent_of(record)
            if pid in rows:
                members = [pid, *process_tree.descendants(pid, set(), rows)]
                ticks += sum(int(count) for each in members for count in rows[each][11:15])
        self._rate("_peers", ticks, 1 / _TICKS_PER_S)
        return self._values.get("_peers", 0.0)

    def _is_sidecar(self, pid: int) -> bool:
        """Whether a child of the agent is a sidecar, started for the same record."""
        try:
            with open(f"/proc/{pid}/cmdline", "rb", buffering=0) as file:
                return b"\0--record\0" + self._record + b"\0" in file.read(65_536)
        except OSError:  # it ended meanwhile
            return False
