"""What is shown of a line that is found: its text, the matching parts of it, and the lines around it."""

from dataclasses import dataclass

from anubis.record.files import Files
from anubis.search.matchers import Hit
from anubis.search.pieces import Piece
from anubis.search.regex_process import decoded

#: Most characters of a line that are shown, and of these, before the first match in a longer line.
SHOWN, SHOWN_BEFORE = 2000, 200
#: Most bytes on each side of a line that are read for the lines around it.
AROUND_BYTES = 64 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A line as it is shown; see ``FoundLine``."""

    text: str
    cut: tuple[int, int]
    highlights: tuple[tuple[int, int], ...]


def shown(line: bytes, spans: tuple[tuple[int, int], ...]) -> Shown:
    """The part of a line around its first match."""
    text = decoded(line)
    start = max(0, min(spans[0][0] - SHOWN_BEFORE, len(text) - SHOWN)) if len(text) > SHOWN else 0
    end = min(len(text), start + SHOWN)
    inside = (
        (max(first, start) - start, min(last, end) - start) for first, last in spans if start <= first <= end
    )
    return Shown(text=text[start:end], cut=(start, len(text) - end), highlights=tuple(inside))


def around(
    files: Files, stream: str, piece: Piece, hit: Hit, count: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Up to so many lines before and after a line."""
    if not count:
        return (), ()
    offset = piece.start + hit.start
    first = max(0, offset - AROUND_BYTES)
    before = files.read(stream, first, offset - first).split(b"\n")[:-1]
    rest = files.read(stream, piece.start + hit.end, AROUND_BYTES).partition(b"\n")[2]
    after = rest.split(b"\n")
    after = after if after[-1] else after[:-1]
    return tuple(map(_text, before[-count:])), tuple(map(_text, after[:count]))


def _text(line: bytes) -> str:
    return decoded(line.removesuffix(b"\r")[: SHOWN * 4])[:SHOWN]
