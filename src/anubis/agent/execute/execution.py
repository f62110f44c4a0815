"""One execution of the benchmark, from its start to the end of its last descendant process."""

from __future__ import annotations

import os
import resource
from signal import SIGKILL, SIGTERM
from time import monotonic_ns

from anubis.agent.clock import utc_ns
from anubis.agent.execute import child
from anubis.agent.execute.capture import Capture
from anubis.agent.observe.kernel import peak_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.execute.limits import Limits
    from anubis.agent.observe.energy import Energy
    from anubis.agent.sandbox.outside import Sandbox, Sandboxed

#: Processes that outlive the benchmark have this long to exit by themselves, as ``tee`` does at the end of its input.
_SETTLE_NS = 200_000_000
#: How long to repeat SIGKILL for a process that does not end (in an uninterruptible call to a failed disk).
_KILL_NS = 5_000_000_000
_SECOND_NS = 1_000_000_000
#: How long to send SIGKILL to the processes of a sandbox before all of them are ended at once: then the end of the
#: benchmark is not reported.
_SANDBOX_KILL_NS = 1_000_000_000
#: Number of leftover processes that exit.json describes.
_MOST_LEFTOVERS = 20
#: How often a running execution is checked.
CHECK_NS = _SECOND_NS // 2
#: ru_maxrss is in bytes on macOS and in KiB elsewhere; only the name of the system distinguishes them.
_RSS_UNIT = 1 if os.uname().sysname == "Darwin" else 1024


class Family:
    """The child processes of the agent: its sidecars, and the rusage of the children that ended."""

    def __init__(self) -> None:
        #: Process ids of sidecars, which do not belong to the benchmark.
        self.sidecar_pids: set[int] = set()
        #: Children reaped so far: (status, user s, system s, peak bytes, monotonic ns).
        self.ended: dict[int, tuple[int, float, float, int, int]] = {}
        #: The running execution in a sandbox; None: without a sandbox.
        self.sandboxed: Sandboxed | None = None

    def reap(self) -> bool:
        """Collect the processes that ended; returns False when no child is left."""
        has_children = self._reap_children()
        if self.sandboxed:
            self.ended.update(self.sandboxed.ended())
            if self.sandboxed.monitor in self.ended and self.sandboxed.pid not in self.ended:
                _, *usage = self.ended[self.sandboxed.monitor]  # the sandbox was killed as a whole
                self.ended[self.sandboxed.pid] = (SIGKILL, *usage)  # type: ignore[assignment]
        return has_children

    def _reap_children(self) -> bool:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            self.ended[pid] = (
                status,
                usage.ru_utime,
                usage.ru_stime,
                usage.ru_maxrss * _RSS_UNIT,
                monotonic_ns(),
            )

    def forget(self, pid: int) -> bool:
        """Remove a child that has ended, since its process id may be reused; returns whether it has ended."""
        if self.ended.pop(pid, None) is None:
            return False
        self.sidecar_pids.discard(pid)
        return True

    def benchmark_pids(self) -> list[int]:
        """Living descendants that are not sidecars; reads /proc only if the agent has a child."""
        if not self.reap():
            return []
        from anubis.agent import process_tree

        if self.sandboxed:
            return process_tree.descendants(self.sandboxed.init, set())
        return process_tree.descendants(os.getpid(), self.sidecar_pids)

    def signal_benchmark(self, group: int, number: int) -> None:
        """Send a signal to all of them, and to a process group unless its leader has been reaped: the id of the group
        may then be reused.
        """
        from anubis.agent import process_tree

        pids = self.benchmark_pids()
        process_tree.signal_all(pids, 0 if group in self.ended else group, number)


