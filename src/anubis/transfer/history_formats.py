"""The formats in which histories are exchanged, and how one is recognised. One file per format."""

import codecs
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, BinaryIO

from anubis.model.errors import BadInputError
from anubis.model.history import Measurement
from anubis.transfer import history_values
from anubis.transfer.history_findings import Findings, shown

#: As much of a file as is looked at to recognise it.
HEAD_BYTES = 65_536


class FileHead:
    """What a format may look at to recognise its files."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.is_folder = path.is_dir()

    @cached_property
    def start(self) -> bytes:
        """The first bytes of the file; empty for a folder."""
        if self.is_folder:
            return b""
        with self.path.open("rb") as stream:
            return stream.read(HEAD_BYTES)

    @cached_property
    def text(self) -> str:
        """The first bytes as text, without a byte order mark."""
        if self.start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            return self.start.decode("utf-16", "replace")
        return self.start.decode("utf-8-sig", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportDefaults:
    """What the user adds to a file; it never replaces what the file says itself."""

    time_s: float | None = None
    commit: str = ""
    commit_s: float | None = None
    version: str = ""
    repository: str = ""
    machine: str = ""
    #: Patterns (``*`` and ``?``) of parameters that keep no series apart: seeds, paths, ids.
    ignore: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class HistoryFile:
    """One file, or folder, that is being read."""

    path: Path
    findings: Findings = field(default_factory=Findings)
    given: ImportDefaults = field(default_factory=ImportDefaults)

    def value(self, raw: Any, path: str, *, line: int | None = None) -> float | None:
        """The number at a place of the file; None when it is missing (counted) or no number (noted)."""
        try:
            found = history_values.number(raw)
        except history_values.NotANumberError:
            self.findings.error(
                f"a number was expected, found {shown(raw)}",
                "correct the value, or delete the entry",
                path=path,
                line=line,
            )
            return None
        if found is None:
            self.findings.missing += 1
        return found

    def time_s(self) -> float:
        """When a file that holds no time was measured: as given, else when it was last written (with a warning)."""
        if self.given.time_s is not None:
            return self.given.time_s
        written_s = math.floor(self.path.stat().st_mtime)
        self.findings.warn(
            "the file says not when it was measured; the time it was last written is used",
            "give --time",
        )
        return float(written_s)


ReadFunction = Callable[[HistoryFile], Iterator[Measurement]]
WriteFunction = Callable[[Iterable[Measurement], BinaryIO, Findings], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One file format, as data. An entry point of the group ``anubis.histories`` names it."""

    #: What ``--format`` takes.
    name: str
    #: What people call it.
    title: str
    #: Whether a file is of this format, from its start alone. Required with ``read``.
    detect: Callable[[FileHead], bool] | None = None
    #: The measurements of a file, one after the other; problems go into its findings. None: export only.
    read: ReadFunction | None = None
    #: Write measurements into a binary stream. None: import only.
    write: WriteFunction | None = None


@cache
def formats() -> dict[str, Format]:
    """Every installed format by name."""
    found: list[Format] = [entry.load() for entry in entry_points(group="anubis.histories")]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}


def named(name: str, *, writing: bool = False) -> Format:
    """The format of that name. Raises BadInputError naming those there are."""
    able = {
        key: each for key, each in formats().items() if (each.write if writing else each.read) is not None
    }
    if name not in able:
        verb = "export to" if writing else "import from"
        raise BadInputError(f'"{name}" is no format to {verb}', remedy=f"choose one of: {', '.join(able)}")
    return able[name]


def detect(path: Path) -> str | None:
    """The name of the format a file or folder is in, from its first 64 KiB; None when no format knows it.

    Raises OSError when the file cannot be read.
    """
    head = FileHead(path)
    for name, each in formats().items():
        if each.detect and each.detect(head):
            return name
    return None
