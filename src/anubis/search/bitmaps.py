"""Bitmaps of the sequences of three and of four bytes in a text: a text whose bitmap lacks one that a pattern has does not
contain the pattern.

Sequences of three bytes serve short patterns. Those of four also tell identifiers apart: a quarter of a megabyte of output
with hexadecimal identifiers contains all sequences of three digits. ASCII letters count as lower case, so that one bitmap
also serves searches that ignore case.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from anubis.late import late

if TYPE_CHECKING:
    import numpy as np
else:  # heavy, and only indexing needs it
    np = late("numpy")

#: Sizes of bitmaps, bytes: one byte for 32 bytes of text, and at most this for one piece.
LEAST_BYTES, MOST_BYTES = 64, 8192
_TEXT_PER_BYTE = 32
#: Factors of multiplicative hashing, for sequences of three and of four bytes.
_OF_3, _OF_4 = 0x9E3779B1, 0x85EBCA6B
_MASK = 0xFFFFFFFF


def bitmap(text: bytes) -> bytes:
    """The bitmap of a text; its size is a power of two."""
    size = LEAST_BYTES
    while size < MOST_BYTES and size * _TEXT_PER_BYTE < len(text):
        size *= 2
    codes = np.frombuffer(text.lower(), dtype=np.uint8).astype(np.uint32)
    bits = np.zeros(size * 8, dtype=bool)
    shift = np.uint32(32 - _log2(size * 8))
    if len(codes) > 2:
        three = (codes[:-2] << 16) | (codes[1:-1] << 8) | codes[2:]
        bits[(three * np.uint32(_OF_3)) >> shift] = True
        four = (three[:-1] << 8) | codes[3:]
        bits[(four * np.uint32(_OF_4)) >> shift] = True
    packed: bytes = np.packbits(bits, bitorder="little").tobytes()
    return packed


def hashes(literals: Sequence[bytes]) -> tuple[int, ...]:
    """The hashes of all sequences in these texts, for ``may_contain``."""
    lowered = [literal.lower() for literal in literals]
    found = {
        int.from_bytes(text[at : at + length], "big") * factor & _MASK
        for text in lowered
        for length, factor in ((3, _OF_3), (4, _OF_4))
        for at in range(len(text) - length + 1)
    }
    return tuple(sorted(found))


def may_contain(stored: bytes, wanted: Sequence[int]) -> bool:
    """Whether all these sequences may occur in the text of a bitmap."""
    shift = 32 - _log2(len(stored) * 8)
    for value in wanted:
        bit = value >> shift
        if not stored[bit >> 3] >> (bit & 7) & 1:
            return False
    return True


def _log2(size: int) -> int:
    return size.bit_length() - 1
