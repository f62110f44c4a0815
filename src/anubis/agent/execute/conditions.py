"""The conditions of ``[measure]`` under which the benchmark is executed: CPUs, NUMA node, priority, file caches, governor.

A condition that cannot be met is recorded with its reason, and the run continues under other conditions.
"""

from __future__ import annotations

import os

from anubis.agent.observe.kernel import read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from anubis.agent.execute.governor import Governor
    from anubis.agent.options import Options

_CACHES = "/proc/sys/vm/drop_caches"
#: With at least this many cores, ``auto`` leaves the one of CPU 0, which serves most interrupts, to the system.
_SPARED_FROM = 4


class Conditions:
    """What was asked for and what applies."""

    def __init__(self, options: Options) -> None:
        #: Name -> what was asked, and why it does not apply (None: it does).
        self.asked: dict[str, dict[str, object]] = {}
        self._governor: Governor | None = None
        self._options = options
        #: The node whose memory the benchmark uses; None: no change.
        self.numa: int | None = None
        of_node = self._of_node(options) if options.numa >= 0 else set()
        #: The CPUs to pin the benchmark to; empty: no change.
        self.cpus = self._pin(options, of_node) or of_node
        #: The priority of the benchmark; 0: no change.
        self.nice = self._nice(options.nice)
        self._caches = -1
        if options.drop_caches:
            try:
                self._caches = os.open(_CACHES, os.O_WRONLY)
                self._note("drop_caches", True, None)
            except OSError as error:
                self._note("drop_caches", True, f"{_CACHES}: {error.strerror}")
        self._set_governor()

    @property
    def missing(self) -> list[str]:
        """The names of the conditions that do not apply; such a run is not comparable with one where they do."""
        return sorted(name for name, facts in self.asked.items() if facts["why"] is not None)

    def drop_caches(self) -> None:
        """Write changed pages to the disk and forget cached files, before an execution, where asked and permitted."""
        if self._caches >= 0:
            os.sync()
            os.write(self._caches, b"3\n")

    def close(self) -> None:
        """Put the machine back as it was."""
        if self._governor and not self._governor.why:
            self._governor.close()

    def _note(self, name: str, asked: object, why: str | None, **more: object) -> None:
        self.asked[name] = {"asked": asked, "why": why, **more}

    def _of_node(self, options: Options) -> set[int]:
        """The usable CPUs of the NUMA node; empty if it cannot be used."""
        from anubis.agent.execute import numa

        node = options.numa
        listed = numa.cpus_of(node, options.sysfs)
        wanted = numbers(listed) & _usable(options) if listed else set()
        if listed is None:
            found = ", ".join(map(str, numa.nodes(options.sysfs))) or "none that the kernel names"
            why = f"this machine has no NUMA node {node}; set numa to one of its nodes: {found}"
        elif not wanted:
            why = f"the run may use none of the CPUs of node {node} ({listed or 'it has only memory'})"
        else:
            why = numa.refusal(node)
        if why:
            self._note("numa", node, why)
            return set()
        self._note("numa", node, None, cpus=sorted(wanted))
        self.numa = node
        return wanted

    def _pin(self, options: Options, of_node: set[int]) -> set[int]:
        if not options.pin:
            return set()
        usable = of_node or _usable(options)
        wanted = one_of_each_core(usable, options.sysfs) if options.pin == "auto" else numbers(options.pin)
        beyond = sorted(wanted - usable)
        if beyond or not wanted:
            named = ", ".join(map(str, beyond)) or options.pin
            self._note("pin", options.pin, f"the run may not use these CPUs: {named}")
            return set()
        self._note("pin", options.pin, None, cpus=sorted(wanted))
        return wanted

    def _nice(self, asked: int) -> int:
        if not asked:
            return 0
        before = os.getpriority(os.PRIO_PROCESS, 0)
        if asked < before:  # only tried where it may be refused: it can be put back then
            try:
                os.setpriority(os.PRIO_PROCESS, 0, asked)
                os.setpriority(os.PRIO_PROCESS, 0, before)
            except OSError as error:
                self._note("nice", asked, f"a higher priority needs rights: {error.strerror}")
                return 0
        self._note("nice", asked, None)
        return asked

    def _set_governor(self) -> None:
        options = self._options
        left = f"{options.machine_state}/governor.json"
        if not options.governor and not (options.machine_state and os.access(left, os.F_OK)):
            return
        from anubis.agent.execute import governor

        if options.governor:
            self._governor = governor.Governor(options.machine_state, options.governor, options.sysfs)
            self._note("governor", options.governor, self._governor.why or None)
        else:
            try:
                governor.put_back_left(options.machine_state, options.sysfs)
            except OSError:  # anubis doctor reports it
                pass


def _usable(options: Options) -> set[int]:
    return {int(number) for number in options.cpus.split(",") if number} or os.sched_getaffinity(0)


def numbers(text: str) -> set[int]:
    """The numbers of a list such as 0-2,5. Raises ValueError."""
    found: set[int] = set()
    for part in text.split(","):
        low, _, high = part.partition("-")
        found.update(range(int(low), int(high or low) + 1))
    return found


def one_of_each_core(usable: set[int], sysfs: str) -> set[int]:
    """One of the usable CPUs of each core; without the core of CPU 0 where others suffice."""
    cores: dict[str, int] = {}
    for number in sorted(usable):
        siblings = read(f"{sysfs}/devices/system/cpu/cpu{number}/topology/thread_siblings_list").strip()
        cores.setdefault(siblings or str(number), number)
    chosen = set(cores.values())
    return chosen - {0} if len(chosen) >= _SPARED_FROM else chosen
