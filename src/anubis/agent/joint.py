"""Executions together with the other replicas of the run: their common begin, and their end if one of them fails."""

from __future__ import annotations

from time import monotonic_ns

from anubis.agent.group import Group

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from anubis.agent.execute.capture import Capture
    from anubis.agent.execute.execution import Execution, Family
    from anubis.agent.options import Options

#: How often to look at the other replicas while waiting for them.
_LOOK_NS = 5_000_000
#: The reason of an execution that ends with another replica.
ENDED_WITH = "replica"


class Joint:
    """The executions of one replica among others."""

    def __init__(
        self,
        options: Options,
        family: Family,
        capture: Capture,
        may_execute: Callable[[], bool],
        note_cause: Callable[[str | None, str], None],
    ) -> None:
        """``may_execute`` also notes a cancellation; ``note_cause`` notes why the run fails."""
        self.group = Group(options, family)
        self._capture = capture
        self._may_execute = may_execute
        self._note_cause = note_cause

    def may_begin(self, prepare: Callable[[], None]) -> bool:
        """Wait until all replicas are ready for the next execution; False: the run must end.

        The measured replica is the last one: it prepares the machine when all others wait for it. On another machine, each
        replica prepares its own before it waits.
        """
        group = self.group
        if group.is_measured:
            group.begin_wait()
            if not self._wait(group.others_are_ready):
                return False
            prepare()
        elif not group.one_machine:
            prepare()
        group.step()
        return self._wait(group.may_begin)

    def _wait(self, is_over: Callable[[], bool]) -> bool:
        """Wait for the other replicas; False: the run must end."""
        while self._may_execute():
            failure = self.group.failure() or self.group.overdue()
            if failure:
                self._note_cause(*failure)
                return False
            if is_over():
                return True
            self._pump()
        return False

    def check(self, execution: Execution, grace_s: float) -> None:
        """End an execution that must not continue without another replica."""
        self.group.serve()
        failure = None if execution.end_reason else self.group.failure()
        if failure:
            self._note_cause(*failure)
            execution.end(ENDED_WITH, grace_s)

    def await_others(self) -> None:
        """Wait until all replicas have ended that this one needs, and note the failure of one of them."""
        self.group.begin_wait()
        while not self.group.have_ended() and self._may_execute():
            failure = self.group.needed_failure() or self.group.late_end()
            if failure:
                break
            self._pump()
        failure = self.group.needed_failure() or self.group.late_end()
        if failure:
            self._note_cause(*failure)

    def blame(self, execution: Execution) -> None:
        """Note the failure of another replica that explains that of this one: ranks fail together."""
        ended_s = execution.facts.get("ended_s")
        if not isinstance(ended_s, float):
            return
        self.group.begin_wait()
        while self._may_execute():
            failure, over = self.group.blame(ended_s)
            if failure:
                self._note_cause(*failure)
            if over:
                return
            self._pump()

    def _pump(self) -> None:
        self._capture.pump(monotonic_ns() + _LOOK_NS)
