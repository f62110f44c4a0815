"""Bitmaps of the trigrams of a text: a text whose bitmap lacks a trigram of a pattern does not contain the pattern.

ASCII letters count as lower case, so that one bitmap also serves searches that ignore case.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anubis.late import late

if TYPE_CHECKING:
    import numpy as np
else:  # heavy, and only indexing needs it
    np = late("numpy")

#: Sizes of bitmaps, bytes: each holds the trigrams of 32 times as many bytes of text, and at most those of one chunk.
LEAST_BYTES, MOST_BYTES = 64, 8192
_TEXT_PER_BYTE = 32
_FACTOR = 0x9E3779B1
_MASK = 0xFFFFFFFF


def bitmap(text: bytes) -> bytes:
    """The bitmap of the trigrams of a text; its size is a power of two."""
    size = LEAST_BYTES
    while size < MOST_BYTES and size * _TEXT_PER_BYTE < len(text):
        size *= 2
    codes = np.frombuffer(text.lower(), dtype=np.uint8).astype(np.uint32)
    bits = np.zeros(size * 8, dtype=bool)
    if len(codes) > 2:
        trigrams = (codes[:-2] << 16) | (codes[1:-1] << 8) | codes[2:]
        bits[(trigrams * np.uint32(_FACTOR)) >> np.uint32(32 - _log2(size * 8))] = True
    packed: bytes = np.packbits(bits, bitorder="little").tobytes()
    return packed


def hashes(literals: Sequence[bytes]) -> tuple[int, ...]:
    """The hashes of all trigrams of these texts, for ``may_contain``."""
    found = {
        text[at] << 16 | text[at + 1] << 8 | text[at + 2]
        for text in (literal.lower() for literal in literals)
        for at in range(len(text) - 2)
    }
    return tuple(sorted(trigram * _FACTOR & _MASK for trigram in found))


def may_contain(stored: bytes, wanted: Sequence[int]) -> bool:
    """Whether all these trigrams may occur in the text of a bitmap."""
    shift = 32 - _log2(len(stored) * 8)
    for value in wanted:
        bit = value >> shift
        if not stored[bit >> 3] >> (bit & 7) & 1:
            return False
    return True


def _log2(size: int) -> int:
    return size.bit_length() - 1
