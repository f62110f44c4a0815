"""Slurm's queue as one process sees it: attempts are submitted together, as arrays, and observed with one query for all.

The calls are made by the threads that observe placements. While one of them calls Slurm, the others use what is known.
"""

import logging
import math
import threading
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from anubis.pipeline.slurm.commands import (
    PAUSE_S,
    Commands,
    SlurmAwayError,
    SlurmError,
    SlurmFullError,
    SlurmNoAccountingError,
)
from anubis.pipeline.slurm.listing import Element, Listing
from anubis.pipeline.slurm.spool import Array, Entry, Limit, Spool

log = logging.getLogger(__name__)

#: Interval between queries: the first after a change, its growth, and the longest; seconds.
SOONEST_S, GROWTH, LATEST_S = 1.0, 1.5, 15.0
#: The cancellation of an element is repeated after this time, seconds.
CANCEL_AGAIN_S = 20.0
#: Pause before Slurm is asked again to accept something, seconds.
REFUSED_S = 5.0
#: An attempt waits for others at most this many times the time that it waits for the next one.
_MOST_WAITS = 10
#: Most elements in one call of scancel.
_MOST_CANCELS = 4000
_NOTHING = Listing(elements={}, arrays={}, unlisted={})


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known about one attempt."""

    #: The element that executes it, or is expected to; empty: it is not submitted.
    id: str = ""
    array: Array | None = None
    #: What Slurm says; None: nothing, or nothing yet.
    element: Element | None = None
    #: Why nothing newer is known, or the attempt is not submitted; empty: no problem.
    problem: str = ""
    #: Slurm's refusal; the attempt can never be submitted.
    refusal: str = ""
    #: Seconds since Slurm first listed neither the element nor its end; 0: it does.
    missing_s: float = 0.0


class Queue:
    """The attempts of one process. Its methods may be called by several threads."""

    def __init__(self, commands: Commands, spool: Spool, *, gather_s: float, most: int) -> None:
        self._commands = commands
        self._spool = spool
        self._gather_s = gather_s
        #: Most elements of an array.
        self._most = most
        #: Attempts without an array, and the monotonic time at which each was added.
        self._fresh: dict[str, float] = {}
        self._newest_s = -math.inf
        self._refusals: dict[str, str] = {}
        self._listing = self._ended = _NOTHING
        #: Times are monotonic. When the listing was requested; when the next one is due.
        self._listed_s, self._due_s, self._interval_s = -math.inf, -math.inf, SOONEST_S
        self._submit_s = -math.inf
        self._submitted_s: dict[str, float] = {}
        self._missing_s: dict[str, float] = {}
        #: Elements to cancel, and the times at which their cancellation was requested.
        self._cancels: list[str] = []
        self._cancels_s: dict[str, float] = {}
        self._timer: threading.Timer | None = None
        self._problem = ""
        self._calling = threading.Lock()

    def add(self, entry: Entry) -> None:
        """Submit this attempt soon, together with others."""
        now_s = time.monotonic()
        if entry.name not in self._fresh:
            self._fresh[entry.name] = self._newest_s = now_s

    def cancel(self, element: str) -> None:
        """End an element soon, together with others that are cancelled at the same time. Empty: there is none."""
        now_s = time.monotonic()
        if element and now_s - self._cancels_s.get(element, -math.inf) > CANCEL_AGAIN_S:
            self._cancels_s[element] = now_s
            self._cancels.append(element)
            self._cancel_later()

    def _cancel_later(self) -> None:
        """Not in a daemon thread: the request is sent even if this process ends."""
        if not self._timer or not self._timer.is_alive():
            self._timer = threading.Timer(PAUSE_S, self._cancel_now)
            self._timer.start()

    def _cancel_now(self) -> None:
        with self._calling:
            try:
                self._cancel_due()
            except SlurmAwayError as error:
                self._note_problem(error)

    def forget(self, entry: Entry) -> None:
        """Drop an attempt that has ended."""
        self._fresh.pop(entry.name, None)
        self._refusals.pop(entry.name, None)
        self._missing_s.pop(entry.name, None)

    def turn(self, entries: Sequence[Entry]) -> bool:
        """Call Slurm if it is time to: submit what was gathered, end what was cancelled, ask about these attempts.

        Returns whether more may be known than before.
        """
        if not self._calling.acquire(blocking=False):
            return False
        calls = self._commands.calls
        try:
            if self._cancels and self._commands.may_call():
                self._cancel_due()
            self._submit_due(entries)
            self._ask(entries)
        except SlurmAwayError as error:
            self._note_problem(error)
        finally:
            self._calling.release()
        return self._commands.calls > calls

    def known(self, entry: Entry) -> Known:
        """What is known about an attempt now, without a call."""
        if refusal := self._refusals.get(entry.name):
            return Known(refusal=refusal)
        member = entry.member
        if member is None:
            self.add(entry)
            return Known(problem=self._problem)
        array = self._spool.array(member[0])
        number, _, index = (entry.started or f"{array.id}_{member[1]}").partition("_")
        if not number:
            return Known(array=array, problem=self._problem)
        element = self._listing.get(number, int(index))
        if element is None and (ended := self._ended.get(number, int(index))) and ended.has_ended:
            element = ended  # otherwise the accounting lags behind
        missing_s = 0.0
        if (
            element is None
            and not self._problem
            and self._listed_s > self._submitted_s.get(array.name, -math.inf)
        ):
            first_s = self._missing_s.setdefault(entry.name, time.monotonic())
            missing_s = time.monotonic() - first_s
        elif element is not None:
            self._missing_s.pop(entry.name, None)
        return Known(
            id=f"{number}_{index}", array=array, element=element, problem=self._problem, missing_s=missing_s
        )

    def _note_problem(self, error: SlurmError) -> None:
        if self._problem != error.message:  # one message for each outage
            log.warning("Slurm does not respond: %s", error.message)
        self._problem = error.message
        self._back_off()

    def _cancel_due(self) -> None:
        due = self._cancels[:_MOST_CANCELS]
        if not due:
            return
        try:
            self._commands.cancel(due)
        except SlurmError as error:
            if isinstance(error, SlurmAwayError):
                raise
            log.info("scancel: %s", error.message)  # they have ended
        del self._cancels[: len(due)]  # other threads may have added more
        self._soon()

    def _submit_due(self, entries: Sequence[Entry]) -> None:
        now_s = time.monotonic()
        if now_s < self._submit_s or not self._commands.may_call():
            return
        if unknown := self._unconfirmed(entries):
            self._confirm(unknown)
            return
        waited_s = now_s - min(self._fresh.values(), default=now_s)
        settled = now_s - self._newest_s >= self._gather_s or waited_s > _MOST_WAITS * self._gather_s
        if self._fresh and settled:
            self._submit(
                self._next_group({limit for entry in entries if entry.member and (limit := entry.limit)})
            )

    def _next_group(self, submitted: AbstractSet[Limit]) -> list[Entry]:
        """The oldest attempt, and others with the same options and the same limit.

        The limit of a family holds for one array: the next one waits until the array ``submitted`` before has ended.
        """
        group: list[Entry] = []
        wanted: tuple[tuple[str, ...], Limit | None] = (), None
        for name in list(self._fresh):
            entry = self._spool.entry(name)
            if not entry.exists or entry.member:  # it has ended, or another process submitted it
                self._fresh.pop(name, None)
                continue
            request = entry.options, entry.limit
            if request[1] in submitted:
                continue
            if not group:
                wanted = request
            if request == wanted and len(group) < self._most:
                group.append(entry)
        return group

    def _submit(self, group: Sequence[Entry]) -> None:
        if not group:
            return
        array = self._spool.join(f"anubis-{group[0].name}", group)
        for entry in group:
            self._fresh.pop(entry.name, None)
        self._send(array, group)

    def _send(self, array: Array, group: Sequence[Entry]) -> None:
        """Submit an array. If Slurm does not accept it, its attempts do not belong to it any more."""
        size, limit = self._spool.size(array), group[0].limit
        at_once = f"%{limit.at_once}" if limit and limit.at_once < size else ""
        words = (
            f"--job-name={array.name}",
            f"--comment={array.name.removeprefix('anubis-')}",
            f"--array=0-{size - 1}{at_once}",
            f"--output={self._spool.output(array, '%a')}",
            f"--chdir={self._spool.folder}",
            *group[0].options,
        )
        now_s, wall_s = time.monotonic(), time.time()
        try:
            number = self._commands.submit(words, self._spool.script(array))
        except SlurmAwayError:
            self._submit_s = now_s + REFUSED_S
            raise
        except SlurmError as error:
            for entry in group:
                entry.leave()
            if not isinstance(error, SlurmFullError):
                self._refusals.update({entry.name: error.message for entry in group})
                return
            self._most = max(1, size // 2)
            self._submit_s = now_s + REFUSED_S
            self._fresh.update(dict.fromkeys((entry.name for entry in group), now_s))
            self._problem = error.message
            return
        self._spool.note_submitted(replace(array, id=number, submitted_s=wall_s))
        self._submitted_s[array.name] = time.monotonic()
        self._soon()

    def _unconfirmed(self, entries: Sequence[Entry]) -> dict[str, list[Entry]]:
        """Arrays of which it is not known whether Slurm has them, with their attempts."""
        found: dict[str, list[Entry]] = {}
        for entry in entries:
            if (member := entry.member) and not self._spool.array(member[0]).id:
                found.setdefault(member[0], []).append(entry)
        return found

    def _confirm(self, unknown: dict[str, list[Entry]]) -> None:
        """Find arrays by their names, in the queue and then in the accounting; submit the first that Slurm does not have."""
        self._query()
        arrays = dict(self._listing.arrays)
        if not arrays.keys() & unknown.keys():
            arrays |= self._accounting((), list(unknown)).arrays
        for name, entries in unknown.items():
            if name in arrays:
                self._spool.note_submitted(Array(name=name, id=arrays[name], submitted_s=time.time()))
            else:
                self._send(Array(name=name), entries)
                return

    def _ask(self, entries: Sequence[Entry]) -> None:
        if (
            time.monotonic() >= self._due_s
            and self._commands.may_call()
            and any(entry.member for entry in entries)
        ):
            self._query()
            if missing := [known.id for entry in entries if (known := self.known(entry)).missing_s]:
                self._ended = self._accounting(sorted({each.partition("_")[0] for each in missing}))

    def _accounting(self, arrays: Sequence[str], names: Sequence[str] = ()) -> Listing:
        """What the accounting knows; nothing if this cluster has none."""
        try:
            return self._commands.accounting(arrays, names)
        except SlurmNoAccountingError:
            return _NOTHING

    def _query(self) -> None:
        asked_s, before = time.monotonic(), self._listing.elements
        self._listing = self._commands.queue()
        self._listed_s, self._problem = asked_s, ""
        if self._listing.elements == before:
            self._back_off()
        else:
            self._soon()

    def _soon(self) -> None:
        self._interval_s = SOONEST_S
        self._due_s = time.monotonic() + SOONEST_S

    def _back_off(self) -> None:
        self._interval_s = min(self._interval_s * GROWTH, LATEST_S)
        self._due_s = time.monotonic() + self._interval_s
