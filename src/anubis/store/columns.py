"""Lossless compression of columns of numbers to small blobs.

A segment is ``<version: u8> <n: u32>`` and one zstd frame that holds its four columns (values, times, steps, repeats).
A column is one byte for its encoding, then its bytes: times, steps and repeats as differences of neighbours (times as
differences of their bit patterns, which is lossless and constant for evenly spaced times), values unchanged; all
transposed, so that bytes of equal significance are adjacent.
"""

import struct
import sys
import zlib
from array import array
from itertools import accumulate
from operator import sub
from typing import TYPE_CHECKING, Any

import zstandard

from anubis.late import late

if TYPE_CHECKING:
    import numpy as np
else:  # heavy, and only long columns need it
    np = late("numpy")

_HEAD = struct.Struct("<BI")
_VERSION = 1
_PLAIN, _DIFFERENCES = 0, 1
_LEVEL = 3
#: Columns in order: type code of the array, type code of the integers it is differenced as (None: not differenced).
_COLUMNS = (("d", None), ("d", "q"), ("q", "q"), ("i", "i"))
#: From the first length on numpy is faster including its import (0.1 s), from the second on without it.
_LONG, _SHORT = 8_192, 256


def pack(columns: tuple["array[Any]", ...]) -> bytes:
    """Values, times, steps and repeats (arrays of equal length, ``_COLUMNS``) as one blob."""
    written = b"".join(
        _written(column, integers) for column, (_, integers) in zip(columns, _COLUMNS, strict=True)
    )
    head = _HEAD.pack(_VERSION, len(columns[0]))
    return head + zstandard.ZstdCompressor(level=_LEVEL).compress(written)


def checksum(blob: bytes, start: int) -> int:
    """The checksum of a segment whose first sample is at position ``start``."""
    return zlib.crc32(blob, start)


def unpack(blob: bytes) -> tuple["array[Any]", ...]:
    """The columns that were packed."""
    version, length = _HEAD.unpack_from(blob)
    if version != _VERSION:
        raise ValueError(f"samples are packed as version {version}; this Anubis reads version {_VERSION}")
    raw = memoryview(zstandard.ZstdDecompressor().decompress(memoryview(blob)[_HEAD.size :]))
    columns: list[array[Any]] = []
    position = 0
    for code, integers in _COLUMNS:
        size = array(code).itemsize
        end = position + 1 + length * size
        columns.append(_read(raw[position:end], code, integers, size))
        position = end
    return tuple(columns)


def worth_numpy(length: int) -> bool:
    """Whether numpy is faster for a column of this length than the standard library."""
    return length >= _LONG or (length >= _SHORT and "numpy" in sys.modules)


def _written(column: "array[Any]", integers: str | None) -> bytes:
    how, kept = _PLAIN, column
    if integers:
        try:
            kept = _differences(array(integers, column.tobytes()))
            how = _DIFFERENCES
        except OverflowError:  # the difference of a missing step and a real one does not fit an integer
            pass
    return bytes([how]) + _transposed(_little(kept).tobytes(), kept.itemsize)


def _read(raw: memoryview, code: str, integers: str | None, size: int) -> "array[Any]":
    how, together = raw[0], _restored(raw[1:], size)
    if how == _PLAIN or integers is None:
        return _little(array(code, together))
    return array(code, _sums(_little(array(integers, together))).tobytes())


def _transposed(raw: bytes, size: int) -> bytes:
    """First bytes of all elements, then second bytes, and so on."""
    return b"".join(raw[i::size] for i in range(size))


def _restored(raw: memoryview, size: int) -> bytes:
    """The inverse of ``_transposed``."""
    length = len(raw) // size
    if worth_numpy(length):
        return np.frombuffer(raw, dtype=np.uint8).reshape(size, length).T.tobytes()
    together = bytearray(length * size)
    for i in range(size):
        together[i::size] = raw[i * length : (i + 1) * length]
    return bytes(together)


def _differences(column: "array[int]") -> "array[int]":
    """First element, then each element minus the one before; OverflowError when one does not fit."""
    if not worth_numpy(len(column)):
        return array(column.typecode, [*column[:1], *map(sub, column[1:], column)])
    values = np.frombuffer(column, dtype=column.typecode)
    if int(values.max()) - int(values.min()) > np.iinfo(values.dtype).max:
        raise OverflowError
    return array(column.typecode, np.concatenate((values[:1], np.diff(values))).tobytes())


def _sums(column: "array[int]") -> "array[int]":
    if not worth_numpy(len(column)):
        return array(column.typecode, accumulate(column))
    values = np.frombuffer(column, dtype=column.typecode)
    return array(column.typecode, np.cumsum(values, dtype=values.dtype).tobytes())


def _little(column: "array[Any]") -> "array[Any]":
    if sys.byteorder == "big":
        column = column[:]
        column.byteswap()
    return column
