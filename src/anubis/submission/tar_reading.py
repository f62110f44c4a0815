"""Reads tar archives of unknown origin in bounded memory.

Only what Anubis writes is accepted: files, folders and symbolic links, with PAX headers for long names; of an archive that
another program wrote, also its other ways to write long names and times. The module
``tarfile`` reads extended headers of any size into memory, and accepts sparse files, devices and further kinds.
"""

import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Protocol

FILE, FOLDER, LINK = tarfile.REGTYPE, tarfile.DIRTYPE, tarfile.SYMTYPE
_KINDS = {FILE: FILE, tarfile.AREGTYPE: FILE, FOLDER: FOLDER, LINK: LINK}
#: Maximum size of an extended header.
_MAX_HEADER_BYTES = 1 << 16
#: Keywords of extended headers that Anubis writes; any other, for example of a sparse file, is refused.
_KEYWORDS = {"path", "linkpath", "size", "hdrcharset"}
#: Beginning of the keywords that change what the content of a file means.
_SPARSE = "GNU.sparse."
#: Headers of GNU tar -> what the content is instead of a PAX header.
_LONG_NAMES = {tarfile.GNUTYPE_LONGNAME: "path", tarfile.GNUTYPE_LONGLINK: "linkpath"}
_LARGEST = 1 << 60
_BUFFER = 1 << 20


class Stream(Protocol):
    """An open archive."""

    def read(self, length: int, /) -> bytes:
        """Exactly ``length`` bytes; fewer only at the end."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One member of an archive."""

    name: str
    #: FILE, FOLDER or LINK.
    kind: bytes
    size_bytes: int = 0
    #: The owner may execute the file.
    executable: bool = False
    #: Target of a symbolic link.
    target: str = ""


class Archive:
    """The members of an archive, in order. Methods raise ``tarfile.TarError`` and ValueError for invalid input."""

    def __init__(self, stream: Stream, *, foreign: bool = False) -> None:
        """``foreign``: another program wrote the archive."""
        self._stream = stream
        self._foreign = foreign
        #: Bytes of the content of the current member that are not read yet, and the padding after them.
        self._left = self._padding = 0

    def __iter__(self) -> Iterator[Member]:
        """All members. The content of each can be read until the next one is requested."""
        while (member := self._next()) is not None:
            yield member
        self._check_end()

    def read(self, length: int = _BUFFER) -> bytes:
        """Up to ``length`` bytes of the content of the current member; none at its end."""
        data = self._exactly(min(length, self._left))
        self._left -= len(data)
        return data

    def _next(self) -> Member | None:
        while self.read():
            pass
        self._exactly(self._padding)
        header = self._header()
        if header is None:
            return None
        extended: dict[str, str] = {}
        if header.type == tarfile.XHDTYPE and not self._foreign:
            extended = _keywords(self._extended(header))
            header = self._following()
        while self._foreign and header.type in {tarfile.XHDTYPE, tarfile.XGLTYPE, *_LONG_NAMES}:
            extended |= _foreign_keywords(header.type, self._extended(header))
            header = self._following()
        member = _member(header, extended)
        self._left = member.size_bytes
        self._padding = -member.size_bytes % tarfile.BLOCKSIZE
        return member

    def _header(self) -> tarfile.TarInfo | None:
        """The next header; None for the empty block that ends an archive."""
        block = self._exactly(tarfile.BLOCKSIZE)
        if not block.strip(b"\0"):
            return None
        return tarfile.TarInfo.frombuf(block, "utf-8", "surrogateescape")

    def _following(self) -> tarfile.TarInfo:
        header = self._header()
        if header is None:
            raise tarfile.HeaderError("an extended header without a member")
        return header

    def _extended(self, header: tarfile.TarInfo) -> bytes:
        if not 0 < header.size <= _MAX_HEADER_BYTES:
            raise tarfile.HeaderError(f"an extended header of {header.size} bytes")
        data = self._exactly(header.size)
        self._exactly(-header.size % tarfile.BLOCKSIZE)
        return data

    def _check_end(self) -> None:
        """An archive ends with empty blocks, at most as many as fill a record."""
        rest = self._stream.read(tarfile.RECORDSIZE + 1)
        if len(rest) > tarfile.RECORDSIZE or rest.strip(b"\0"):
            raise tarfile.ReadError("data after the end of the archive")

    def _exactly(self, length: int) -> bytes:
        data = self._stream.read(length) if length else b""
        if len(data) != length:
            raise tarfile.ReadError("the archive is incomplete")
        return data


def _member(header: tarfile.TarInfo, extended: dict[str, str]) -> Member:
    kind = _KINDS.get(header.type)
    name = extended.get("path", header.name)
    if kind == FOLDER:
        name = name.rstrip("/")
    if kind is None:
        raise tarfile.HeaderError(f"{name!r} is neither a file, a folder nor a symbolic link")
    size = _number(extended["size"]) if "size" in extended else header.size
    if not 0 <= size <= _LARGEST or (size and kind != FILE):
        raise tarfile.HeaderError(f"{name!r} has an invalid size")
    if not name or "\0" in name:
        raise tarfile.HeaderError("a member has no valid name")
    member = Member(name=name, kind=kind, size_bytes=size, executable=bool(header.mode & 0o100))
    return replace(member, target=extended.get("linkpath", header.linkname)) if kind == LINK else member


def _foreign_keywords(kind: bytes, data: bytes) -> dict[str, str]:
    """What an extended header of another program says about the next member; a global one says nothing about names."""
    if kind in _LONG_NAMES:
        return {_LONG_NAMES[kind]: data.rstrip(b"\0").decode("utf-8", "surrogateescape")}
    found = _records(data)
    if sparse := [name for name in found if name.startswith(_SPARSE)]:
        raise tarfile.HeaderError(f"an extended header has the keyword {sparse[0]!r}")
    return {} if kind == tarfile.XGLTYPE else {name: found[name] for name in _KEYWORDS & found.keys()}


def _keywords(data: bytes) -> dict[str, str]:
    """The records of a PAX header of Anubis."""
    found = _records(data)
    if unknown := sorted(found.keys() - _KEYWORDS):
        raise tarfile.HeaderError(f"an extended header has the keyword {unknown[0]!r}")
    return found


def _records(data: bytes) -> dict[str, str]:
    """The records of a PAX header: length, space, keyword, ``=``, value, line end."""
    found: dict[str, str] = {}
    at = 0
    while at < len(data):
        digits, space, _ = data[at : at + 20].partition(b" ")
        length = _number(digits.decode("ascii")) if space else 0
        record = data[at + len(digits) + 1 : at + length]
        keyword, equals, value = record.partition(b"=")
        name = keyword.decode("ascii")
        if not equals or not record.endswith(b"\n") or at + length > len(data):
            raise tarfile.HeaderError("an extended header is damaged")
        if name in found:
            raise tarfile.HeaderError(f"an extended header has the keyword {name!r}")
        found[name] = value[:-1].decode("utf-8", "surrogateescape")
        at += length
    return found


def _number(digits: str) -> int:
    if not (digits.isascii() and digits.isdecimal() and len(digits) < 20):
        raise tarfile.HeaderError(f"{digits!r} is not a size")
    return int(digits)
