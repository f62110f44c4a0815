"""The formats of histories and their detection."""

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

#: Number of bytes that are read to recognise a format.
HEAD_BYTES = 65_536


class FileHead:
    """The start of a file, from which a format recognises its files."""

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
    """Values for fields that an imported file does not contain; they never replace values of the file."""

    time_s: float | None = None
    commit: str = ""
    commit_s: float | None = None
    version: str = ""
    repository: str = ""
    machine: str = ""
    #: Patterns (``*`` and ``?``) of parameters that do not distinguish series: seeds, paths, ids.
    ignore: tuple[str, ...] = ()


@dataclass(slots=True, kw_only=True)
class HistorySource:
    """What is being imported, with its findings and defaults."""

    findings: Findings = field(default_factory=Findings)
    defaults: ImportDefaults = field(default_factory=ImportDefaults)

    def value(self, raw: Any, path: str, *, line: int | None = None) -> float | None:
        """The number at a location in the file; None if it is missing (counted) or not a number (reported)."""
        try:
            value = history_values.number(raw)
        except history_values.NotANumberError:
            self.findings.error(
                f"expected a number, found {shown(raw)}",
                "correct the value, or delete the entry",
                path=path,
                line=line,
            )
            return None
        if value is None:
            self.findings.missing += 1
        return value


@dataclass(slots=True, kw_only=True)
class HistoryServer(HistorySource):
    """A server of the tool from which its values are imported."""

    #: ``http://`` or ``https://``.
    address: str


@dataclass(slots=True, kw_only=True)
class HistoryFile(HistorySource):
    """A file or folder that is being imported."""

    path: Path

    def time_s(self) -> float:
        """The measurement time for a file without one: the default, else the time of its last change (with a warning)."""
        if self.defaults.time_s is not None:
            return self.defaults.time_s
        written_s = math.floor(self.path.stat().st_mtime)
        self.findings.warn(
            "the file has no measurement time; the time of its last change is used",
            "set the time with --time",
        )
        return float(written_s)


ReadFunction = Callable[[HistoryFile], Iterator[Measurement]]
ReadServerFunction = Callable[[HistoryServer], Iterator[Measurement]]
WriteFunction = Callable[[Iterable[Measurement], BinaryIO, Findings], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One file format, as data. An entry point of the group ``anubis.histories`` names it."""

    #: Value of ``--format``.
    name: str
    #: Display name.
    title: str
    #: Returns whether a file has this format, from its start alone. Required with ``read``.
    detect: Callable[[FileHead], bool] | None = None
    #: Yields the measurements of a file and adds problems to its findings. None: export only.
    read: ReadFunction | None = None
    #: Yields the measurements of a server of the tool, and adds problems to its findings. None: no server.
    read_server: ReadServerFunction | None = None
    #: Writes measurements to a binary stream. None: import only.
    write: WriteFunction | None = None


@cache
def formats() -> dict[str, Format]:
    """Every installed format by name, without those that cannot be loaded."""
    found = [each for each in _loaded().values() if isinstance(each, Format)]
    return {each.name: each for each in sorted(found, key=lambda each: each.name)}


@cache
def _loaded() -> dict[str, Format | str]:
    """Every format by entry name, or why it cannot be loaded."""
    loaded: dict[str, Format | str] = {}
    for entry in entry_points(group="anubis.histories"):
        try:
            loaded[entry.name] = entry.load()
        except (Exception, SystemExit) as error:  # noqa: BLE001  a plug-in may fail in any way, and only it
            loaded[entry.name] = f"{type(error).__name__}: {error}"
    return loaded


def named(name: str, *, writing: bool = False) -> Format:
    """The format with that name. Raises BadInputError, which lists the known formats."""
    able = {
        key: each for key, each in formats().items() if (each.write if writing else each.read) is not None
    }
    if isinstance(failure := _loaded().get(name), str):
        raise BadInputError(
            f'format "{name}" cannot be loaded: {failure}', remedy="update or uninstall its package"
        )
    if name not in able:
        verb = "export to" if writing else "import from"
        raise BadInputError(
            f'"{name}" is not a known format to {verb}', remedy=f"choose one of: {', '.join(able)}"
        )
    return able[name]


def detect(path: Path) -> str | None:
    """The name of the format of a file or folder, recognised by its first 64 KiB; None if it is unknown.

    Raises OSError if the file cannot be read.
    """
    head = FileHead(path)
    for name, each in formats().items():
        if each.detect and each.detect(head):
            return name
    return None
