"""Bytes by key."""

from typing import BinaryIO, Protocol


class Objects(Protocol):
    """Bytes by key; keys are digests or record paths."""

    def put(self, key: str, stream: BinaryIO) -> int:
        """Store the stream under the key, atomically; returns the size in bytes."""
        ...

    def open(self, key: str) -> BinaryIO:
        """The bytes of the key. Raises NotFoundError if the key is not stored."""
        ...

    def url(self, key: str) -> str:
        """An address from which the bytes can be read."""
        ...
