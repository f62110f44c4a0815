"""From the bytes of a file to a plain tree, or to the one problem that prevents further reading."""

import re
import tomllib
from typing import Any

from anubis.describe.paths import extent
from anubis.describe.toml.positions import Scan
from anubis.describe.toml.syntax import explain
from anubis.model.problem import Problem

#: Maximum size of a descriptor file.
MAX_BYTES = 1 << 20
#: Maximum nesting; the model has nine levels, hyper parameters may have more.
_MAX_DEPTH = 24
_MAX_VALUES = 20_000
_CHECK_FILE = "check that this is the right file"
#: A dotted key with very many parts: the memory that tomllib needs grows with the square of their number.
_LONG_KEY = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}"""
)
_BEGIN = "write at least name in [info] and benchmark_code in [ml]"
#: Tables by which files of other tools are recognised.
_OTHER_FILES = {
    "pyproject.toml": {"project", "build-system", "tool"},
    "Cargo.toml": {"package", "workspace", "dependencies"},
    "uv.lock or poetry.lock": {"package", "metadata"},
    "Pipfile": {"packages", "dev-packages"},
}


def open_text(
    text: str | bytes, filename: str, *, part: bool = False
) -> tuple[dict[str, Any], Scan] | Problem:
    """The tables of a TOML text and the positions of its keys. ``part``: it need not be a whole descriptor."""
    name = filename or "the text"
    if len(text) > MAX_BYTES:
        message = f"{name} has {len(text):,} bytes; a descriptor has at most {MAX_BYTES:,}"
        return Problem(path="", message=message, remedy=_CHECK_FILE)
    decoded = _decoded(text, name)
    if isinstance(decoded, Problem):
        return decoded
    if not decoded.strip():
        return Problem(path="", message=f"{name} is empty", remedy=_BEGIN)
    if _LONG_KEY.search(decoded):
        return _too_deep(name)
    try:
        tree = tomllib.loads(decoded)
    except RecursionError:
        return _too_deep(name)
    except ValueError as error:
        return explain(decoded, error)
    deepest, count = extent(tree)
    if deepest > _MAX_DEPTH:
        return _too_deep(name)
    if count > _MAX_VALUES:
        message = f"{name} has {count:,} values; a descriptor has at most {_MAX_VALUES:,}"
        return Problem(path="", message=message, remedy=_CHECK_FILE)
    return (None if part else _other_file(tree, name)) or (tree, Scan(decoded))


def _decoded(text: str | bytes, name: str) -> str | Problem:
    remedy = "save it as UTF-8 text"
    if isinstance(text, bytes):
        if text.startswith((b"\xff\xfe", b"\xfe\xff")):
            return Problem(path="", message=f"{name} is UTF-16 text", remedy=remedy)
        try:
            return text.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError as error:
            line = text.count(b"\n", 0, error.start) + 1
            column = error.start - text.rfind(b"\n", 0, error.start)
            message = f"{name} is not UTF-8 text: byte 0x{text[error.start]:02x} is not valid"
            return Problem(path="", message=message, remedy=remedy, line=line, column=column)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return Problem(path="", message=f"{name} contains characters that are not valid text", remedy=remedy)
    return text.removeprefix("\ufeff")


def _too_deep(name: str) -> Problem:
    message = f"{name} nests tables or lists more than {_MAX_DEPTH} deep"
    return Problem(path="", message=message, remedy=_CHECK_FILE)


def _other_file(tree: dict[str, Any], name: str) -> Problem | None:
    """One problem for a TOML file of another kind, instead of one for each of its keys."""
    if {"spec_version", "info", "hardware"} & tree.keys():
        return None
    if not tree:
        return Problem(path="", message=f"{name} contains only comments", remedy=_BEGIN)
    other = next((file for file, tables in _OTHER_FILES.items() if tables & tree.keys()), None)
    looks = f": it looks like a {other}" if other else ": it has no spec_version, [info] and [hardware]"
    return Problem(path="", message=f"{name} is TOML but not a descriptor{looks}", remedy=_BEGIN)
