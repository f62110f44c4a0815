"""Descriptors that share settings: ``extends`` names files on which a file is based, overlays change it.

Tables are merged by key; every other value, lists too, replaces that of the layers below. The result is one text that can be
read without the other files, and the origin of each of its values.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path as FilePath
from typing import Any

from anubis.describe.merged_text import merged_text
from anubis.describe.paths import Path, get, parsed
from anubis.describe.toml.positions import Lines, Scan
from anubis.describe.toml.reader import MAX_BYTES, open_text
from anubis.model.errors import BadInputError
from anubis.model.problem import Problem

#: The key at the top of a file that names its bases.
EXTENDS = "extends"
#: Maximum number of files of one descriptor.
MAX_FILES = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """One of the files of a descriptor."""

    file: str
    tree: dict[str, Any]
    scan: Scan
    lines: Lines
    overlay: bool = False

    def place(self, path: Path) -> tuple[int, int] | None:
        """Line and column of the nearest key at or above a path; None if the file has none."""
        for length in range(len(path), 0, -1):
            if mark := self.scan.marks.get(path[:length]):
                return self.lines.place(mark.start)
        return None

    def owns(self, path: Path) -> bool:
        """Whether the value at a path is that of this layer, if no layer above has it."""
        if get(self.tree, path, _MISSING) is not _MISSING:
            return True
        parents = (get(self.tree, path[:length], _MISSING) for length in range(1, len(path)))
        return any(not isinstance(parent, dict) and parent is not _MISSING for parent in parents)


_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class Composed:
    """The text of a descriptor that was made of one file or several."""

    text: str | bytes
    #: The highest layer first; empty for a file without bases and overlays.
    layers: tuple[Layer, ...] = ()
    #: Path of the value on every line of the text.
    paths: tuple[Path, ...] = field(default=(), repr=False)

    def located(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """Problems of the text, at their places in the files."""
        if not self.layers:
            return tuple(problems)
        return tuple(self._located(problem) for problem in problems)

    def _located(self, problem: Problem) -> Problem:
        path = parsed(problem.path)
        if problem.line is None or path is None:
            return replace(problem, line=None, column=None)
        layer = self.owner(path)
        place = layer.place(path) if layer else None
        if layer is None or place is None:
            return replace(problem, line=None, column=None)
        return replace(problem, file=layer.file, line=place[0], column=place[1])

    def owner(self, path: Path) -> Layer | None:
        """The layer of the value at a path, else of the nearest table around it; None if no file has it."""
        for length in range(len(path), 0, -1):
            for layer in self.layers:
                if layer.owns(path[:length]):
                    return layer
        return None

    def origin(self, line: int) -> tuple[Layer, int] | None:
        """The layer and its line from which a line of the text comes; None for a file without bases and overlays."""
        if not self.layers or line > len(self.paths):
            return None
        path = self.paths[line - 1]
        layer = self.owner(path)
        place = layer.place(path) if layer else None
        return (layer, place[0]) if layer and place else None


def extends_files(content: str, title: str) -> bool:
    """Whether a descriptor names bases, so that other files would be read."""
    if EXTENDS not in content:
        return False
    opened = open_text(content, title, part=True)
    return not isinstance(opened, Problem) and EXTENDS in opened[0]


def compose(
    content: bytes | str, title: str, folder: FilePath, overlays: Sequence[FilePath] = ()
) -> Composed:
    """The descriptor of a file with its bases and overlays; ``folder`` is that of the file.

    Without either, the text is the content. Raises BadInputError if a file cannot be read or merged.
    """
    if not overlays and EXTENDS.encode() not in (content if isinstance(content, bytes) else content.encode()):
        return Composed(text=content)
    opened = open_text(content, title, part=True)
    if isinstance(opened, Problem) or (EXTENDS not in opened[0] and not overlays):
        return Composed(text=content)  # the reader reports what is wrong
    files = _Files()
    layers = files.layers(_layer(opened, title), folder)
    for overlay in overlays:
        layers.append(files.overlay(overlay))
    tree: dict[str, Any] = {}
    for layer in layers:
        tree = _merged(tree, {key: value for key, value in layer.tree.items() if key != EXTENDS})
    composed = Composed(text="", layers=tuple(reversed(layers)))
    lines: list[tuple[str, Path]] = [(f"# merged from {', '.join(layer.file for layer in layers)}", ())]
    lines += merged_text(tree, lambda path: _remark(composed, path))
    return replace(
        composed, text="\n".join(line for line, _ in lines) + "\n", paths=tuple(path for _, path in lines)
    )


def _remark(composed: Composed, path: Path) -> str:
    layer = composed.owner(path)
    place = layer.place(path) if layer else None
    name = "".join(char if char.isprintable() else "?" for char in layer.file) if layer else ""
    return f"{name}:{place[0]}" if place else name


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _layer(opened: tuple[dict[str, Any], Scan], title: str, *, overlay: bool = False) -> Layer:
    tree, scan = opened
    return Layer(file=title, tree=tree, scan=scan, lines=Lines(scan.text), overlay=overlay)


@dataclass(slots=True)
class _Files:
    """Reads the files of one descriptor."""

    count: int = 0

    def layers(self, layer: Layer, folder: FilePath, above: tuple[FilePath, ...] = ()) -> list[Layer]:
        """The bases of a file in the order in which they are merged, then the file."""
        found: list[Layer] = []
        for index, name in enumerate(_bases(layer)):
            path = folder / name
            at = (EXTENDS, index) if isinstance(layer.tree[EXTENDS], list) else (EXTENDS,)
            real = FilePath(os.path.realpath(path))
            if real in above or (layer.file and real == FilePath(os.path.realpath(layer.file))):
                chain = " -> ".join(
                    [*(str(each.name) for each in above), FilePath(layer.file).name, real.name]
                )
                raise _refused(
                    layer, at, f"the files extend each other: {chain}", "remove one of the references"
                )
            base = self._read(
                path,
                _shown(layer.file, name),
                lambda message, at=at: _refused(layer, at, message, "correct the path"),
            )
            chain_above = (*above, FilePath(os.path.realpath(layer.file)))
            found += self.layers(base, path.parent, chain_above)
        return [*found, layer]

    def overlay(self, path: FilePath) -> Layer:
        """The layer of an overlay, which has no bases."""

        def refused(message: str) -> BadInputError:
            return BadInputError(message, remedy="name an existing file with --overlay")

        layer = replace(self._read(path, str(path), refused), overlay=True)
        if EXTENDS in layer.tree:
            raise _refused(
                layer, (EXTENDS,), "an overlay cannot extend other files", "name them with --overlay too"
            )
        return layer

    def _read(self, path: FilePath, shown: str, refused: Any) -> Layer:
        self.count += 1
        if self.count > MAX_FILES:
            raise refused(f"a descriptor has at most {MAX_FILES} files")
        try:
            with path.open("rb") as stream:
                content = stream.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            raise refused(f"{shown} cannot be read: {reason}") from error
        opened = open_text(content, shown, part=True)
        if isinstance(opened, Problem):
            message = f"{shown} is not a valid part of a descriptor"
            raise BadInputError(message, problems=(replace(opened, file=shown),), file=shown)
        return _layer(opened, shown)


def _shown(file: str, name: str) -> str:
    """The path of a base in messages, relative like that of the file which names it."""
    return os.path.normpath(os.path.join(os.path.dirname(file), name))  # noqa: PTH118, PTH120  text, not a file


def _bases(layer: Layer) -> list[str]:
    """The names in ``extends``. Raises BadInputError if it is neither text nor a list of texts."""
    named = layer.tree.get(EXTENDS, [])
    names = [named] if isinstance(named, str) else named
    if not isinstance(names, list) or not all(
        isinstance(name, str) and name.isprintable() and name for name in names
    ):
        raise _refused(
            layer, (EXTENDS,), "extends must be a path or a list of paths", 'write extends = "base.toml"'
        )
    return names


def _refused(layer: Layer, path: Path, message: str, remedy: str) -> BadInputError:
    line, column = layer.place(path) or (None, None)
    problem = Problem(path=EXTENDS, message=message, remedy=remedy, line=line, column=column, file=layer.file)
    return BadInputError(f"{layer.file} is not a valid descriptor", problems=(problem,), file=layer.file)
