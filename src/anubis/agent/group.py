"""The other replicas of a run, as the agent of one of them sees them: through their records.

The agent of the measured replica waits until the others are ready, and ends the run if one of them fails. All other agents
end when the measured one has ended. So no replica outlives its run, even if no process drives the run any more.

On one machine, the kernel knows whether an agent runs. On several, only what an agent has written is known: the resource
manager ends the others when one vanishes.
"""

from __future__ import annotations

import os
from json import load
from signal import SIGKILL
from time import monotonic_ns

from anubis.record import access, layout, liveness
from anubis.record.files import FolderFiles, read_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Mapping

    from anubis.agent.execute.execution import Family
    from anubis.agent.options import Options

    #: Cause and reason of a failure.
    Failure = tuple[str, str]

SERVER_NOT_READY, SERVER_ENDED, SERVER_UNHEALTHY = "server_not_ready", "server_ended", "server_unhealthy"
CANCELLED, LOST, TIMEOUT, USER_ERROR = "cancelled", "lost", "timeout", "user_error"
#: An agent that has not appeared after this time did not start, seconds.
APPEAR_S = 60.0
#: The agent of a server reports itself that it is not ready in time; this much later it is assumed to be stopped.
_LATE_S = 30.0
#: How long the agent of a replica that failed waits for the report of another one that failed before it, seconds.
_BLAME_S = 2.0
_LONGEST_REASON = 4096


class Peer:
    """Another replica."""

    def __init__(
        self,
        name: str,
        record: str,
        is_service: bool = False,
        ready_within_s: float = 0.0,
        is_here: bool = True,
    ) -> None:
        """``is_here``: it is on this machine."""
        self.name = name
        self.record = record
        self._is_here = is_here
        self.is_service = is_service
        self.ready_within_s = ready_within_s

    def exit(self) -> Mapping[str, Any]:
        """Its result; empty before it has one."""
        return read_json(FolderFiles(self.record), layout.EXIT)

    def has_ended(self) -> bool:
        """Whether its agent has ended or must end, or its claim was revoked."""
        if self._is_here:
            return liveness.state(self.record) not in (liveness.ABSENT, liveness.ALIVE)
        return (
            bool(self.exit())
            or liveness.is_revoked(self.record)
            or os.path.lexists(f"{self.record}/{layout.CANCEL}")
        )

    def is_absent(self) -> bool:
        """Whether its agent has not started."""
        if self._is_here:
            return liveness.state(self.record) == liveness.ABSENT
        _refresh(self.record)
        return not os.path.lexists(f"{self.record}/{layout.ALIVE}")

    def must_have_appeared(self) -> bool:
        """Whether its agent did not start if it is absent now. On another machine, a long preparation may precede it."""
        return self._is_here and self.is_absent()

    def failure(self, must_have_ended: bool = False) -> Failure | None:
        """Why the run fails with it; None: it runs, has not started yet, or has succeeded."""
        if not self.has_ended() and (not must_have_ended or self.is_absent()):
            return None
        ended = self.exit()  # read after its agent has ended: it writes the file before
        if not ended:
            did_not_start = liveness.is_revoked(self.record)
            what = "did not start" if did_not_start else "vanished without writing its result"
            return LOST, f"The agent of {self.name} {what}."
        cause, reason = ended.get("cause"), str(ended.get("reason", ""))[:_LONGEST_REASON]
        if self.is_service and cause in (None, USER_ERROR, CANCELLED):
            how = reason.replace("The benchmark ", "it ", 1) or "exit code 0"
            return SERVER_ENDED, f"{self.name} ended before the benchmark: {how}"
        if cause is None:
            return None
        if cause == CANCELLED:
            return LOST, f"The agent of {self.name} was ended by a signal."
        return str(cause), f"{self.name}: {reason}"

    def ended_s(self) -> float:
        """When its last execution ended, UTC; infinite if this is not known."""
        ended = self.exit()
        executions = ended.get("executions")
        last = executions[-1] if isinstance(executions, list) and executions else {}
        time_s = last.get("ended_s") if isinstance(last, dict) else None
        time_s = ended.get("ended_s") if time_s is None else time_s
        return float(time_s) if isinstance(time_s, (int, float)) else float("inf")


