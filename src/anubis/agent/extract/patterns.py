"""Compiled patterns, each with a literal text that every match contains, which makes the search fast."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterable

try:
    from re import _constants as _codes  # type: ignore[attr-defined]
    from re import _parser  # type: ignore[attr-defined]
except ImportError:  # before Python 3.11
    import sre_constants as _codes
    import sre_parse as _parser

#: A pattern is switched off after it exceeded its time budget on so many lines.
MOST_SLOW_LINES = 20


class Pattern:
    """One metric's pattern. ``value`` is group ``value``, else the first group that is not ``step``, else the match."""

    def __init__(self, metric: str, text: str) -> None:
        self.metric = metric
        self.regex = re.compile(text)
        named = self.regex.groupindex
        others = [number for number in range(1, self.regex.groups + 1) if number != named.get("step")]
        self.value_group = named.get("value", others[0] if others else 0)
        self.step_group = named.get("step", 0)
        #: Bytes that every matching line contains; None: every line must be matched.
        self.literal = required_literal(self.regex)
        #: The same pattern for many lines at once; None: a match might extend over the end of a line.
        self.bulk = (
            re.compile(text, re.MULTILINE) if not self.step_group and stays_in_line(self.regex) else None
        )
        #: Number of lines on which it exceeded its time budget; it is switched off after MOST_SLOW_LINES.
        self.slow_lines = 0

    @property
    def off(self) -> bool:
        """Whether it is switched off because it exceeded its time budget too often."""
        return self.slow_lines >= MOST_SLOW_LINES


def required_literal(regex: re.Pattern[str]) -> bytes | None:
    """The longest ASCII text that every match contains; None if there is no such text, or if it is uncertain."""
    if regex.flags & re.IGNORECASE:
        return None
    try:
        best = max(_literals(_parser.parse(regex.pattern, regex.flags & ~re.UNICODE)), key=len, default="")
    except Exception:  # noqa: BLE001  the parser is a private module: after any error every line is matched
        return None
    return best.encode() or None


def _literals(parsed: Iterable[Any]) -> list[str]:
    """Contiguous texts that every match contains; the texts of a group are separate from those around it."""
    texts = [""]
    for code, argument in parsed:
        if code is _codes.LITERAL and argument < 128:
            texts[-1] += chr(argument)
            continue
        if code is _codes.SUBPATTERN:
            _, add_flags, _, inner = argument
            if not add_flags & re.IGNORECASE:
                texts += _literals(inner)
        elif code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT) and argument[0] > 0:
            texts += _literals(argument[2])
        if code is not _codes.AT:  # an anchor has zero width
            texts.append("")
    return texts


def stays_in_line(regex: re.Pattern[str]) -> bool:
    """Whether searching many lines at once, with re.MULTILINE, gives the same matches as searching each line."""
    if regex.flags & (re.DOTALL | re.MULTILINE | re.VERBOSE):
        return False
    try:
        return _stays(_parser.parse(regex.pattern, regex.flags & ~re.UNICODE))
    except Exception:  # noqa: BLE001  the parser is a private module: after any error lines are searched one by one
        return False


def _stays(parsed: Iterable[Any]) -> bool:
    for code, argument in parsed:
        if code is _codes.LITERAL:
            fine = chr(argument) not in "\r\n"
        elif code is _codes.ANY:
            fine = True
        elif code is _codes.IN:
            fine = all(_excludes_line_end(item) for item in argument)
        elif code is _codes.AT:
            fine = argument in (_codes.AT_BEGINNING, _codes.AT_END, _codes.AT_BOUNDARY)
        elif code is _codes.SUBPATTERN:
            fine = not argument[1] and not argument[2] and _stays(argument[3])
        elif code in (_codes.MAX_REPEAT, _codes.MIN_REPEAT):
            fine = _stays(argument[2])
        elif code is _codes.BRANCH:
            fine = all(_stays(arm) for arm in argument[1])
        else:  # look-around, back-references, conditions, negated characters
            fine = False
        if not fine:
            return False
    return True


def _excludes_line_end(item: tuple[Any, Any]) -> bool:
    code, argument = item
    if code is _codes.LITERAL:
        return chr(argument) not in "\r\n"
    if code is _codes.RANGE:
        low, high = argument
        return bool(low > 13 or high < 10)
    if code is _codes.CATEGORY:
        return argument in (_codes.CATEGORY_DIGIT, _codes.CATEGORY_WORD, _codes.CATEGORY_NOT_SPACE)
    return False  # NEGATE, and categories that hold white space
