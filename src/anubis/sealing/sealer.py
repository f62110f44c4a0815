"""Adds the digests of final runs to the chain of the home folder, and compares them with what is stored."""

import hashlib
import json
import logging
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BufferedReader
from queue import SimpleQueue

from anubis.contracts.clock import Clock
from anubis.contracts.points import Points
from anubis.contracts.records import RecordKey, Records, RoleFiles
from anubis.contracts.runs import RunQuery, RunReader
from anubis.model.errors import AnubisError, NotFoundError
from anubis.model.plain import to_plain
from anubis.model.points import Point
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.record import layout
from anubis.record.files import reader
from anubis.record.validation import DamagedError
from anubis.sealing.chain import Addition, BrokenChainError, Entry, Head, Kind, RecordChain

log = logging.getLogger(__name__)

_FINAL = tuple(status for status in Status if status.final)
#: Final runs that a new process looks at: their driver may have been killed before it added them.
_NEWEST = 20
_ALL = 10_000_000
#: In place of the digest of a file that cannot be read.
UNREADABLE = "unreadable"
#: The files of a record that do not change when its run is final.
_FILES = frozenset({*layout.GROWING, *layout.REPLACED}) - {layout.AGENT_LOG}
#: What is sealed of a run in addition to its files and points. The digest is that of the descriptor.
_FIELDS = (
    "id",
    "digest",
    "series_key",
    "owner",
    "engine",
    "status",
    "cause",
    "attempt",
    "created_s",
    "placed_s",
    "ended_s",
    "cell",
    "overrides",
)


def digests(
    run: Run, points: Iterable[Point], files: Iterable[tuple[RecordKey, str, BufferedReader]]
) -> dict[str, str]:
    """SHA-256 of a run, of its points and of each file of its record, by name."""
    fields = {name: to_plain(getattr(run, name)) for name in _FIELDS}
    values = sorted((to_plain(point) for point in points), key=lambda plain: str(plain["metric"]))
    found = {"run": _of_json(fields), "points": _of_json(values)}
    for key, file, stream in files:
        if file in _FILES:
            place = f"{layout.attempt_name(key.attempt)}/{key.role}/{key.rank}/{file}"
            with stream:
                try:
                    found[place] = hashlib.file_digest(stream, "sha256").hexdigest()
                except (DamagedError, OSError):  # the benchmark made it unreadable
                    found[place] = UNREADABLE
    return found


