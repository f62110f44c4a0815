"""Checks the JSON files of a record: a benchmark can write to its record, so a reader must not trust their content."""

from __future__ import annotations

import json
import math

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Mapping

    from anubis.record.files import Files

#: A larger JSON file is not read; exit.json has about 700 bytes for each execution.
LARGEST_BYTES = 1 << 27
_LONGEST_TEXT = 100_000
_LARGEST_NUMBER = 1e18
_LARGEST_CODE = 2**31
_MOST_PROBLEMS = 3
_OUTCOMES = ("complete", "failed", "none")


class DamagedError(ValueError):
    """A file of the record cannot be read, or the agent cannot have written its content; the text says which and why."""


def read_checked(
    files: Files, file: str, check: Callable[[Mapping[str, Any]], list[str]]
) -> tuple[Mapping[str, Any], str]:
    """The object in a JSON file, and what is wrong with it; the object is empty where the file is missing or wrong."""
    try:
        state = files.state(file)
        if state is None:
            return {}, ""
        if state.size_bytes > LARGEST_BYTES:
            return {}, f"{file} has {state.size_bytes} bytes; at most {LARGEST_BYTES} are valid"
        data = files.read(file, 0, LARGEST_BYTES)
    except (DamagedError, PermissionError) as error:
        return {}, f"{file} cannot be read: {error}"
    try:
        content = json.loads(data, parse_constant=_refuse)
    except RecursionError:
        return {}, f"{file} is nested too deeply"
    except ValueError as error:  # also text that is not UTF-8
        return {}, f"{file} is not JSON: {_short(str(error))}"
    if not isinstance(content, dict):
        return {}, f"{file} must be an object, found {_name(content)}"
    problems = check(content)
    if problems:
        return {}, "; ".join(f"{file}: {problem}" for problem in problems[:_MOST_PROBLEMS])
    return content, ""


def exit_problems(content: Mapping[str, Any]) -> list[str]:
    """What is wrong with the content of exit.json. Whether the cause is a known one is checked by its reader."""
    problems = [
        *_wrong(content, ("code", "signal"), _is_code, "an exit code or null", optional=True),
        *_wrong(content, ("cause",), _is_name, "the name of a cause or null", optional=True),
        *_wrong(content, ("reason",), _is_text, "text"),
        *_wrong(content, ("started_s", "ended_s"), _is_number, "a number"),
        *_wrong(content, ("disk_free_bytes",), _is_number, "a number"),
        *_wrong(content, ("extraction", "sampling"), _is_outcome, "one of " + ", ".join(_OUTCOMES)),
        *_wrong(content, ("executions",), _is_list, "a list"),
        *_wrong(content, ("warm_up",), _is_warm_up, "the end of a warm-up or null", optional=True),
    ]
    if not content:
        problems.append("it is empty")
    elif content.get("code") == 0 and content.get("cause") is None and "executions" not in content:
        problems.append('"executions" is missing')
    for number, execution in enumerate(() if problems else content.get("executions", ())):
        problems += [f"executions[{number}]: {problem}" for problem in _execution_problems(execution)]
    return problems


def facts_problems(content: Mapping[str, Any]) -> list[str]:
    """What is wrong with the content of facts.json."""
    return _wrong(content, ("fingerprint",), _is_name, "text")


def metrics_problems(content: Mapping[str, Any]) -> list[str]:
    """What is wrong with the content of metrics.json."""
    reports = content.get("metrics", {})
    if not isinstance(reports, dict):
        return [f'"metrics" must be an object, found {_name(reports)}']
    problems = []
    for report in reports.values():
        if not isinstance(report, dict):
            problems.append(f"a report must be an object, found {_name(report)}")
            continue
        problems += _wrong(report, ("rejected",), _is_counts, "an object of counts")
        problems += _wrong(report, ("closest",), _is_list, "a list")
    return problems


def _execution_problems(execution: Any) -> list[str]:
    if not isinstance(execution, dict):
        return [f"must be an object, found {_name(execution)}"]
    if "wall_s" not in execution:  # it did not start
        return []
    times = ("started_s", "ended_s", "wall_s", "user_s", "system_s")
    needed = [f'"{name}" is missing' for name in (*times, "repeat", "code") if name not in execution]
    return [
        *needed,
        *_wrong(execution, times, _is_duration, "a number, not negative"),
        *_wrong(execution, ("repeat",), _is_code, "an integer"),
        *_wrong(execution, ("code",), _is_code, "an exit code or null", optional=True),
        *_wrong(execution, ("peak_memory_bytes",), _is_duration, "a number or null", optional=True),
    ]


def _wrong(
    content: Mapping[str, Any],
    names: tuple[str, ...],
    is_valid: Callable[[Any], bool],
    expected: str,
    *,
    optional: bool = False,
) -> list[str]:
    """A sentence for each of these fields that is present and not valid. ``optional``: null is valid."""
    return [
        f'"{name}" must be {expected}, found {_name(content[name])}'
        for name in names
        if name in content and not (optional and content[name] is None) and not is_valid(content[name])
    ]


def _is_code(value: Any) -> bool:
    return type(value) is int and -_LARGEST_CODE <= value < _LARGEST_CODE


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < _LARGEST_NUMBER and math.isfinite(value)


def _is_duration(value: Any) -> bool:
    return _is_number(value) and value >= 0


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= 200


def _is_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(type(count) is int and count >= 0 for count in value.values())


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _is_outcome(value: Any) -> bool:
    return value in _OUTCOMES


def _name(value: Any) -> str:
    """How a message shows a value: null, or its beginning as JSON."""
    try:
        return _short(json.dumps(value))
    except RecursionError:
        return "a deeply nested value"


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is not valid in JSON")


def _is_warm_up(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and _is_code(value.get("executions"))
        and isinstance(value.get("is_steady"), bool)
        and _is_text(value.get("why"))
    )
