"""The report of a gate as a file: written by a job that runs untrusted code, read by another job that may post.

The file is the only thing that passes from the first job to the second, so it is read as hostile input: its size is
limited and every key and type is checked. Text from it is only ever shown as text, and it cannot say where it is posted.
"""

import json
import math
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from anubis.model.errors import BadInputError
from anubis.model.plain import to_plain
from anubis.reporting.gate_report import BenchmarkComparison, Report

#: Version of the format.
SCHEMA = 1
#: 3,000 verdicts are 1 MB.
MOST_BYTES = 4 << 20
#: Longer integers become floats, which no field for integers accepts: doubles are exact up to 2**53.
_MOST_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    """The content of the file without its version. ``weighings`` is the key of version 1 of the format."""

    weighings: tuple[BenchmarkComparison, ...]


def write(report: Report, path: Path) -> None:
    """Write the file that ``read`` reads."""
    plain = {"schema": SCHEMA, **_finite(to_plain(_File(weighings=report.comparisons)))}
    path.write_text(json.dumps(plain, allow_nan=False) + "\n", encoding="utf-8")


def read(path: Path) -> Report:
    """The report in an untrusted file. Raises BadInputError, which does not repeat any value, if anything is wrong."""
    try:
        plain = json.loads(_bytes(path), parse_int=_whole)
    except (ValueError, RecursionError):
        raise _refused("it is not JSON") from None
    if not isinstance(plain, dict) or plain.pop("schema", None) != SCHEMA:
        raise _refused(f"its schema is not {SCHEMA}")
    try:
        file = _adapter().validate_json(json.dumps([plain]))[0]
    except ValidationError as error:
        detail = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise _refused(_reason(detail["type"], detail["loc"][1:], detail["msg"])) from None
    return Report(comparisons=file.weighings)


@cache
def _adapter() -> TypeAdapter[tuple[_File]]:
    # A plain dataclass cannot have a configuration; inside a tuple it inherits that of the tuple.
    return TypeAdapter(tuple[_File], config=ConfigDict(strict=True, extra="forbid", allow_inf_nan=False))


def _reason(kind: str, place: Sequence[str | int], message: str) -> str:
    unknown = kind == "unexpected_keyword_argument"
    known = place[:-1] if unknown else place  # the writer of the file chose the name of an unknown key
    path = "report" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in known)
    if unknown:
        return f"{path} has an unknown key"
    if kind == "missing":
        return f"{path} is missing"
    expected = message.removeprefix("Input should ")
    return f"{path}: {message}" if expected == message else f"{path} must {expected}"


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def _bytes(path: Path) -> bytes:
    """The content of a regular file of bounded size. Follows no link; opens no pipe or device."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise _refused(f"it cannot be opened ({error.strerror})") from None
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise _refused("it is not a regular file")
        with open(handle, "rb", closefd=False) as stream:
            content = stream.read(MOST_BYTES + 1)
    finally:
        os.close(handle)
    if len(content) > MOST_BYTES:
        raise _refused(f"it is larger than {MOST_BYTES >> 20} MiB")
    return content


def _refused(why: str) -> BadInputError:
    return BadInputError(
        f"the report is not valid: {why}",
        remedy="write it with this version's anubis check --report FILE",
    )


def _finite(plain: Any) -> Any:
    """Replace numbers that JSON cannot represent, and intervals that contain one, by null."""
    if isinstance(plain, dict):
        return {key: _finite(item) for key, item in plain.items()}
    if isinstance(plain, list):
        items = [_finite(item) for item in plain]
        return None if None in items else items
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain
