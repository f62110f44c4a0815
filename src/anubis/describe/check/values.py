"""What single values must hold beyond their limits: commands split, patterns compile, schedules exist."""

import re
import shlex
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from anubis.describe.check.limits import check, check_key, quoted
from anubis.describe.check.schedules import check_schedule, check_timezone
from anubis.describe.fields import kind_at, pattern_of
from anubis.describe.findings import Findings, Remark, did_you_mean
from anubis.describe.paths import Path, leaves
from anubis.model.alert import AlertKind
from anubis.model.labels import is_reserved
from anubis.model.problem import Severity

#: What a notification may be about.
NOTIFY_ON = tuple(kind.value for kind in AlertKind)


def check_values(tree: Mapping[str, Any], findings: Findings) -> None:
    """Check every value of a tree in the model's shape; values of the wrong kind are left to the door."""
    for path, value in leaves(tree):
        if path[0] == "matrix":
            continue
        for remark in remarks(path, value):
            findings.add(path, remark)


def remarks(path: Path, value: Any) -> list[Remark]:
    """What is wrong with one value, without knowing the others."""
    pattern = pattern_of(path)
    found = [check(path, pattern, value)]
    if pattern.endswith(".*"):
        found.append(check_key(path, pattern[:-2]))
    if found[0] is None and isinstance(value, str) and kind_at(path) is str:
        if (special := _CHECKS.get(pattern)) is not None:
            found.append(special(value))
        if pattern == "info.labels.*":
            found.append(_label_name(str(path[-1])))
    return [remark for remark in found if remark is not None]


def _label_name(name: str) -> Remark | None:
    if not is_reserved(name):
        return None
    message = f"the label {quoted(name)} belongs to the system, which files its runs under it"
    return Remark(message=message, remedy="choose another name")


def _command(text: str) -> Remark | None:
    try:
        shlex.split(text)
    except ValueError as error:
        if "escaped" in str(error):
            return Remark(
                message="the command ends in a lone backslash", remedy="remove it, or write it twice"
            )
        return Remark(
            message="a quotation mark in the command is never closed", remedy="close it, or escape it with \\"
        )
    return None


def _pattern(text: str) -> Remark | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python's hints about odd patterns are not the user's concern
            compiled = re.compile(text)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        return Remark(
            message=f"the pattern does not compile: {error.msg}{at}",
            remedy="it is a Python regular expression; a literal ( [ . * + ? needs a \\ before it",
        )
    except (RecursionError, OverflowError):
        return Remark(message="the pattern is too deeply nested to compile", remedy="write a simpler one")
    if "value" in compiled.groupindex or compiled.groups == 1:
        return None
    if compiled.groups == 0:
        message, remedy = (
            "the pattern has no group, so all of the matched text is read as the number",
            "put parentheses around the number",
        )
    else:
        message, remedy = (
            f"the pattern has {compiled.groups} groups, of which the first is the value",
            "name the group that is the value, (?P<value>...), or make the others (?:...)",
        )
    return Remark(message=message, remedy=remedy, severity=Severity.WARNING)


def _target(text: str) -> Remark | None:
    scheme, _, rest = text.partition(":")
    if scheme == "mailto" and "@" not in rest:
        return Remark(
            message=f"{quoted(rest)} is no mail address", remedy='for example: to = "mailto:team@example.org"'
        )
    return None


def _occasion(text: str) -> Remark | None:
    if text in NOTIFY_ON:
        return None
    return Remark(
        message=f"{quoted(text)} is nothing one can be told of", remedy=did_you_mean(text, NOTIFY_ON)
    )


_CHECKS: dict[str, Callable[[str], Remark | None]] = {
    "info.scheduling": check_schedule,
    "info.timezone": check_timezone,
    "ml.benchmark_code": _command,
    "ml.args": _command,
    "output.metrics[].pattern": _pattern,
    "server.env.start_command": _command,
    "server.env.start_command_args": _command,
    "server.output.metrics[].pattern": _pattern,
    "notify[].to": _target,
    "notify[].on[]": _occasion,
}
