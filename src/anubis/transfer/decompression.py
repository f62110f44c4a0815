"""Decompression of a file of unknown origin, in bounded memory and up to a bounded size."""

from typing import BinaryIO

import zstandard

#: Bytes of input at once. They decompress to at most 32 MiB, because a block of at least 4 bytes holds at most 128 KiB.
_INPUT_BYTES = 1024
#: The largest window that a decoder must support (RFC 8878, section 3.1.1.1.2); ``run_archive.write`` needs 4 MiB.
_MAX_WINDOW_BYTES = 8 << 20


class Decompressed:
    """The content of a file that consists of one zstd frame.

    ``read`` raises ``zstandard.ZstdError`` for damaged input and ValueError for truncated input, for bytes after the
    frame, and for content of more than ``limit_bytes``.
    """

    def __init__(self, stream: BinaryIO, limit_bytes: int) -> None:
        self._stream = stream
        self._left = limit_bytes
        self._frame = zstandard.ZstdDecompressor(max_window_size=_MAX_WINDOW_BYTES).decompressobj()
        self._ready = bytearray()
        self._at = 0

    def read(self, length: int) -> bytes:
        """Exactly ``length`` bytes; fewer only at the end of the frame."""
        pieces = bytearray()
        while len(pieces) < length and (self._at < len(self._ready) or self._refill()):
            end = self._at + length - len(pieces)
            pieces += self._ready[self._at : end]
            self._at = min(end, len(self._ready))
        return bytes(pieces)

    def _refill(self) -> bool:
        """Decompress more; False at the end of the frame."""
        while not self._frame.eof:
            data = self._stream.read(_INPUT_BYTES)
            if not data:
                raise ValueError("it is truncated")
            self._ready = bytearray(self._frame.decompress(data))
            self._at = 0
            self._left -= len(self._ready)
            if self._left < 0:
                raise ValueError("it is a decompression bomb: its content is too large for its size")
            if self._ready:
                break
        if self._frame.eof and (self._frame.unused_data or self._stream.read(1)):
            raise ValueError("it has data after its end")
        return self._at < len(self._ready)
