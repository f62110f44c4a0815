"""Every value of a descriptor with its origin: the file, an override, a default, or the submission."""

import dataclasses
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from enum import StrEnum
from itertools import groupby
from types import MappingProxyType
from typing import Any

from anubis.describe.examples import value_text
from anubis.describe.inheritance import Composed
from anubis.describe.paths import Path, get, parsed, shown
from anubis.describe.reading import UpgradableText, examine
from anubis.describe.toml.positions import Lines
from anubis.model.descriptor import Descriptor, Matrix
from anubis.model.plain import to_plain

_NONE: Mapping[str, str] = MappingProxyType({})


class Origin(StrEnum):
    """Where the value of a field comes from."""

    FILE = "file"
    #: A file that changes the descriptor file.
    OVERLAY = "overlay"
    #: ``--set``.
    OVERRIDE = "override"
    DEFAULT = "default"
    #: Derived from an old spelling.
    OLD = "old spelling"
    #: The value of an axis in this cell.
    MATRIX = "matrix"
    #: Set at submission: the engine, the commit, the script archive.
    SUBMISSION = "submission"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedValue:
    """One value of a descriptor."""

    path: Path
    value: Any
    origin: Origin
    #: 1-based line in the file; None if the value is not in the file.
    line: int | None = None
    #: The file of the line, if the descriptor was made of several.
    file: str = ""


def located(values: Iterable[ResolvedValue], composed: Composed) -> tuple[ResolvedValue, ...]:
    """Values of a composed text, with their lines in the files of which it was made."""
    return tuple(_located(value, composed) for value in values)


def _located(value: ResolvedValue, composed: Composed) -> ResolvedValue:
    found = composed.origin(value.line) if value.line is not None else None
    if found is None:
        return value
    layer, line = found
    origin = Origin.OVERLAY if layer.overlay else value.origin
    return dataclasses.replace(value, file=layer.file, line=line, origin=origin)


def resolved(
    text: str | bytes,
    *,
    overrides: Mapping[str, str] = _NONE,
    descriptor: Descriptor | None = None,
    axes: Iterable[str] = (),
) -> tuple[ResolvedValue, ...]:
    """Every value of a descriptor, in the order of the model, defaults included; fields without a value are left out.

    ``descriptor`` is what was made of the text (None: what the reader makes of it), and ``axes`` are the axes of its
    matrix that have one value in it. Empty for a text that is not a valid descriptor, if there is no ``descriptor``.
    """
    reading, upgradable = examine(text, overrides=overrides)
    final = descriptor or reading.descriptor
    if final is None:
        return ()
    as_read = dict(_values(reading.descriptor)) if reading.descriptor else {}
    origins = _Origins(upgradable, {path for axis in axes if (path := parsed(axis))})
    return tuple(
        origins.of(path, value, submitted=as_read.get(path, _Origins) != value)
        for path, value in _values(final)
    )


def resolved_text(values: Iterable[ResolvedValue], *, file: str) -> str:
    """The values as a descriptor file, each with its origin in a comment."""
    blocks = []
    for table, members in groupby(values, key=lambda each: each.path[:-1]):
        lines = [
            (f"{shown(each.path[-1:])} = {value_text(each.value)}", _remark(each, file)) for each in members
        ]
        width = min(40, max(len(line) for line, _ in lines))
        listed = bool(table) and isinstance(table[-1], int)
        name = shown(tuple(part for part in table if isinstance(part, str)))
        header = [f"[[{name}]]" if listed else f"[{name}]"] if table else []
        blocks.append("\n".join([*header, *(f"{line:{width}}  # {remark}" for line, remark in lines)]))
    return "\n\n".join(blocks) + "\n"


def _remark(each: ResolvedValue, file: str) -> str:
    if each.line is not None:
        overlay = "overlay " if each.origin is Origin.OVERLAY else ""
        return f"{overlay}{each.file or file}:{each.line}"
    return "--set" if each.origin is Origin.OVERRIDE else each.origin.value


def _values(section: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Every field with a value below a section; scalars and lists first, so that the order is valid in a TOML file."""
    tables: list[tuple[Path, Any]] = []
    for spec in dataclasses.fields(section):
        value, place = getattr(section, spec.name), (*path, spec.name)
        if value is None or value in ((), {}):
            continue
        if isinstance(section, Matrix) and spec.name == "axes":
            yield from (((*path, axis), to_plain(values)) for axis, values in value.items())
        elif dataclasses.is_dataclass(value) or isinstance(value, dict):
            tables.append((place, value))
        elif isinstance(value, tuple) and dataclasses.is_dataclass(value[0]):
            tables += [((*place, index), item) for index, item in enumerate(value)]
        else:
            yield place, to_plain(value)
    for place, value in tables:
        if isinstance(value, dict):
            yield from (((*place, key), to_plain(item)) for key, item in value.items())
        else:
            yield from _values(value, place)


class _Origins:
    """Finds the origin of values in the text from which they were read."""

    def __init__(self, text: UpgradableText | None, axes: set[Path]) -> None:
        self._text = text
        self._axes = axes
        self._tree = tomllib.loads(text.scan.text) if text else {}
        self._lines = Lines(text.scan.text) if text else None

    def of(self, path: Path, value: Any, *, submitted: bool) -> ResolvedValue:
        if any(path[: len(axis)] == axis for axis in self._axes):
            return ResolvedValue(path=path, value=value, origin=Origin.MATRIX)
        if submitted or self._text is None or self._lines is None:
            return ResolvedValue(path=path, value=value, origin=Origin.SUBMISSION)
        found = self._text.findings.original(path)
        for length in range(len(found), 0, -1):
            place = found[:length]
            if place in self._text.findings.overridden:
                return ResolvedValue(path=path, value=value, origin=Origin.OVERRIDE)
            is_value = length == len(found) or not isinstance(get(self._tree, place), dict | list)
            mark = self._text.scan.marks.get(place)
            if mark and is_value and get(self._tree, place) is not None:
                line = self._lines.place(mark.start)[0]
                return ResolvedValue(path=path, value=value, origin=Origin.FILE, line=line)
        is_old = any(edit.path == path[: len(edit.path)] for edit in self._text.edits)
        return ResolvedValue(path=path, value=value, origin=Origin.OLD if is_old else Origin.DEFAULT)