class Execution:
    """Runs the command once. ``facts`` becomes its entry in exit.json."""

    def __init__(  # noqa: PLR0917  called once
        self,
        capture: Capture,
        family: Family,
        energy: Energy,
        phase: str,
        repeat: int,
        sandbox: Sandbox | None = None,
    ) -> None:
        self._capture = capture
        self._energy = energy
        self._family = family
        self._sandbox = sandbox
        self.facts: dict[str, object] = {"phase": phase, "repeat": repeat, "code": None, "signal": None}
        self.facts["offsets"] = {spool.name: [spool.size, None] for spool in capture.spools}
        #: Why the agent ended it; empty if it did not.
        self.end_reason = ""
        self.pid = 0
        self._start_ns = 0
        self._peak = 0
        self._kill_at = 0
        self._reap_at = 0

    def start(
        self,
        command: list[str],
        environment: dict[str, str],
        cwd: str,
        limits: Limits,
        layout_offset: int,
    ) -> None:
        """Start the command. Raises child.CannotStartError."""
        self.facts["layout_offset"] = layout_offset
        outputs = self._capture.open_outputs()
        self._energy.start()
        try:
            if self._sandbox:
                started = self._sandbox.start(
                    command, environment, outputs, cwd, limits, layout_offset, self._capture.wake_write
                )
                self._family.sandboxed = started
                self._family.sidecar_pids.add(started.monitor)
                self.pid, self._start_ns = started.pid, started.start_ns
            else:
                self.pid, self._start_ns = child.start(
                    command, environment, outputs, cwd, limits, layout_offset
                )
        finally:
            for end in outputs:
                os.close(end)
        self._family.forget(self.pid)
        self.facts["started_s"] = utc_ns(self._start_ns) / 1e9

    def alive(self) -> bool:
        """Whether it still runs. Reaps children after a signal, and at least once a second."""
        now = monotonic_ns()
        if self.pid not in self._family.ended and (self._capture.woken or now >= self._reap_at):
            self._capture.woken = False
            self._reap_at = now + _SECOND_NS
            self._family.reap()
        return self.pid not in self._family.ended

    def update_peak(self) -> None:
        """Update its peak memory and its energy; called at each check."""
        self._energy.update()
        self._peak = max(self._peak, peak_of(self.pid) or 0)

    def checks_due(self) -> int:
        """Number of periods of CHECK_NS since its start."""
        return (monotonic_ns() - self._start_ns) // CHECK_NS

    def overdue(self, timeout_s: float) -> bool:
        """Whether it has run longer than its timeout."""
        return monotonic_ns() - self._start_ns > timeout_s * 1e9

    def end(self, why: str, grace_s: float) -> None:
        """Send SIGTERM to the whole tree; ``kill_if_due`` kills it after the grace period."""
        self.end_reason = why
        self._kill_at = monotonic_ns() + int(grace_s * 1e9)
        self._family.signal_benchmark(self.pid, SIGTERM)

    def kill_if_due(self) -> None:
        """Kill the tree once the grace period is over; repeated, since the tree may grow meanwhile."""
        if self._kill_at and monotonic_ns() >= self._kill_at:
            self._family.signal_benchmark(self.pid, SIGKILL)
            if self._family.sandboxed and (
                self.pid in self._family.ended or monotonic_ns() >= self._kill_at + _SANDBOX_KILL_NS
            ):
                self._family.sandboxed.kill()

    def next_check_ns(self, timeout_s: float) -> int:
        """Monotonic time in ns of the next event: the timeout, the end of the grace period, or the next check."""
        now = monotonic_ns()
        due = [now + CHECK_NS - (now - self._start_ns) % CHECK_NS]
        if self._kill_at:
            due.append(max(self._kill_at, now + _SECOND_NS // 20))
        else:
            due.append(self._start_ns + int(timeout_s * 1e9) + 1)
        return min(due)

    def unkillable(self) -> bool:
        """Whether it is still running seconds after SIGKILL: it is in an uninterruptible call (to a failed disk)."""
        return bool(self._kill_at) and monotonic_ns() > self._kill_at + _KILL_NS

    def finish(self, grace_s: float) -> None:
        """After its exit: end its leftover processes, read the rest of its output, record its resource usage."""
        ended_ns = self._family.ended[self.pid][4] if self.pid in self._family.ended else monotonic_ns()
        self.facts["energy"] = self._energy.stop()
        self.facts["leftovers"] = self._end_leftovers(grace_s)
        if self._family.sandboxed:
            self._close_sandbox(self._family.sandboxed)
        self._capture.close_outputs()
        rows = {pid: row for pid, row in self._family.ended.items() if pid not in self._family.sidecar_pids}
        for pid in rows:
            del self._family.ended[pid]
        if self.pid in rows:
            status = rows[self.pid][0]
            signal = os.WTERMSIG(status) if os.WIFSIGNALED(status) else None
            self.facts["signal"] = signal
            self.facts["code"] = 128 + signal if signal else os.WEXITSTATUS(status)
        self.facts["ended_s"] = utc_ns(ended_ns) / 1e9
        self.facts["wall_s"] = (ended_ns - self._start_ns) / 1e9
        self.facts["user_s"] = sum(row[1] for row in rows.values())
        self.facts["system_s"] = sum(row[2] for row in rows.values())
        self._state_peak(max((row[3] for row in rows.values()), default=0))
        self._note_offsets()

    def give_up(self) -> None:
        """Close the files of an execution that could not be started."""
        self._capture.close_outputs()
        self._note_offsets()

    def _note_offsets(self) -> None:
        offsets = {spool.name: spool.size for spool in self._capture.spools}
        before: object = self.facts["offsets"]
        assert isinstance(before, dict)
        self.facts["offsets"] = {name: [before[name][0], size] for name, size in offsets.items()}

    def _state_peak(self, peak: int) -> None:
        """Record the peak memory. After fork, ru_maxrss of a child starts at the agent's size: up to it, VmHWM is used."""
        floor = peak_of(os.getpid()) or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
        source = "rusage" if peak > floor else "VmHWM" if self._peak else None
        self.facts["peak_memory_bytes"] = {"rusage": peak, "VmHWM": self._peak}.get(source or "")
        self.facts["peak_memory_source"] = source

    def _end_leftovers(self, grace_s: float) -> list[dict[str, object]]:
        """End the processes that still run; returns their ids and command lines."""
        if not self._wait_for_processes(monotonic_ns() + _SETTLE_NS):
            return []
        from anubis.agent import process_tree

        pids = self._family.benchmark_pids()
        leftovers: list[dict[str, object]] = [
            {"pid": pid, "command": process_tree.command_line(pid)} for pid in pids[:_MOST_LEFTOVERS]
        ]
        if not self.end_reason:
            self._kill_at = monotonic_ns() + int(grace_s * 1e9)
            process_tree.signal_all(pids, 0, SIGTERM)
        self._wait_for_processes(self._kill_at)
        while not self.unkillable() and self._family.benchmark_pids():
            self.kill_if_due()
            self._capture.pump(monotonic_ns() + _SECOND_NS // 100)
        return leftovers

    def _close_sandbox(self, sandboxed: Sandboxed) -> None:
        """Wait for the end of bubblewrap, which follows that of the last process in the sandbox."""
        until = monotonic_ns() + _KILL_NS
        while sandboxed.monitor not in self._family.ended and monotonic_ns() < until:
            self._capture.pump(monotonic_ns() + _SECOND_NS // 100)
            if monotonic_ns() > until - _KILL_NS // 2:
                sandboxed.kill()
            self._family.reap()
        self._family.sandboxed = None
        self._family.forget(sandboxed.monitor)
        sandboxed.close()

    def _wait_for_processes(self, until_ns: int) -> bool:
        """Capture output until no descendant is left or the time is reached; returns whether one is left."""
        while self._family.benchmark_pids():
            now = monotonic_ns()
            if now >= until_ns:
                return True
            self._capture.pump(min(until_ns, now + _SECOND_NS // 50))
        return False
