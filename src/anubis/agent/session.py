"""``exec``: measures a command, from locking the record to writing its last file, ``exit.json``."""

from __future__ import annotations

import os
import resource
import sys
from json import dumps
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

from anubis.agent.clock import now_s
from anubis.agent.execute import prctl
from anubis.agent.execute.capture import Capture
from anubis.agent.execute.child import CannotStartError
from anubis.agent.execute.execution import Execution, Family
from anubis.agent.execute.limits import Limits
from anubis.agent.execute.padding import offset_of
from anubis.agent.observe.kernel import MemoryGroup, peak_of
from anubis.record import access, layout, liveness
from anubis.record.files import replace
from anubis.record.index_writer import EMIT
from anubis.record.streams import enlarge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.execute.masking import Masker
    from anubis.agent.options import Options
    from anubis.agent.ship import Shipping
    from anubis.agent.sidecars import Sidecars

VERSION = 1
#: Bytes reserved for exit.json at the start, so that it can be written to a full disk.
_RESERVED = 1 << 14
#: Defaults in the environment of the benchmark; descriptor and engine override them.
_DEFAULTS = {
    "BENCHMARK_AI": "fifo",
    "BENCHMARK_AI_FIFO_MAX_WAIT_TIME": "60",
    "ANUBIS_RANK": "0",
    "ANUBIS_WORLD_SIZE": "1",
}


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
    _stop_inheritance()
    access.make_folder(options.record)
    lock = liveness.claim(options.record)
    if lock is None:
        return 0
    session = Session(options, lock)
    try:
        session.measure()
    except Exception as error:  # noqa: BLE001  every run must end with a cause
        import traceback

        from anubis.agent.execute import failure_cause

        traceback.print_exc()
        session.note_cause(failure_cause.INTERNAL, f"The agent failed: {error!r}.")
    return session.close()


def _stop_inheritance() -> None:
    """Keep the benchmark from inheriting the descriptors that the agent inherited, such as the lock of a slot."""
    try:
        names = os.listdir("/dev/fd")
    except OSError:
        return
    for name in names:
        if int(name) > 2:
            try:
                os.set_inheritable(int(name), False)
            except OSError:  # the descriptor of the listing itself
                continue


