"""For a metric that was never seen: the lines of the output that look most like its pattern."""

from __future__ import annotations

import os
import re

#: How much of the beginning and of the end of each stream is looked at.
_BYTES = 1 << 20
_MOST, _LONGEST = 3, 200
_WORD = re.compile(r"[A-Za-z]{2,}")


def closest_lines(record: str, metric: str, pattern: str | None, emitted: list[str]) -> list[str]:
    """Up to three lines, best first; for a metric to be emitted, names that were emitted instead."""
    if pattern is None:
        from difflib import get_close_matches

        return [f"emitted: {name}" for name in get_close_matches(metric, emitted, _MOST, 0.0)]
    words = {word.lower() for word in _WORD.findall(_plain(pattern))} or {metric.lower()}
    best: dict[str, tuple[int, int]] = {}
    for number, line in enumerate(_lines(record)):
        lowered = line.lower()
        score = sum(len(word) for word in words if word in lowered)
        shape = re.sub(r"\d+", "0", line)  # of many lines that differ in their figures one is enough
        if score >= best.get(shape, (0, 0))[0]:
            best[shape] = (score, number)
            if len(best) > 10_000:
                best = dict(sorted(best.items(), key=_rank)[:100])
    chosen = {number for _, (_, number) in sorted(best.items(), key=_rank)[:_MOST]}
    found = {number: line for number, line in enumerate(_lines(record)) if number in chosen}
    ranks = {number: score for score, number in best.values()}
    return [found[number][:_LONGEST] for number in sorted(found, key=lambda n: (-ranks[n], -n))]


def _rank(item: tuple[str, tuple[int, int]]) -> tuple[int, int]:
    return -item[1][0], -item[1][1]


def _plain(pattern: str) -> str:
    """The pattern without group names, classes and escapes: the words it was written for."""
    return re.sub(r"\(\?P<\w+>|\\.|\[[^\]]*\]", " ", pattern)


def _lines(record: str) -> list[str]:
    """Lines that are not blank, of the beginning and the end of both streams."""
    lines: list[str] = []
    for name in ("stdout", "stderr"):
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
