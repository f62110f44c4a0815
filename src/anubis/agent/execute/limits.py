"""Limits of the benchmark, set in its process before it starts and inherited by all processes that it starts."""

from __future__ import annotations

import os
import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.execute.conditions import Conditions
    from anubis.agent.options import Options


class Limits:
    """The CPUs on which the benchmark may run, the node of its memory, its priority, and how much memory each of its processes may allocate."""

    def __init__(self, options: Options, conditions: Conditions) -> None:
        self._cpus = conditions.cpus or {int(number) for number in options.cpus.split(",") if number}
        self._numa = conditions.numa
        self._nice = conditions.nice
        self._memory_bytes = options.memory_bytes

    def apply(self) -> None:
        """Set the limits of this process. Raises OSError."""
        if self._cpus:
            os.sched_setaffinity(0, self._cpus)
        if self._numa is not None:
            from anubis.agent.execute.numa import bind_memory

            bind_memory(self._numa)
        if self._nice:
            os.setpriority(os.PRIO_PROCESS, 0, self._nice)
        if self._memory_bytes:
            _, hard = resource.getrlimit(resource.RLIMIT_DATA)
            limit = self._memory_bytes if hard == resource.RLIM_INFINITY else min(self._memory_bytes, hard)
            resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
