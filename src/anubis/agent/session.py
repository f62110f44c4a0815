"""``exec``: measures a command, from locking the record to writing its last file, ``exit.json``."""

from __future__ import annotations

import os
import resource
import sys
from json import load
from signal import (
    SIG_IGN,
    SIG_UNBLOCK,
    SIGCHLD,
    SIGHUP,
    SIGINT,
    SIGPIPE,
    SIGTERM,
    pthread_sigmask,
    set_wakeup_fd,
    signal,
)
from time import monotonic_ns

from anubis.agent.clock import now_s
from anubis.agent.execute import prctl
from anubis.agent.execute.capture import Capture
from anubis.agent.execute.child import CannotStartError, stop_inheritance
from anubis.agent.execute.conditions import Conditions
from anubis.agent.execute.environment import command_of, environment_of
from anubis.agent.execute.execution import Execution, Family
from anubis.agent.execute.file_lock import is_locked
from anubis.agent.execute.limits import Limits
from anubis.agent.execute.padding import offset_of
from anubis.agent.observe.energy import Energy
from anubis.agent.observe.kernel import MemoryGroup, peak_of
from anubis.agent.session_files import SessionFiles
from anubis.record import access, layout, liveness
from anubis.record.index_writer import EMIT
from anubis.record.streams import enlarge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Sequence

    from anubis.agent.execute.masking import Masker
    from anubis.agent.execute.warm_up import WarmUp
    from anubis.agent.joint import Joint
    from anubis.agent.options import Options
    from anubis.agent.sandbox.outside import Sandbox
    from anubis.agent.ship import Shipping
    from anubis.agent.sidecars import Sidecars

VERSION = 1
#: How often to try to lock a resource that another agent has.
_LOCK_NS = 5_000_000


def run(options: Options) -> int:
    """Measure the command and write the record; returns the benchmark's exit code, or 0 if another agent has the record."""
    spare = 0
    while spare <= 2:  # the parent may have closed stdin, stdout or stderr
        spare = os.open("/dev/null", os.O_RDWR)
    os.close(spare)
    for number in (SIGHUP, SIGINT, SIGPIPE):  # signals from the terminal do not end the run
        signal(number, SIG_IGN)
    pthread_sigmask(SIG_UNBLOCK, (SIGTERM, SIGCHLD))  # the parent may have blocked them
    for number in (SIGTERM, SIGCHLD):
        signal(number, _note_signal)
    stop_inheritance()
    if options.environment:
        with open(options.environment, encoding="utf-8", errors="surrogateescape") as file:
            os.environ.update(load(file))
    access.make_folder(options.record)
    earlier: list[dict[str, object]] = []
    if options.is_rank:
        from anubis.agent.group import renew

        earlier = renew(options.record)
    lock = liveness.claim(options.record)
    if lock is None:
        return 0
    session = Session(options, lock, earlier)
    try:
        session.measure()
    except Exception as error:  # noqa: BLE001  every run must end with a cause
        import traceback

        from anubis.agent.execute import failure_cause

        traceback.print_exc()
        session.note_cause(failure_cause.INTERNAL, f"The agent failed: {error!r}.")
    return session.close()