class Group:
    """What one agent knows about the replicas of its run (``pipeline/replicas/groups`` writes it)."""

    def __init__(self, options: Options, family: Family) -> None:
        with open(options.group, encoding="utf-8") as file:
            facts = load(file)
        self._options = options
        self._family = family
        #: Whether all replicas are on this machine.
        self.one_machine: bool = facts.get("one_machine", True)
        self._needs = [Peer(**peer, is_here=self.one_machine) for peer in facts["needs"]]
        #: Records of the replicas that begin each execution together with this one.
        self._in_step: list[str] = facts["in_step"]
        #: Folder with the records of the ranks that this replica starts; empty: it starts none.
        self._ranks: str = facts["ranks"]
        self._until: Peer | None = None
        if facts["until"]:
            self._until = Peer("the measured replica", facts["until"], is_here=self.one_machine)
        #: Whether it runs until the measured replica ends.
        self.is_service: bool = facts["is_service"]
        self._has_probe = bool(facts.get("readiness") or facts.get("liveness"))
        self._probe = 0
        self._steps = 0
        self._waits_since_ns = 0

    @property
    def is_measured(self) -> bool:
        """Whether this replica is the measured one, with which all others end."""
        return self._until is None

    def step(self) -> None:
        """Publish that this replica is ready to begin its next execution."""
        self._steps += 1
        self._waits_since_ns = monotonic_ns()
        file = access.create(f"{self._options.record}/{layout.STEPS}", os.O_WRONLY | os.O_APPEND)
        try:
            os.write(file, b".")
        finally:
            os.close(file)

    def others_are_ready(self) -> bool:
        """Whether all other replicas are ready for the next execution."""
        return self._are_ready(self._steps + 1)

    def may_begin(self) -> bool:
        """Whether all replicas, also this one, are ready for the execution."""
        return self._are_ready(self._steps)

    def _are_ready(self, steps: int) -> bool:
        return not self._missing() and all(_size(f"{each}/{layout.STEPS}") >= steps for each in self._in_step)

    def failure(self) -> Failure | None:
        """Why this replica must end now; None: it continues."""
        if self._until and self._until.has_ended():
            return CANCELLED, "The benchmark had ended."
        return self.needed_failure() or self._unhealthy()

    def needed_failure(self) -> Failure | None:
        """The failure of a replica that this one needs."""
        return next(filter(None, (peer.failure() for peer in self._needs)), None)

    def overdue(self) -> Failure | None:
        """Why the wait for the other replicas has taken too long; None: it has not."""
        waited_s = self._waited_s()
        if waited_s < APPEAR_S:
            return None
        for peer in [*self._needs, *([self._until] if self._until else [])]:
            if peer.must_have_appeared():
                return LOST, f"The agent of {peer.name} did not start."
        for peer in self._missing():
            if waited_s > peer.ready_within_s + _LATE_S:
                return (
                    SERVER_NOT_READY,
                    f"{peer.name} was not ready after {waited_s:.0f} s; its agent does not respond.",
                )
        if waited_s > self._options.timeout_s:
            return TIMEOUT, f"Another replica was not ready for the execution after {waited_s:.0f} s."
        return None

    def have_ended(self) -> bool:
        """Whether all replicas have ended that run the same executions as this one."""
        return all(peer.has_ended() for peer in self._needs if not peer.is_service)

    def begin_wait(self) -> None:
        """Begin to wait for the others."""
        self._waits_since_ns = monotonic_ns()

    def late_end(self) -> Failure | None:
        """The failure of replicas that run longer than one execution may take after this one has ended."""
        if self._waited_s() < self._options.timeout_s or self.have_ended():
            return None
        names = [peer.name for peer in self._needs if not peer.is_service and not peer.has_ended()]
        return TIMEOUT, f"{', '.join(names)} had not ended {self._options.timeout_s:g} s after the others."

    def blame(self, ended_s: float) -> tuple[Failure | None, bool]:
        """The failure of another replica that explains that of this one, which ended at this time (UTC).

        And whether the search is complete: it ends when all others have ended, or after two seconds.
        """
        ranks = self._started_ranks()
        peers = self._needs + ranks
        # mpirun has ended its ranks; the result of one on another machine may appear later.
        is_late = bool(ranks) and not self.one_machine and self._waited_s() > _BLAME_S
        failures = [(peer, peer.failure(must_have_ended=is_late)) for peer in peers]
        found = [(peer.ended_s(), failure) for peer, failure in failures if failure]
        found.sort(key=lambda each: each[0])
        if self._ranks:  # mpirun ends the other ranks after the first failure
            own = [each for each in found if each[1][0] != LOST]
            vanished = [each for each in found if each[0] == float("inf")]  # the others were ended by mpirun
            found = own or vanished or found
            over = self.one_machine or is_late or all(peer.has_ended() for peer in ranks)
            if not over:
                return None, False
        else:
            found = [each for each in found if each[0] <= ended_s or each[1][0] == LOST]
            over = all(peer.has_ended() for peer in peers)
        over = over or self._waited_s() > _BLAME_S
        return (found[0][1] if found else None), over or bool(found)

    def serve(self) -> None:
        """Keep the probes of a server running; without one, the server is ready once its command has started."""
        if not self.is_service:
            return
        if not self._has_probe:
            os.close(access.create(f"{self._options.record}/{layout.READY}", os.O_WRONLY))
        elif not self._probe or self._probe in self._family.ended:
            from anubis.agent.sidecars import spawn

            words = ["probe", "--record", self._options.record, "--group", self._options.group]
            self._probe = spawn(words, self._family)

    def close(self) -> None:
        """End the probes."""
        if self._probe and self._probe not in self._family.ended:
            os.kill(self._probe, SIGKILL)

    def _waited_s(self) -> float:
        return (monotonic_ns() - self._waits_since_ns) / 1e9

    def _missing(self) -> list[Peer]:
        """The replicas that are not ready."""
        return [
            peer
            for peer in self._needs
            if peer.is_absent() or (peer.is_service and not os.path.exists(f"{peer.record}/{layout.READY}"))
        ]

    def _unhealthy(self) -> Failure | None:
        """What the probes of this replica have found."""
        if not self._has_probe:
            return None
        found = read_json(FolderFiles(self._options.record), layout.UNHEALTHY)
        return (str(found["cause"]), str(found["reason"])) if {"cause", "reason"} <= found.keys() else None

    def _started_ranks(self) -> list[Peer]:
        try:
            ranks = sorted((name for name in os.listdir(self._ranks) if name.isdigit()), key=int)
        except OSError:
            return []
        kind, is_here = os.path.basename(self._ranks), self.one_machine
        return [Peer(f"{kind} {rank}", f"{self._ranks}/{rank}", is_here=is_here) for rank in ranks]


def renew(record: str) -> list[Any]:
    """Prepare the record of a rank for its next execution, if the agent of the one before has ended.

    Returns the executions before. The mark of the end of its streams is removed: the output continues after it.
    """
    if liveness.state(record) != liveness.DEAD:
        return []
    from anubis.record import time_index
    from anubis.record.index_writer import ENTRY_BYTES

    files = FolderFiles(record)
    executions = read_json(files, layout.EXIT).get("executions")
    if time_index.is_complete(files):
        path = f"{record}/{layout.LINES}"
        os.truncate(path, os.path.getsize(path) - ENTRY_BYTES)
    for name in (layout.EXIT, layout.FIFO, layout.ALIVE):
        try:
            os.unlink(f"{record}/{name}")
        except FileNotFoundError:
            continue
    return executions if isinstance(executions, list) else []


def _size(path: str) -> int:
    """The size of a file, as another machine has written it: opening a file of a network file system updates it."""
    try:
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return 0
    try:
        return os.fstat(file).st_size
    finally:
        os.close(file)


def _refresh(folder: str) -> None:
    """Let a network file system look for new files in a folder."""
    try:
        os.close(os.open(folder, os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        pass
