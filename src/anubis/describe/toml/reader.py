"""From the bytes of a file to a plain tree, or the one problem that makes reading on pointless."""

import re
import tomllib
from typing import Any

from anubis.describe.paths import extent
from anubis.describe.toml.positions import Scan
from anubis.describe.toml.syntax import explain
from anubis.model.problem import Problem

#: A descriptor is a page of text; what is larger is something else.
MOST_BYTES = 1 << 20
#: The model is nine tables deep; hyper parameters may go deeper.
_DEEPEST = 24
_MOST_VALUES = 20_000
_CHECK_FILE = "check that this is the right file"
#: A dotted key of very many parts: tomllib takes memory in the square of their number.
_LONG_KEY = re.compile(
    r"""(?<![A-Za-z0-9_-])(?:(?:[A-Za-z0-9_-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}"""
)
_BEGIN = 'begin with spec_version = "1.0", [info], [hardware] and [ml]'
#: Tables that give away other tools' files.
_OTHER_FILES = {
    "pyproject.toml": {"project", "build-system", "tool"},
    "Cargo.toml": {"package", "workspace", "dependencies"},
    "uv.lock or poetry.lock": {"package", "metadata"},
    "Pipfile": {"packages", "dev-packages"},
}


def open_text(text: str | bytes, filename: str) -> tuple[dict[str, Any], Scan] | Problem:
    """The tables of a TOML text and the places of its keys."""
    name = filename or "the text"
    if len(text) > MOST_BYTES:
        message = f"{name} has {len(text):,} bytes; a descriptor has at most {MOST_BYTES:,}"
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
    if deepest > _DEEPEST:
        return _too_deep(name)
    if count > _MOST_VALUES:
        message = f"{name} holds {count:,} values; a descriptor has at most {_MOST_VALUES:,}"
        return Problem(path="", message=message, remedy=_CHECK_FILE)
    return _stranger(tree, name) or (tree, Scan(decoded))


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
            message = f"{name} is not UTF-8 text: byte 0x{text[error.start]:02x} cannot stand here"
            return Problem(path="", message=message, remedy=remedy, line=line, column=column)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return Problem(path="", message=f"{name} holds characters that are no text", remedy=remedy)
    return text.removeprefix("\ufeff")


def _too_deep(name: str) -> Problem:
    message = f"{name} nests tables or lists more than {_DEEPEST} deep"
    return Problem(path="", message=message, remedy=_CHECK_FILE)


def _stranger(tree: dict[str, Any], name: str) -> Problem | None:
    """A TOML file of another kind gets one sentence, not one for each of its keys."""
    if {"spec_version", "info", "hardware"} & tree.keys():
        return None
    if not tree:
        return Problem(path="", message=f"{name} holds nothing but comments", remedy=_BEGIN)
    other = next((file for file, tables in _OTHER_FILES.items() if tables & tree.keys()), None)
    looks = f": it looks like a {other}" if other else ", which has spec_version, [info] and [hardware]"
    return Problem(path="", message=f"{name} is TOML but no descriptor{looks}", remedy=_BEGIN)
