r"""Patterns against many lines of one stream at once.

Lines end at ``\n`` or ``\r``. Only the first 16 KiB of a line are matched, because some patterns take quadratic time and
some programs print a megabyte without a line end.
"""

from __future__ import annotations

from bisect import bisect_right

from anubis.agent.extract.emit_lines import Emitted
from anubis.agent.extract.metric_buffers import MetricBuffers
from anubis.agent.extract.patterns import Pattern
from anubis.agent.extract.regex_timeout import OverrunError, RegexTimeout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterator

LONGEST_LINE = 16_384
#: A pattern with more than one candidate per so many bytes is searched in bulk.
_DENSE_BYTES = 2048
#: A byte is rare when it occurs less than once per so many bytes.
_RARE_BYTES = 400
#: How many bytes are read to decide this.
_PROBE_BYTES = 65_536
_OBJECT = b'{"'


class Lines:
    """Complete lines of one stream: their bytes and the arrival time of each part."""

    __slots__ = ("body", "ends", "has_returns", "repeat", "times")

    def __init__(self, body: bytes, ends: list[int], times: list[float], repeat: int) -> None:
        self.body = body
        #: End offsets in ``body`` of the parts that arrived at ``times`` (UTC s), ascending; the last covers all.
        self.ends = ends
        self.times = times
        self.repeat = repeat
        self.has_returns = b"\r" in body

    def time_of(self, end: int) -> float:
        """Arrival time of the end of the line that ends at this offset."""
        return self.times[min(bisect_right(self.ends, end), len(self.times) - 1)]

    def times_of(self, ends: list[int]) -> list[float]:
        """The arrival times of many lines."""
        if not ends or self.ends[0] > ends[-1]:  # all of it arrived together
            return self.times[:1] * len(ends)
        return [self.time_of(end) for end in ends]

    def holding(self, literal: bytes) -> Iterator[tuple[bytes, int]]:
        """Every line that contains the literal, truncated to LONGEST_LINE, with the offset of its end."""
        body, at, size = self.body, 0, len(self.body)
        find, rfind = body.find, body.rfind
        rare = self._rare_byte(literal)
        while True:
            hit = find(literal, at) if rare < 0 else self._find_by(rare, literal, at)
            if hit < 0:
                return
            start = rfind(b"\n", at, hit) + 1 or at
            end = find(b"\n", hit)
            if end < 0:
                end = size
            if self.has_returns:
                start = rfind(b"\r", start, hit) + 1 or start
                cut = find(b"\r", hit, end)
                end = end if cut < 0 else cut
            yield body[start : end if end - start <= LONGEST_LINE else start + LONGEST_LINE], end
            at = end + 1

    def _rare_byte(self, literal: bytes) -> int:
        """The position in the literal of a byte that is rare here, or -1. Searching for one byte is ten times faster than
        searching for several.
        """
        probe = self.body[: _PROBE_BYTES // 8]
        count, at = min((probe.count(byte), at) for at, byte in enumerate(literal))
        return at if count * _RARE_BYTES < len(probe) else -1

    def _find_by(self, rare: int, literal: bytes, at: int) -> int:
        """The result of ``bytes.find`` for the literal, searched by one of its bytes."""
        body, byte = self.body, literal[rare : rare + 1]
        hit = body.find(byte, at + rare)
        while hit >= 0 and not body.startswith(literal, hit - rare):
            hit = body.find(byte, hit + 1)
        return hit - rare if hit >= 0 else -1

    def objects(self) -> Iterator[tuple[bytes, int]]:
        """Every line that starts like a JSON object, with the offset of its end."""
        if b"{" not in self.body:
            return
        for line, end in self.holding(_OBJECT):
            if line.startswith(_OBJECT):
                yield line, end

    def all(self) -> Iterator[tuple[bytes, int]]:
        """Every line, truncated to LONGEST_LINE, with the offset of its end."""
        at = 0
        for whole in self.body.split(b"\n"):
            for line in whole.split(b"\r") if self.has_returns else (whole,):
                at += len(line) + 1
                if line:
                    yield line[:LONGEST_LINE], at - 1

    def whole(self) -> Iterator[tuple[bytes, int]]:
        """Every line, not truncated, with the offset of its end."""
        at = 0
        for line in self.body.split(b"\n"):
            at += len(line) + 1
            if line:
                yield line, at - 1

    def pieces(self) -> Iterator[tuple[str, float]]:
        """The lines as one text per arrival time."""
        start = 0
        for end, time_s in zip(self.ends, self.times):
            cut = len(self.body) if end >= len(self.body) else self.body.rfind(b"\n", start, end) + 1
            if cut > start:
                yield self.body[start:cut].decode("utf-8", "replace"), time_s
                start = cut

    def are_short(self) -> bool:
        """Whether no line is longer than LONGEST_LINE: each half of that length contains a line end."""
        half = LONGEST_LINE // 2
        return all(self.body.find(b"\n", at, at + half) >= 0 for at in range(0, len(self.body) - half, half))


class Scanner:
    """Searches lines for every pattern, and stdout for emitted objects."""

    def __init__(
        self, patterns: list[Pattern], buffers: MetricBuffers, emitted: Emitted, guard: RegexTimeout
    ) -> None:
        self._patterns = patterns
        self._buffers = buffers
        self._emitted = emitted
        self._guard = guard

    def scan(self, lines: Lines, is_stdout: bool) -> None:
        """Add every sample of these lines."""
        for pattern in self._patterns:
            if not pattern.off and not self._scan_in_bulk(pattern, lines):
                self._scan_by_line(pattern, lines)
        if is_stdout:
            for line, end in lines.objects():
                self._emitted.take_stdout(line, lines.time_of(end), lines.repeat)

    def _scan_in_bulk(self, pattern: Pattern, lines: Lines) -> bool:
        """Search all lines at once if that gives the same matches and is faster; returns whether it was done."""
        if pattern.bulk is None or lines.has_returns:
            return False
        literal = pattern.literal
        if literal is not None:
            probe = min(len(lines.body), _PROBE_BYTES)
            if lines.body.count(literal, 0, probe) * _DENSE_BYTES < probe:
                return False
        if not lines.are_short():
            return False
        parts = []
        group = pattern.value_group
        try:
            for text, time_s in lines.pieces():
                self._guard.attempt += 1
                texts = pattern.bulk.findall(text)
                self._guard.attempt += 1
                if pattern.bulk.groups > 1:
                    texts = [groups[group - 1] for groups in texts]
                parts.append((texts, time_s))
        except OverrunError:
            self._guard.attempt += self._guard.attempt % 2
            return False
        buffer = self._buffers[pattern.metric, None, ()]
        for texts, time_s in parts:
            if texts:
                buffer.take_many(texts, [time_s] * len(texts), lines.repeat)
        return True

    def _scan_by_line(self, pattern: Pattern, lines: Lines) -> None:
        guard, findall, finditer = self._guard, pattern.regex.findall, pattern.regex.finditer
        value, step = pattern.value_group, pattern.step_group
        texts: list[str] = []
        steps: list[str | None] = []
        ends: list[int] = []
        for line, end in lines.all() if pattern.literal is None else lines.holding(pattern.literal):
            text = line.decode("utf-8", "replace")
            try:
                guard.attempt += 1
                if pattern.regex.groups < 2 and not step:
                    values = findall(text)
                else:
                    matches = list(finditer(text))
                    values = [match[value] or "" for match in matches]
                    steps += [match[step] for match in matches] if step else ()
                guard.attempt += 1
            except OverrunError:
                guard.attempt += guard.attempt % 2
                pattern.slow_lines += 1
                if pattern.off:
                    break
                continue
            texts += values
            ends += [end] * len(values)
        if not texts:
            return
        buffer = self._buffers[pattern.metric, None, ()]
        times = lines.times_of(ends)
        if step:
            for text, time_s, step_text in zip(texts, times, steps):
                buffer.take(text, time_s, step_text, lines.repeat)
        else:
            buffer.take_many(texts, times, lines.repeat)
