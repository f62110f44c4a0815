"""Checks of single values beyond their limits: commands can be split, patterns compile, schedules are valid."""

import re
import shlex
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from anubis.describe.check.limits import check, check_key, quoted
from anubis.describe.check.schedules import check_schedule, check_timezone
from anubis.describe.fields import kind_at, pattern_of
from anubis.describe.findings import Findings, Remark, did_you_mean
from anubis.describe.paths import SOURCE_LISTS, Path, leaves, shown
from anubis.model.alert import AlertKind
from anubis.model.descriptor import secret_name
from anubis.model.labels import is_reserved
from anubis.model.problem import Severity

#: Addresses of data and models, by field pattern.
_ADDRESSES = {f"{shown(path)}[].src" for path in SOURCE_LISTS}
#: Events that a notification can subscribe to.
NOTIFY_ON = tuple(kind.value for kind in AlertKind)


_NONE_KNOWN: Mapping[Path, Any] = MappingProxyType({})


def check_values(
    tree: Mapping[str, Any],
    findings: Findings,
    *,
    lenient: bool,
    known: Mapping[Path, Any] = _NONE_KNOWN,
) -> None:
    """Check every value of a tree in the shape of the model; values of the wrong type are left to the validation.

    ``lenient``: the rules of old files. ``known``: values that were checked before, by path; the same object at the same
    path is not checked again.
    """
    for path, value in leaves(tree):
        if path[0] == "matrix" or (value is not None and known.get(path) is value):
            continue
        for remark in remarks(path, value):
            findings.add(path, _lenient(path, value, remark) if lenient else remark)


def _lenient(path: Path, value: Any, remark: Remark) -> Remark:
    """The finding in an old file, whose data may have an address without a scheme, such as a name."""
    if (
        pattern_of(path) not in _ADDRESSES
        or not isinstance(value, str)
        or re.fullmatch(r"\S+", value) is None
    ):
        return remark
    message = f"{quoted(value)} has no scheme, so no source can fetch it"
    return replace(remark, message=message, severity=Severity.WARNING)


def remarks(path: Path, value: Any) -> list[Remark]:
    """The findings about one value, independent of the others."""
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
    message = f"the label {quoted(name)} is reserved for Anubis"
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
            warnings.simplefilter("ignore")  # deprecation hints of Python are not shown to the user
            compiled = re.compile(text)
    except re.error as error:
        at = "" if error.pos is None else f" at character {error.pos + 1}"
        return Remark(
            message=f"the pattern does not compile: {error.msg}{at}",
            remedy="it must be a Python regular expression; write \\ before a literal ( [ . * + ?",
        )
    except (RecursionError, OverflowError):
        return Remark(message="the pattern is too deeply nested to compile", remedy="write a simpler one")
    groups = compiled.groups - ("step" in compiled.groupindex)
    if "value" in compiled.groupindex or groups == 1:
        return None
    if groups == 0:
        message, remedy = (
            "the pattern has no group for the value, so the whole match is read as the number",
            "put parentheses around the number",
        )
    else:
        message, remedy = (
            f"the pattern has {groups} groups; the first is the value",
            "name the group that is the value, (?P<value>...), and that of the step, (?P<step>...); make others (?:...)",
        )
    return Remark(message=message, remedy=remedy, severity=Severity.WARNING)


def _pin(text: str) -> Remark | None:
    for part in text.split(","):
        low, _, high = part.partition("-")
        if high and int(low) > int(high):
            return Remark(
                message=f"the range {part} has no CPU", remedy=f"write the lower number first: {high}-{low}"
            )
    return None


def _target(text: str) -> Remark | None:
    scheme, _, rest = text.partition(":")
    if scheme == "mailto" and "@" not in rest:
        return Remark(
            message=f"{quoted(rest)} is not a mail address",
            remedy='for example: to = "mailto:team@example.org"',
        )
    return None


def _event(text: str) -> Remark | None:
    if text in NOTIFY_ON:
        return None
    return Remark(
        message=f"{quoted(text)} is not an event you can subscribe to", remedy=did_you_mean(text, NOTIFY_ON)
    )


def _variable(text: str) -> Remark | None:
    name = secret_name(text)
    if name is None or re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        return None
    return Remark(
        message=f"{quoted(text)} does not refer to a secret",
        remedy='the name of a secret consists of letters, digits and _, for example "secret:DEPLOY_TOKEN"',
    )


_CHECKS: dict[str, Callable[[str], Remark | None]] = {
    "info.scheduling": check_schedule,
    "info.timezone": check_timezone,
    "env.vars.*": _variable,
    "server.env.vars.*": _variable,
    "ml.benchmark_code": _command,
    "ml.args": _command,
    "measure.pin": _pin,
    "output.metrics[].pattern": _pattern,
    "server.env.start_command": _command,
    "server.env.start_command_args": _command,
    "server.output.metrics[].pattern": _pattern,
    "notify[].to": _target,
    "notify[].on[]": _event,
}