class Session:
    """The executions of one run and their common result."""

    def __init__(self, options: Options, lock: int) -> None:
        self._options = options
        self._record = options.record
        #: Descriptor of the file that claims the record.
        self._lock = lock
        self._events = access.create(f"{self._record}/{layout.EVENTS}", os.O_WRONLY | os.O_APPEND)
        self._exit = access.create(f"{self._record}/{layout.EXIT}{layout.PART}", os.O_WRONLY | os.O_TRUNC)
        self._started_s = now_s()
        self._masker: Masker | None = None
        if options.masked:
            from anubis.agent.execute.masking import masker_of

            self._masker = masker_of(os.environb, options.masked)
        self._capture = Capture(self._record, self._masker)
        self._family = Family()
        self._sidecars: Sidecars | None = None
        self._shipping: Shipping | None = None
        self._memory = MemoryGroup()
        self._limits = Limits(options)
        self._executions: list[dict[str, object]] = []
        self._cause: str | None = None
        self._reason = ""
        self._fifo = ""
        set_wakeup_fd(self._capture.wake_write, warn_on_full_buffer=False)
        self._write_if_possible(self._exit, b" " * (_RESERVED + 1024 * (options.repeats + options.warmups)))

    def measure(self) -> None:
        """Store the facts, then run the executions until one fails."""
        prctl.adopt_orphans()
        if self._options.ship:
            from anubis.agent.ship import Shipping

            self._shipping = Shipping(self._options, self._family)
        self._store_facts()
        self._open_fifo()
        for repeat in range(-self._options.warmups, self._options.repeats):
            if self._cause is None:
                self._execute(repeat)

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {"version": VERSION, "started_s": self._started_s}
        options = self._options
        facts.update(run_id=options.run_id, command=options.command)
        limits = {"cpus": options.cpus, "gpus": options.gpus, "memory_bytes": options.memory_bytes}
        facts["limits"] = {name: value or None for name, value in limits.items()}
        try:
            from anubis.agent.observe.facts import gather

            facts.update(gather(self._memory, self._options.cwd or os.getcwd()))
        except Exception as error:  # noqa: BLE001  on an unknown system the benchmark can still be measured
            facts["error"] = repr(error)
        return facts

    def note_cause(self, cause: str | None, reason: str) -> None:
        """Set cause and reason unless they are set already."""
        if self._cause is None:
            self._cause, self._reason = cause, reason

    def close(self) -> int:
        """Complete the record and write exit.json; returns the exit code."""
        self._capture.finish()
        sidecars: dict[str, object] = {"extraction": "none", "sampling": "none", "cpu_s": 0.0}
        if self._sidecars or self._options.patterns or any(spool.size for spool in self._capture.spools):
            sidecars = self._ensure_sidecars().finish()
        if self._fifo:
            os.unlink(self._fifo)
        last = self._executions[-1] if self._executions else {}
        code = last.get("code")
        self._check_losses()
        self._note("ended", cause=self._cause, code=code)
        facts = {
            "version": VERSION,
            "code": code,
            "signal": last.get("signal"),
            "cause": self._cause,
            "reason": self._reason,
            "started_s": self._started_s,
            "ended_s": now_s(),
            "executions": self._executions,
            "streams": {s.name: {"bytes": s.size, "lost_bytes": s.lost} for s in self._capture.spools},
            "cgroup_peak_bytes": self._memory.peak_bytes(),
            "extraction": sidecars["extraction"],
            "sampling": sidecars["sampling"],
            "disk_free_bytes": self._disk_free_bytes(),
            "agent": self._own_usage(sidecars["cpu_s"]),
        }
        try:
            self._finish_exit(facts)
        except OSError:  # no space for all executions: the last one explains why the run ended
            self._finish_exit({**facts, "executions": self._executions[-1:]})
        if self._shipping:
            self._shipping.finish(self._capture)
        return code if isinstance(code, int) else 1

    def _execute(self, repeat: int) -> None:
        if not self._may_execute():
            return
        phase = "warmup" if repeat < 0 else "measure"
        self._capture.repeat = repeat
        execution = Execution(self._capture, self._family, phase, repeat)
        self._executions.append(execution.facts)
        kills_before = self._memory.kills()
        try:
            environment = self._environment(repeat)
            offset = 0 if self._options.fixed_layout else offset_of(self._options.seed, repeat)
            execution.start(self._command(environment), environment, self._options.cwd, self._limits, offset)
        except CannotStartError as error:
            from anubis.agent.execute import failure_cause

            execution.give_up()
            execution.facts["code"] = 127
            self.note_cause(
                failure_cause.COMMAND_NOT_FOUND, f"The benchmark was not started: {error.strerror}."
            )
            return
        self._note("execution_started", repeat=repeat, pid=execution.pid)
        self._watch(execution)
        execution.finish(self._options.grace_s)
        self._mask_leftovers(execution)
        self._note(
            "execution_ended",
            repeat=repeat,
            code=execution.facts["code"],
            leftovers=execution.facts["leftovers"],
        )
        self._judge(execution, kills_before)

    def _may_execute(self) -> bool:
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
                self._note("cancelling")
            elif not execution.end_reason and execution.overdue(options.timeout_s):
                execution.end("timeout", options.grace_s)
                self._note("timeout")
            execution.kill_if_due()
            if execution.checks_due() > checks:
                checks = execution.checks_due()
                execution.update_peak()
                self._ensure_sidecars().check(now_s() - self._started_s)
                if self._shipping:
                    self._shipping.check()

    def _judge(self, execution: Execution, kills_before: int | None) -> None:
        code, number = execution.facts["code"], execution.facts["signal"]
        if not execution.end_reason:
            self._check_losses()
            if code == 0:
                return
        from anubis.agent.execute import failure_cause

        if execution.end_reason == "cancelled":
            self.note_cause(failure_cause.CANCELLED, "The run was cancelled.")
        elif execution.end_reason == "timeout":
            limit = f"{self._options.timeout_s:g} s"
            self.note_cause(
                failure_cause.TIMEOUT, f"The benchmark exceeded its timeout of {limit} and was ended."
            )
        elif isinstance(code, int):
            kills = self._memory.kills()
            more = 0 if kills is None or kills_before is None else kills - kills_before
            killed_by = number if isinstance(number, int) else None
            self.note_cause(*failure_cause.judge(code, killed_by, more, self._memory.alone, self._record))

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

    def _command(self, environment: dict[str, str]) -> list[str]:
        """The command with its variables replaced."""
        words = self._options.command
        if not any("$" in word for word in words):
            return words
        from anubis.agent.execute.variables import expand

        masked = self._options.masked.split()  # a command line is visible to every user of the machine
        return expand(words, {name: value for name, value in environment.items() if name not in masked})

    def _environment(self, repeat: int) -> dict[str, str]:
        """The engine's environment plus the variables of the agent; a given BENCHMARK_AI overrides the default."""
        ours = {
            "BENCHMARK_AI_FIFO_FILEPATH": self._fifo,
            "ANUBIS_RECORD": self._record,
            "ANUBIS_RUN_ID": self._options.run_id,
            "ANUBIS_REPEAT": str(repeat),
            "ANUBIS_SEED": str(self._options.seed),
        }
        if self._options.gpus:
            ours["CUDA_VISIBLE_DEVICES"] = "" if self._options.gpus == "none" else self._options.gpus
        coding = sys.getfilesystemencoding()
        given = {
            name.decode(coding, "surrogateescape"): value.decode(coding, "surrogateescape")
            for name, value in os.environb.items()
        }
        return {**_DEFAULTS, **given, **ours}

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

    def _disk_free_bytes(self) -> int:
        """Space available to unprivileged users on the disk of the record."""
        disk = os.statvfs(self._record)
        return disk.f_bavail * disk.f_frsize

    def _own_usage(self, sidecars_cpu_s: object) -> dict[str, object]:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "cpu_s": usage.ru_utime + usage.ru_stime,
            "max_rss_bytes": peak_of(os.getpid()),
            "sidecars_cpu_s": sidecars_cpu_s,
            "python": sys.version.split()[0],
        }

    def _note(self, kind: str, **data: object) -> None:
        self._write_if_possible(
            self._events, dumps({"time_s": now_s(), "event": kind, **data}).encode() + b"\n"
        )

    def _write_if_possible(self, file: int, data: bytes) -> None:
        try:
            os.write(file, data)
        except OSError:  # the loss of output reports a full disk
            pass

    def _store_facts(self) -> None:
        try:
            replace(self._record, layout.FACTS, dumps(self._facts()).encode() + b"\n")
        except OSError:  # the loss of output reports a full disk
            pass

    def _finish_exit(self, facts: dict[str, object]) -> None:
        text = dumps(facts).encode() + b"\n"
        os.pwrite(self._exit, text, 0)
        os.ftruncate(self._exit, len(text))
        os.fsync(self._exit)
        os.rename(f"{self._record}/{layout.EXIT}{layout.PART}", f"{self._record}/{layout.EXIT}")


_ARRIVED: set[int] = set()


def _note_signal(number: int, _frame: object) -> None:
    """Note a signal that arrived; the wake-up pipe ends the current wait."""
    _ARRIVED.add(number)
