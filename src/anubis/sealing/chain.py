"""The chain of a home folder: an append-only file with the digests of everything that final runs measured.

Each line is a JSON object and contains the SHA-256 of the line before it (a hash chain, as in RFC 9162, section 2, but
linear). The number and the SHA-256 of the last line, its head, therefore commit to all lines: a chain whose head was
published cannot be changed without notice.
"""

import contextlib
import fcntl
import hashlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import IO

from anubis.model.errors import AnubisError, disk_error
from anubis.model.plain import from_plain
from anubis.record import access
from anubis.record.files import read_at, write_all

#: Name of the file in the home folder.
FILE = "chain.jsonl"
#: What the first line contains in place of the SHA-256 of a previous one.
START = "0" * 64
#: Bytes at the end of the chain that are read to find the last entries.
_RECENT_BYTES = 1 << 16


class Kind(StrEnum):
    """What an entry states about its run."""

    SEALED = "sealed"
    IMPORTED = "imported"
    PURGED = "purged"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the chain."""

    #: Number of the line, from 1.
    n: int
    #: When it was added; UTC seconds.
    time_s: float
    kind: Kind
    run_id: str
    #: File, or other part of the run, and the SHA-256 of its content; empty: purged.
    digests: dict[str, str] = field(default_factory=dict)
    #: SHA-256 of the previous line.
    previous: str = START


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """What an entry states."""

    run_id: str
    kind: Kind
    digests: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Head:
    """The number of the last line, and its SHA-256."""

    n: int = 0
    sha256: str = START

    def __str__(self) -> str:
        return f"{self.n}:{self.sha256}"

    @classmethod
    def of(cls, text: str) -> "Head":
        """The head with this text. Raises ValueError."""
        n, _, sha256 = text.partition(":")
        if not n.isdecimal() or len(sha256) != len(START):
            raise ValueError(f"expected NUMBER:SHA256, as anubis record verify prints it, got {text!r}")
        return cls(int(n), sha256)


class RecordChain:
    """The chain in a file. Several processes may append at the same time. Raises StoreError."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def add(self, additions: Sequence[Addition], *, now_s: float) -> list[Entry]:
        """Append entries, on the disk when this returns; without those that repeat the last entry of their run."""
        with self._failures(), self._locked() as file:
            last = {entry.run_id: entry for entry in _recent(file)}
            head, entries, content = _head(file), list[Entry](), b""
            for each in additions:
                before = last.get(each.run_id)
                if before and (before.kind, before.digests) == (each.kind, dict(each.digests)):
                    continue
                entry = Entry(
                    n=head.n + 1,
                    time_s=now_s,
                    kind=each.kind,
                    run_id=each.run_id,
                    digests=dict(each.digests),
                    previous=head.sha256,
                )
                line = _line(entry)
                content, head = content + line, Head(entry.n, _sha256(line))
                last[each.run_id] = entry
                entries.append(entry)
            write_all(file, content)
            os.fsync(file)
            return entries

    def recent(self) -> Sequence[Entry]:
        """The last entries, oldest first: at least the last one."""
        try:
            file = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise disk_error(f"{self.path} cannot be read", error) from error
        with self._failures():
            try:
                return _recent(file)
            finally:
                os.close(file)

    def entries(self) -> Iterator[tuple[Entry, Head]]:
        """All entries, each with the head up to it. Raises BrokenChainError for a line that does not continue the chain."""
        head = Head()
        try:
            with self.path.open("rb") as stream:
                for line in _lines(stream):
                    entry = _entry(line)
                    if entry is None or (entry.n, entry.previous) != (head.n + 1, head.sha256):
                        raise _broken(head.n + 1)
                    head = Head(entry.n, _sha256(line))
                    yield entry, head
        except FileNotFoundError:
            return
        except OSError as error:
            raise disk_error(f"{self.path} cannot be read", error) from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[int]:
        file = access.create(str(self.path), os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            _cut_unfinished(file)
            yield file
        finally:
            os.close(file)

    @contextlib.contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise disk_error(f"{self.path} cannot be used", error) from error


class BrokenChainError(AnubisError):
    """The chain was changed."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message, remedy="compare with a backup of the home folder; the runs themselves can still be read"
        )


def _broken(n: int) -> BrokenChainError:
    return BrokenChainError(
        f"line {n} of the chain does not continue the line before it: lines were changed, removed or reordered"
    )


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    """The complete lines; the last one may be under construction."""
    return (line for line in stream if line.endswith(b"\n"))


def _line(entry: Entry) -> bytes:
    plain = {
        "n": entry.n,
        "time_s": entry.time_s,
        "kind": entry.kind.value,
        "run_id": entry.run_id,
        "digests": entry.digests,
        "previous": entry.previous,
    }
    return json.dumps(plain).encode() + b"\n"


def _entry(line: bytes) -> Entry | None:
    try:
        return from_plain(Entry, json.loads(line))
    except (ValueError, TypeError, RecursionError):
        return None


def _sha256(line: bytes) -> str:
    return hashlib.sha256(line).hexdigest()


def _recent(file: int) -> list[Entry]:
    """The entries at the end of the file, oldest first."""
    return [entry for line in _last_lines(file) if (entry := _entry(line)) is not None]


def _head(file: int) -> Head:
    """The head of a chain without an incomplete line. Raises BrokenChainError if its last line is damaged."""
    lines = _last_lines(file)
    if not lines:
        return Head()
    entry = _entry(lines[-1])
    if entry is None:
        raise BrokenChainError("the last line of the chain is not valid")
    return Head(entry.n, _sha256(lines[-1]))


def _last_lines(file: int) -> list[bytes]:
    """The complete lines at the end of the file: the last one at least, however long it is."""
    size, length = os.fstat(file).st_size, _RECENT_BYTES
    while True:
        start = max(0, size - length)
        data = read_at(file, start, size - start)
        lines = data.splitlines(keepends=True)
        if start:
            lines = lines[1:]  # its beginning may be missing
        complete = [line for line in lines if line.endswith(b"\n")]
        if complete or not start:
            return complete
        length *= 8


def _cut_unfinished(file: int) -> None:
    """Remove a line whose writer was killed, or found the disk full, before it was complete."""
    size, length = os.fstat(file).st_size, _RECENT_BYTES
    if not size or read_at(file, size - 1, 1) == b"\n":
        return
    while True:
        start = max(0, size - length)
        end = read_at(file, start, size - start).rfind(b"\n")
        if end >= 0 or not start:
            os.ftruncate(file, start + end + 1)
            return
        length *= 8