def _of_json(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def _files(records: Records, run_id: str) -> Iterator[tuple[RecordKey, str, BufferedReader]]:
    for attempt in records.attempts(run_id):
        for each in records.list(run_id, attempt):
            yield each.key, each.file, reader(RoleFiles(records, each.key), each.file)


class Sealer:
    """A chore that adds each final run whose record is on this machine to the chain."""

    name = "sealer"

    def __init__(
        self,
        chain: RecordChain,
        runs: RunReader,
        records: Records,
        points: Points,
        clock: Clock,
        *,
        here: Records | None = None,
    ) -> None:
        """``here`` are the records of this machine, if ``records`` has others too: those are for their machine to add."""
        self.chain = chain
        self._runs = runs
        self._records = records
        self._here = here or records
        self._points = points
        self._clock = clock
        self._ended: SimpleQueue[str] = SimpleQueue()
        self._is_new = True

    def note(self, run: Run) -> None:
        """Note a change of a run; it is added in the next turn if it is final now."""
        if run.status.final:
            self._ended.put(run.id)

    def turn(self) -> float | None:
        """Add the runs that have become final. What cannot be added now is added in a later turn, or by a later process."""
        run_ids = [self._ended.get() for _ in range(self._ended.qsize())]
        try:
            if self._is_new:
                run_ids += self._left()
                self._is_new = False
            self.seal(run_ids)
        except AnubisError as error:  # for example a full disk; no worker waits for it
            log.warning("%d runs are not in the chain yet: %s", len(run_ids), error)
            for run_id in run_ids:
                self._ended.put(run_id)
        return None

    def seal(self, run_ids: Iterable[str], kind: Kind = Kind.SEALED) -> list[Entry]:
        """Add final runs; the entries. Leaves out those that were purged or have no record on this machine."""
        found = [
            Addition(run_id=run_id, kind=kind, digests=now)
            for run_id in run_ids
            if self._here.attempts(run_id) and (now := self.digests(run_id)) is not None
        ]
        return self.chain.add(found, now_s=self._clock.now_s()) if found else []

    def note_purged(self, run_ids: Iterable[str]) -> None:
        """Add to the chain that these runs are purged; an entry that is there already is not repeated."""
        found = [Addition(run_id=run_id, kind=Kind.PURGED) for run_id in run_ids]
        if found:
            self.chain.add(found, now_s=self._clock.now_s())

    def digests(self, run_id: str) -> dict[str, str] | None:
        """The digests of a run as it is stored now; None if it is not stored, or has no record on this machine."""
        try:
            run = self._runs.get(run_id)
        except NotFoundError:
            return None
        if not self._records.attempts(run_id):
            return None
        return digests(run, self._points.of([run_id]), _files(self._records, run_id))

    def unsealed(self, sealed: Container[str], *, limit: int, since_s: float = 0.0) -> list[str]:
        """The newest final runs that are not among these, ended since then, and have a record on this machine."""
        rows = self._runs.find(RunQuery(statuses=_FINAL, limit=limit))
        return [
            row.id
            for row in rows
            if row.id not in sealed and (row.ended_s or 0.0) >= since_s and self._here.attempts(row.id)
        ]

    def _left(self) -> list[str]:
        """Runs whose driver was killed before it added them."""
        recent = self.chain.recent()
        since_s = recent[0].time_s if recent and recent[0].n > 1 else 0.0
        return self.unsealed({entry.run_id for entry in recent}, limit=_NEWEST, since_s=since_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """A run that differs from its last entry in the chain."""

    run_id: str
    #: Files, ``run`` or ``points``; empty: the run is missing, although no entry says that it was purged.
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainReport:
    """A chain compared with the stored runs."""

    head: Head
    #: Runs that are stored and unchanged, and runs that were purged.
    unchanged: int
    purged: int
    damaged: tuple[Damaged, ...]
    #: Final runs with a record on this machine that the chain does not contain.
    unsealed: tuple[str, ...]


def compare(
    sealer: Sealer, *, known: Head | None = None, progress: Callable[[int, int], None] | None = None
) -> ChainReport:
    """Compare every run of the chain with what is stored. ``progress`` is called with the runs done and all runs.

    ``known`` is a head that was noted earlier. Raises BrokenChainError, also for a chain without that head.
    """
    head, last = last_entries(sealer.chain, known)
    sealed = _stored(last)
    damaged: list[Damaged] = []
    for done, (run_id, entry) in enumerate(sealed.items()):
        if progress:
            progress(done, len(sealed))
        now = sealer.digests(run_id)
        if now is None:
            damaged.append(Damaged(run_id=run_id))
        elif changed := differences(entry.digests, now):
            damaged.append(Damaged(run_id=run_id, changed=changed))
    return ChainReport(
        head=head,
        unchanged=len(sealed) - len(damaged),
        purged=len(last) - len(sealed),
        damaged=tuple(damaged),
        unsealed=tuple(sealer.unsealed(sealed, limit=_ALL)),
    )


def missing(sealer: Sealer) -> list[str]:
    """Final runs with a record on this machine that the chain does not contain. Raises BrokenChainError."""
    _, last = last_entries(sealer.chain)
    return sealer.unsealed(_stored(last), limit=_ALL)


def _stored(last: Mapping[str, Entry]) -> dict[str, Entry]:
    return {run_id: entry for run_id, entry in last.items() if entry.kind is not Kind.PURGED}


def differences(sealed: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The names of the digests that differ."""
    return tuple(name for name in sorted({*sealed, *now}) if sealed.get(name) != now.get(name))


def last_entries(chain: RecordChain, known: Head | None = None) -> tuple[Head, Mapping[str, Entry]]:
    """The head of the chain, and the last entry of each run. Raises BrokenChainError."""
    head, last, heads = Head(), dict[str, Entry](), known in (None, Head())
    for entry, head in chain.entries():
        last[entry.run_id] = entry
        heads = heads or head == known
    if known is not None and not heads:
        raise BrokenChainError(
            f"the chain does not contain the head {known}: it was shortened or rewritten since that head was noted"
        )
    return head, last
