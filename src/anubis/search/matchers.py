"""Finds the lines of a piece that match: a plain text here, a regular expression in a process of its own."""

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Self

from anubis.model.errors import AnubisError, BadInputError
from anubis.search import bitmaps
from anubis.search.regex_process import MOST_HIGHLIGHTS, decoded, lines_with

#: Most CPU time of a regular expression for one piece, seconds.
LIMIT_S = 2.0
#: The process is ended if it has not answered after so long, for example because it was stopped; seconds.
PATIENCE_S = 60.0
#: Longest pattern, characters.
LONGEST_PATTERN = 1000
_PROGRAM = "import sys; sys.path.insert(0, sys.argv[1]); from anubis.search.regex_process import main; main()"
_PACKAGES = str(Path(__file__).parents[2])
#: Signals that end the process when its time is spent.
_SPENT = {-signal.SIGPROF, -signal.SIGXCPU, -signal.SIGKILL}


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that matches."""

    #: Offsets in the piece, without the line end.
    start: int
    end: int
    #: The matching parts, in characters of the decoded line.
    spans: tuple[tuple[int, int], ...]


class Matcher(Protocol):
    """Finds lines."""

    @property
    def needed(self) -> Sequence[int]:
        """What bitmaps must contain (``bitmaps.hashes``) for a line to match."""
        ...

    def hits(self, data: bytes) -> list[Hit]:
        """The lines of a piece that match, in order."""
        ...

    def close(self) -> None: ...


def matcher(pattern: str, *, regex: bool, ignore_case: bool) -> Matcher:
    """The matcher of a pattern; it must be closed. Raises BadInputError.

    ``ignore_case`` is about ASCII letters.
    """
    if not pattern or len(pattern) > LONGEST_PATTERN:
        raise BadInputError(
            f"the pattern has {len(pattern)} characters", remedy=f"give 1 to {LONGEST_PATTERN} characters"
        )
    if "\n" in pattern:
        raise BadInputError("the pattern contains a line end", remedy="search for a part of one line")
    return RegexMatcher(pattern, ignore_case=ignore_case) if regex else TextMatcher(pattern, ignore_case)


class TextMatcher:
    """Lines that contain a text."""

    def __init__(self, pattern: str, ignore_case: bool) -> None:
        self._text = pattern.encode("utf-8", "surrogateescape")
        self._ignore_case = ignore_case
        self.needed: Sequence[int] = bitmaps.hashes([self._text])

    def hits(self, data: bytes) -> list[Hit]:
        """See ``Matcher``."""
        found = []
        for start, end in lines_with(data, self._text, ignore_case=self._ignore_case):
            if spans := self._spans(
                data[start:end]
            ):  # none if it contains the carriage return of the line end
                found.append(Hit(start, end, spans))
        return found

    def _spans(self, line: bytes) -> tuple[tuple[int, int], ...]:
        looked, text = (line.lower(), self._text.lower()) if self._ignore_case else (line, self._text)
        spans: list[tuple[int, int]] = []
        at, chars = 0, 0
        while (hit := looked.find(text, at)) >= 0 and len(spans) < MOST_HIGHLIGHTS:
            start = chars + len(decoded(line[at:hit]))
            at = hit + len(text)
            chars = start + len(decoded(line[hit:at]))
            spans.append((start, chars))
        return tuple(spans)

    def close(self) -> None:
        """See ``Matcher``."""


class RegexMatcher:
    """Lines in which a regular expression matches. Used by one thread."""

    def __init__(self, pattern: str, *, ignore_case: bool, limit_s: float = LIMIT_S) -> None:
        self._pattern = pattern
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, _PACKAGES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._watch = threading.Timer(PATIENCE_S, self._process.kill)
        self._watch.daemon = True
        self._watch.start()
        try:
            asked = {"pattern": pattern, "ignore_case": ignore_case, "limit_s": limit_s}
            answer = self._asked(json.dumps(asked).encode() + b"\n")
            if "error" in answer:
                raise BadInputError(
                    f"{pattern!r} is not a regular expression: {answer['error']}",
                    remedy="correct it, or search for it as plain text",
                )
        except BaseException:
            self.close()
            raise
        literal = answer["literal"]
        self.needed: Sequence[int] = bitmaps.hashes([literal.encode()] if literal else [])

    def hits(self, data: bytes) -> list[Hit]:
        """See ``Matcher``. Raises BadInputError for a pattern that takes too long."""
        answer = self._asked(b"%d\n%b" % (len(data), data))
        return [Hit(start, end, tuple(map(tuple, spans))) for start, end, spans in answer]

    def _asked(self, request: bytes) -> Any:
        try:
            self._input.write(request)
            self._input.flush()
            line = self._output.readline()
        except (BrokenPipeError, ConnectionError):
            line = b""
        if line.endswith(b"\n"):
            return json.loads(line)
        status = self._process.wait()
        if status in _SPENT:
            raise BadInputError(
                f"the regular expression {self._pattern!r} takes too long",
                remedy="avoid a repetition inside a repetition, such as (a+)+, or search for plain text",
            )
        raise AnubisError(
            f"the process of the regular expression {self._pattern!r} ended with status {status}",
            remedy="search for plain text, or repeat the search when the machine has more free memory",
        )

    @property
    def _input(self) -> Any:
        return self._process.stdin

    @property
    def _output(self) -> Any:
        return self._process.stdout

    def close(self) -> None:
        """End the process."""
        self._watch.cancel()
        self._process.kill()
        self._process.wait()
        for stream in (self._input, self._output):
            try:
                stream.close()
            except BrokenPipeError:
                continue

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()
