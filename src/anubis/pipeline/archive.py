"""One run as one file: its record, its rows and its script, to keep elsewhere or to bring to another home.

The file is a tar under zstd. ``manifest.json`` comes first and names every other member with size and SHA-256;
``run.json`` holds the rows; ``record/a<attempt>/<role>/<rank>/<file>`` is the record as it lies on disk, and
``script.tar`` the script archive where there is one. The same run gives the same bytes: members are sorted, without
times, owners or modes.
"""

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import zstandard

from anubis.model.errors import BadInputError
from anubis.model.plain import from_plain, to_plain
from anubis.model.points import Point
from anubis.model.run import Event, Run

VERSION = 1
SUFFIX = ".anubis.tar.zst"
_MANIFEST, _ROWS, _SCRIPT, _RECORD = "manifest.json", "run.json", "script.tar", "record"
#: Manifest and rows are read into memory; a run's rows are far below this.
_MOST_JSON_BYTES = 256 << 20
_BUFFER = 1 << 20
_REMEDY = "export the run again where it was measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """Everything about a run but its files."""

    run: Run
    #: The descriptor as it was submitted.
    text: str
    events: tuple[Event, ...] = ()
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpacked:
    """An archive that was read: its rows, and where its files lie now."""

    archived: Archived
    #: Holds ``a<attempt>/...``; not there when the run left no record.
    record: Path
    #: None when the run had no script.
    script: Path | None = field(default=None)


def write(archived: Archived, record: Path, script: bytes | None, out: BinaryIO) -> None:
    """Write the archive of a run. ``record`` holds the attempts' folders; it need not exist."""
    rows = json.dumps(to_plain(archived), sort_keys=True, ensure_ascii=False).encode()
    members: dict[str, Path | bytes] = {_ROWS: rows}
    if script is not None:
        members[_SCRIPT] = script
    for path in sorted(record.rglob("*")) if record.exists() else ():
        if path.is_file() and not path.is_symlink():
            members[f"{_RECORD}/{path.relative_to(record).as_posix()}"] = path
    manifest = {
        "version": VERSION,
        "run": archived.run.id,
        "members": {name: _facts(content) for name, content in members.items()},
    }
    compressor = zstandard.ZstdCompressor(level=9)
    with (
        compressor.stream_writer(out, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as tar,
    ):
        _add(tar, _MANIFEST, json.dumps(manifest, sort_keys=True).encode())
        for name, content in members.items():
            _add(tar, name, content)


def read(stream: BinaryIO, folder: Path) -> Unpacked:
    """Check an archive and unpack it into an empty folder. Raises BadInputError for anything that is not as it should be."""
    try:
        with (
            zstandard.ZstdDecompressor().stream_reader(stream) as packed,
            tarfile.open(fileobj=packed, mode="r|") as tar,
        ):
            return _read(tar, folder)
    except (zstandard.ZstdError, tarfile.TarError, EOFError, ValueError, KeyError, TypeError) as error:
        raise BadInputError(f"this is no archive of a run: {error}", remedy=_REMEDY) from error


def _read(tar: tarfile.TarFile, folder: Path) -> Unpacked:
    members = iter(tar)
    first = next(members, None)
    if first is None or first.name != _MANIFEST:
        raise BadInputError("this is no archive of a run: it has no manifest", remedy=_REMEDY)
    manifest = json.loads(_content(tar, first))
    if manifest["version"] != VERSION:
        raise BadInputError(
            f"the archive has version {manifest['version']}, and this Anubis reads {VERSION}",
            remedy="upgrade Anubis",
        )
    listed: Mapping[str, Mapping[str, Any]] = manifest["members"]
    archived = None
    for member in members:
        facts = listed[_checked_name(member)]
        if member.name == _ROWS:
            archived = from_plain(Archived, json.loads(_verified(tar, member, facts)))
        else:
            _unpack(tar, member, facts, folder / member.name)
    missing = [name for name in listed if name != _ROWS and not (folder / name).is_file()]
    if archived is None or missing:
        raise BadInputError(
            f"the archive is not complete: {(missing or [_ROWS])[0]} is missing", remedy=_REMEDY
        )
    if archived.run.id != manifest["run"] or not archived.run.status.final:
        raise BadInputError("the archive contradicts itself about its run", remedy=_REMEDY)
    script = folder / _SCRIPT
    return Unpacked(archived=archived, record=folder / _RECORD, script=script if script.exists() else None)


def _add(tar: tarfile.TarFile, name: str, content: Path | bytes) -> None:
    info = tarfile.TarInfo(name)
    info.mode = 0o644
    if isinstance(content, bytes):
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    else:
        info.size = content.stat().st_size
        with content.open("rb") as file:
            tar.addfile(info, file)


def _facts(content: Path | bytes) -> dict[str, Any]:
    digest, size = hashlib.sha256(), 0
    for piece in _pieces(content):
        digest.update(piece)
        size += len(piece)
    return {"sha256": digest.hexdigest(), "size": size}


def _pieces(content: Path | bytes) -> Iterator[bytes]:
    if isinstance(content, bytes):
        yield content
        return
    with content.open("rb") as file:
        while piece := file.read(_BUFFER):
            yield piece


def _checked_name(member: tarfile.TarInfo) -> str:
    """The name of a regular file below the folder; nothing else belongs into an archive."""
    path = PurePosixPath(member.name)
    if not member.isreg() or path.is_absolute() or ".." in path.parts:
        raise BadInputError(
            f"the archive holds {member.name!r}, which is no file of a record", remedy=_REMEDY
        )
    return member.name


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    if member.size > _MOST_JSON_BYTES:
        raise BadInputError(f"{member.name} of the archive is too large to be real", remedy=_REMEDY)
    file = tar.extractfile(member)
    return file.read() if file else b""


def _verified(tar: tarfile.TarFile, member: tarfile.TarInfo, facts: Mapping[str, Any]) -> bytes:
    content = _content(tar, member)
    _compare(member.name, hashlib.sha256(content).hexdigest(), len(content), facts)
    return content


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, facts: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    source = tar.extractfile(member)
    with path.open("xb") as file:
        while source and (piece := source.read(_BUFFER)):
            digest.update(piece)
            size += len(piece)
            file.write(piece)
    _compare(member.name, digest.hexdigest(), size, facts)


def _compare(name: str, digest: str, size: int, facts: Mapping[str, Any]) -> None:
    if (digest, size) != (facts["sha256"], facts["size"]):
        raise BadInputError(f"{name} of the archive is damaged: its digest does not match", remedy=_REMEDY)