class Session:
    """The executions of one run and their common result."""

    def __init__(self, options: Options, lock: int, earlier: list[dict[str, object]]) -> None:
        """``earlier``: executions of agents of this record before."""
        self._options = options
        self._record = options.record
        #: Descriptor of the file that claims the record.
        self._lock = lock
        self._files = SessionFiles(self._record, executions=options.repeats + options.warmups)
        self._started_s = now_s()
        self._masker: Masker | None = None
        if options.masked:
            from anubis.agent.execute.masking import masker_of

            self._masker = masker_of(os.environb, options.masked)
        self._capture = Capture(self._record, self._masker)
        self._family = Family()
        self._sidecars: Sidecars | None = None
        self._shipping: Shipping | None = None
        self._joint: Joint | None = None
        self._memory = MemoryGroup()
        self._conditions = Conditions(options)
        self._limits = Limits(options, self._conditions)
        self._sandbox: Sandbox | None = None
        self._energy = Energy(options.sysfs)
        self._executions = earlier
        self._warm_up: WarmUp | None = None
        if options.until_steady:
            from anubis.agent.execute.warm_up import WarmUp

            self._warm_up = WarmUp(options.warmups)
        self._cause: str | None = None
        self._reason = ""
        self._fifo = ""
        set_wakeup_fd(self._capture.wake_write, warn_on_full_buffer=False)

    def measure(self) -> None:
        """Store the facts, then run the executions until one fails."""
        prctl.adopt_orphans()
        if self._options.sandbox:
            from anubis.agent.sandbox.outside import Sandbox

            self._sandbox = Sandbox(self._options.sandbox)
        if self._options.group:
            from anubis.agent.joint import Joint

            self._joint = Joint(self._options, self._family, self._capture, self.may_execute, self.note_cause)
        if self._options.ship:
            from anubis.agent.ship import Shipping

            self._shipping = Shipping(self._options, self._family)
        self._files.store_facts(self._facts())
        self._open_fifo()
        self._take_locks()
        for repeat in self._repeats():
            if self._cause is None and not (repeat < 0 and self._warm_up and self._warm_up.has_ended):
                self._execute(repeat)
        if self._joint and self._cause is None:
            self._joint.await_others()

    def _repeats(self) -> Sequence[int]:
        """The numbers of the executions; negative in warm-ups."""
        if self._options.is_rank:
            return [int(os.environ.get("ANUBIS_REPEAT", "0"))]
        return range(-self._options.warmups, self._options.repeats)

    def _take_locks(self) -> None:
        """Wait until the resources of this run are free, or the run is cancelled; they are locked until the agent ends."""
        for path in filter(None, self._options.locks.split(":")):
            lock = os.open(path, os.O_RDONLY)
            while self._cause is None and not is_locked(lock) and self.may_execute():
                self._capture.pump(monotonic_ns() + _LOCK_NS)

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {"version": VERSION, "started_s": self._started_s}
        options = self._options
        facts.update(run_id=options.run_id, command=options.command)
        if options.is_rank:
            facts["world_size"] = int(os.environ.get("ANUBIS_WORLD_SIZE", "0"))
        image = {"name": options.image, "digest": options.image_digest or None}
        facts["image"] = image if options.image else None
        limits = {"cpus": options.cpus, "gpus": options.gpus, "memory_bytes": options.memory_bytes}
        facts["limits"] = {name: value or None for name, value in limits.items()}
        try:
            from anubis.agent.observe.facts import gather

            facts["conditions"] = self._conditions.asked
            facts["sandbox"] = self._sandbox.facts() if self._sandbox else None
            cwd = options.cwd or os.getcwd()
            facts.update(gather(self._memory, cwd, self._conditions.missing, bool(self._sandbox)))
        except Exception as error:  # noqa: BLE001  on an unknown system the benchmark can still be measured
            facts["error"] = repr(error)
        return facts

    def note_cause(self, cause: str | None, reason: str) -> None:
        """Set cause and reason unless they are set already."""
        if self._cause is None:
            self._cause, self._reason = cause, reason

    def close(self) -> int:
        """Complete the record and write exit.json; returns the exit code."""
        self._conditions.close()
        if self._sandbox:
            self._sandbox.group.close()
        self._capture.finish()
        sidecars: dict[str, object] = {"extraction": "none", "sampling": "none", "cpu_s": 0.0}
        if self._sidecars or self._options.patterns or any(spool.size for spool in self._capture.spools):
            sidecars = self._ensure_sidecars().finish()
        if self._fifo:
            os.unlink(self._fifo)
        if self._joint:
            self._joint.group.close()
        last = self._executions[-1] if self._executions else {}
        code = last.get("code")
        self._check_losses()
        self._files.note("ended", cause=self._cause, code=code)
        result = {
            "version": VERSION,
            "code": code,
            "signal": last.get("signal"),
            "cause": self._cause,
            "reason": self._reason,
            "started_s": self._started_s,
            "ended_s": now_s(),
            "streams": {s.name: {"bytes": s.size, "lost_bytes": s.lost} for s in self._capture.spools},
            "warm_up": self._warm_up.facts() if self._warm_up else None,
            "cgroup_peak_bytes": self._memory.peak_bytes(),
            "extraction": sidecars["extraction"],
            "sampling": sidecars["sampling"],
            "agent": self._own_usage(sidecars["cpu_s"]),
        }
        self._files.finish(result, self._executions)
        if self._shipping:
            self._shipping.finish(self._capture)
        return code if isinstance(code, int) else 1

    def _execute(self, repeat: int) -> None:
        prepare = self._conditions.drop_caches
        if not self.may_execute() or (self._joint and not self._joint.may_begin(prepare)):
            return
        if not self._joint:
            prepare()
        options = self._options
        phase = "warmup" if repeat < 0 else "measure"
        self._capture.repeat = repeat
        execution = Execution(self._capture, self._family, self._energy, phase, repeat, self._sandbox)
        self._executions.append(execution.facts)
        kills_before = self._kills()
        try:
            environment = environment_of(options, self._fifo, repeat)
            offset = 0 if options.fixed_layout else offset_of(options.seed, repeat)
            execution.start(command_of(options, environment), environment, options.cwd, self._limits, offset)
        except CannotStartError as error:
            from anubis.agent.execute import failure_cause

            execution.give_up()
            execution.facts["code"] = 127
            self.note_cause(
                failure_cause.COMMAND_NOT_FOUND, f"The benchmark was not started: {error.strerror}."
            )
            return
        self._files.note("execution_started", repeat=repeat, pid=execution.pid)
        if self._joint:
            self._joint.group.serve()
        self._watch(execution)
        execution.finish(options.grace_s)
        self._mask_leftovers(execution)
        self._files.note(
            "execution_ended",
            repeat=repeat,
            code=execution.facts["code"],
            leftovers=execution.facts["leftovers"],
        )
        self._judge(execution, kills_before)
        if self._warm_up and repeat < 0 and self._cause is None:
            self._warm_up.note(execution.facts["wall_s"])
            if self._warm_up.has_ended:
                self._files.note("warmed_up", **(self._warm_up.facts() or {}))

    def may_execute(self) -> bool:
        """Whether the run is neither cancelled nor given up by its engine, checked right before each execution."""
        if SIGTERM in _ARRIVED or os.path.lexists(f"{self._record}/{layout.CANCEL}"):
            self.note_cause("cancelled", "The run was cancelled.")
            return False
        if not liveness.holds(self._record, self._lock):
            self.note_cause("lost", "The record was claimed by another process, or its claim was deleted.")
            return False
        return True

    def _watch(self, execution: Execution) -> None:
        options = self._options
        checks = 0
        while execution.alive() and not execution.unkillable():
            self._capture.pump(execution.next_check_ns(options.timeout_s))
            if not execution.end_reason and SIGTERM in _ARRIVED:
                execution.end("cancelled", options.grace_s)
                self._files.note("cancelling")
            elif not execution.end_reason and execution.overdue(options.timeout_s):
                execution.end("timeout", options.grace_s)
                self._files.note("timeout")
            execution.kill_if_due()
            if execution.checks_due() > checks:
                checks = execution.checks_due()
                execution.update_peak()
                self._ensure_sidecars().check(now_s() - self._started_s)
                if self._shipping:
                    self._shipping.check()
                if self._joint:
                    self._joint.check(execution, options.grace_s)

    def _judge(self, execution: Execution, kills_before: int | None) -> None:
        code, number = execution.facts["code"], execution.facts["signal"]
        if not execution.end_reason:
            self._check_losses()
            if code == 0:
                return
        from anubis.agent.execute import failure_cause

        ended_with_us = (
            number == SIGTERM and SIGTERM in _ARRIVED
        )  # a resource manager ends all processes at once
        if execution.end_reason == "cancelled" or (ended_with_us and not execution.end_reason):
            self.note_cause(failure_cause.CANCELLED, "The run was cancelled.")
        elif execution.end_reason == "timeout":
            limit = f"{self._options.timeout_s:g} s"
            self.note_cause(
                failure_cause.TIMEOUT, f"The benchmark exceeded its timeout of {limit} and was ended."
            )
        elif execution.end_reason != "replica" and isinstance(code, int):
            if self._joint:
                self._joint.blame(execution)
            kills = self._kills()
            more = 0 if kills is None or kills_before is None else kills - kills_before
            killed_by = number if isinstance(number, int) else None
            self.note_cause(*failure_cause.judge(code, killed_by, more, self._memory.alone, self._record))

    def _kills(self) -> int | None:
        """Processes that the kernel has killed because memory ran out, of the sandbox or else as ``MemoryGroup`` counts."""
        kills = self._sandbox.group.kills() if self._sandbox else None
        return self._memory.kills() if kills is None else kills

    def _mask_leftovers(self, execution: Execution) -> None:
        """Mask the command lines of leftover processes: a shell may have expanded a secret."""
        leftovers = execution.facts["leftovers"]
        if self._masker and isinstance(leftovers, list):
            for process in leftovers:
                process["command"] = self._masker.mask_text(process["command"])

    def _check_losses(self) -> None:
        if any(spool.lost for spool in self._capture.spools):
            self.note_cause("disk_full", "The disk of the record is full: part of the output was lost.")

    def _ensure_sidecars(self) -> Sidecars:
        """The sidecars, created at the first use."""
        if self._sidecars is None:
            from anubis.agent.sidecars import Sidecars

            self._sidecars = Sidecars(self._options, self._family, self._capture)
        return self._sidecars

    def _open_fifo(self) -> None:
        """Create and open the FIFO in the record, or in a private folder if the file system does not support FIFOs."""
        self._fifo = f"{self._record}/{layout.FIFO}"
        try:
            os.mkfifo(self._fifo)
        except OSError:
            folder = f"{os.environb.get(b'TMPDIR', b'/tmp').decode()}/anubis-{os.urandom(8).hex()}"
            os.mkdir(folder, 0o700)
            self._fifo = f"{folder}/{layout.FIFO}"
            os.mkfifo(self._fifo)
        # Opened for writing too, so that the agent never reads end of file when the last writer closes it.
        fifo = os.open(self._fifo, os.O_RDWR | os.O_NONBLOCK)
        enlarge(fifo)
        self._capture.listen(EMIT, fifo)

    def _own_usage(self, sidecars_cpu_s: object) -> dict[str, object]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "max_rss_bytes": peak_of(os.getpid()),
            "sidecars_cpu_s": sidecars_cpu_s,
            "python": sys.version.split()[0],
        }


_ARRIVED: set[int] = set()


def _note_signal(number: int, _frame: object) -> None:
    """Note a signal that arrived; the wake-up pipe ends the current wait."""
    _ARRIVED.add(number)
