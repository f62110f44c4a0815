"""For a metric that was never seen: the lines of the output that look most like its pattern."""

from __future__ import annotations

import os
import re

from anubis.record import layout

#: How much of the beginning and of the end of each stream is looked at.
_BYTES = 1 << 20
_MOST, _LONGEST = 3, 200
_WORD = re.compile(r"[A-Za-z]{2,}")
_FIGURE = re.compile(r"\d+")
#: A misspelt word has about as many letters as the right one, and shares this part of them in order.
_MISSPELT_LETTERS, _ALIKE = 2, 0.75


class Closest:
    """Reads the output once, when it is first asked. Of many lines that differ only in their figures it keeps the last."""

    def __init__(self, record: str) -> None:
        self._record = record
        self._lines: list[str] | None = None

    def lines(self, metric: str, pattern: str) -> list[str]:
        """Up to three lines, best first; of equally good ones those that came last."""
        if self._lines is None:
            self._lines = list({_FIGURE.sub("0", line): line for line in _read(self._record)}.values())
        words = {word.lower() for word in _WORD.findall(_plain(pattern))} or {metric.lower()}
        alike = _alike(words, self._lines)
        scored = [(_score(line, words, alike), number, line) for number, line in enumerate(self._lines)]
        return [line[:_LONGEST] for _, _, line in sorted(scored, reverse=True)[:_MOST]]


def closest_names(metric: str, emitted: list[str]) -> list[str]:
    """For a metric to be emitted: names that were emitted instead."""
    from difflib import get_close_matches

    return [f"emitted: {name}" for name in get_close_matches(metric, emitted, _MOST, 0.0)]


def _alike(words: set[str], lines: list[str]) -> dict[str, float]:
    """Words of the output that look like misspellings of ``words`` -> what each adds to the score of its line."""
    from difflib import SequenceMatcher

    seen = {word.lower() for line in lines for word in _WORD.findall(line)} - words
    alike: dict[str, float] = {}
    for word in words:
        matcher = SequenceMatcher(b=word, autojunk=False)
        for other in seen:
            if abs(len(other) - len(word)) > _MISSPELT_LETTERS:  # most words of a long output end here
                continue
            matcher.set_seq1(other)
            if matcher.quick_ratio() >= _ALIKE and (ratio := matcher.ratio()) >= _ALIKE:
                alike[other] = max(alike.get(other, 0.0), len(word) * ratio)
    return alike


def _score(line: str, words: set[str], alike: dict[str, float]) -> float:
    lowered = line.lower()
    misspelt = {word for word in _WORD.findall(lowered) if word in alike} if alike else set()
    return sum(len(word) for word in words if word in lowered) + sum(alike[word] for word in misspelt)


def _plain(pattern: str) -> str:
    """The pattern without group names, classes and escapes: the words it was written for."""
    return re.sub(r"\(\?P<\w+>|\\.|\[[^\]]*\]", " ", pattern)


def _read(record: str) -> list[str]:
    """Lines that are not blank, of the beginning and the end of both streams."""
    lines: list[str] = []
    for name in (layout.STDOUT, layout.STDERR):
        with open(os.path.join(record, name), "rb") as file:
            size = os.fstat(file.fileno()).st_size
            data = file.read(_BYTES)
            if size > 2 * _BYTES:
                file.seek(size - _BYTES)
                data += b"\n"
            data += file.read(_BYTES)
        pieces = (piece.strip() for piece in re.split(rb"[\r\n]+", data))
        lines += [piece[:1024].decode("utf-8", "replace") for piece in pieces if piece]
    return lines
