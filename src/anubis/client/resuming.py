"""Transfers that continue where a broken connection, or an earlier command, left them."""

import hashlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, TypeVar

from anubis.model.errors import StoreError, disk_error

#: How long a service that sends nothing is waited for, and the pause between two attempts, seconds.
PATIENCE_S, PAUSE_S = 120.0, 0.5
_PIECE = 1 << 20
T = TypeVar("T")


def fetched(pieces: Callable[[int], Iterator[bytes]], file: Path, *, size_bytes: int, sha256: str) -> None:
    """Complete a file with this size and digest; ``pieces`` transfers its content from an offset.

    What the file has already is not transferred again. Raises StoreError if the service sends nothing for
    ``PATIENCE_S`` seconds, or something else.
    """
    moved_s = time.monotonic()
    while (have := _size(file)) < size_bytes:
        try:
            with file.open("ab") as out:
                for piece in pieces(have):
                    out.write(piece)
                    moved_s = time.monotonic()
        except StoreError:
            if time.monotonic() - moved_s > PATIENCE_S:
                raise
        except OSError as error:
            raise disk_error(f"{file} cannot be written", error) from error
        if _size(file) == have:
            if time.monotonic() - moved_s > PATIENCE_S:
                raise StoreError(
                    f"the service sent {have} of the {size_bytes} bytes of a file",
                    remedy="use the command again: it continues there",
                )
            time.sleep(PAUSE_S)
    if _size(file) > size_bytes or _sha256(file) != sha256:
        file.unlink()
        raise StoreError(
            f"a file that was transferred does not have the SHA-256 {sha256}",
            remedy="use the command again; if the error is the same, verify the dataset: anubis data verify",
        )


def copied(pieces: Callable[[], Iterator[bytes]], out: BinaryIO) -> None:
    """Write content that is transferred again from its beginning when the connection breaks, once.

    Raises StoreError if the service sends nothing new for ``PATIENCE_S`` seconds, or something else.
    """
    written, digest, moved_s = 0, hashlib.sha256(), time.monotonic()
    while True:
        skipped, again = 0, hashlib.sha256()
        try:
            for piece in pieces():
                old = piece[: max(0, written - skipped)]
                again.update(old)
                skipped += len(old)
                if new := piece[len(old) :]:
                    if again.digest() != digest.digest():
                        break
                    digest.update(new)
                    again.update(new)
                    out.write(new)
                    written += len(new)
                    skipped += len(new)
                    moved_s = time.monotonic()
        except StoreError:
            if time.monotonic() - moved_s > PATIENCE_S:
                raise
            time.sleep(PAUSE_S)
            continue
        if again.digest() != digest.digest():
            raise StoreError("the content changed while it was transferred", remedy="use the command again")
        return


def repeated(work: Callable[[], T]) -> T:
    """The result of a transfer that is made again as a whole when the connection breaks."""
    began_s = time.monotonic()
    while True:
        try:
            return work()
        except StoreError:
            if time.monotonic() - began_s > PATIENCE_S:
                raise
        time.sleep(PAUSE_S)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _sha256(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
