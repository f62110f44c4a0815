"""The archive of one run: its record, rows and script in one file.

The file is a tar compressed with zstd. ``manifest.json`` is the first member and lists every other member with size and
SHA-256; ``run.json`` holds the rows; ``record/a<attempt>/<role>/<rank>/<file>`` is the record, and ``script.tar`` the
script archive, if there is one. The same run always yields the same bytes: members are sorted and have no times, owners
or modes.
"""

import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import zstandard

from anubis.contracts.records import RecordKey, Records, RoleFiles
from anubis.model.errors import BadInputError
from anubis.model.identity import digest
from anubis.model.plain import from_plain, to_plain
from anubis.model.points import Point
from anubis.model.run import Event, Run
from anubis.record import layout
from anubis.record.files import reader

VERSION = 1
SUFFIX = ".anubis.tar.zst"
_MANIFEST, _ROWS, _SCRIPT = "manifest.json", "run.json", "script.tar"
_RECORD = "record/"
_FILE = re.compile(
    rf"{_RECORD}(?P<attempt>[^/]+)/(?P<role>[^/]+)/(?P<rank>[0-9]{{1,9}})/(?P<file>.+)", re.DOTALL
)
#: Maximum size of manifest, rows and the JSON files of a record, which are read into memory.
_MAX_JSON_BYTES = 256 << 20
_BUFFER = 1 << 20
#: Exceptions that a damaged or forged archive, or another file, raises.
_FORMAT_ERRORS = (
    zstandard.ZstdError,
    tarfile.TarError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RecursionError,
)
_REMEDY = "export the run again where it was measured"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedRun:
    """All stored data of a run, without its files."""

    run: Run
    #: The descriptor as it was submitted.
    text: str
    events: tuple[Event, ...] = ()
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackedArchive:
    """The content of an archive: its rows, and the paths of the unpacked files."""

    archived: ArchivedRun
    #: The files of its record, and where they are now.
    files: Mapping[tuple[RecordKey, str], Path]
    #: None if the run has no script.
    script: Path | None = None


@dataclass(frozen=True, slots=True)
class _Stored:
    """A stored file of a record, to be archived."""

    files: RoleFiles
    file: str
    size_bytes: int


def write(archived: ArchivedRun, records: Records, script: bytes | None, out: BinaryIO) -> None:
    """Write the archive of a run with the files of all its attempts."""
    rows = json.dumps(to_plain(archived), sort_keys=True, ensure_ascii=False).encode()
    members: dict[str, _Stored | bytes] = {_ROWS: rows}
    if script is not None:
        members[_SCRIPT] = script
    for attempt in records.attempts(archived.run.id):
        for each in records.list(archived.run.id, attempt):
            place = f"{layout.attempt_name(attempt)}/{each.key.role}/{each.key.rank}/{each.file}"
            members[_RECORD + place] = _Stored(RoleFiles(records, each.key), each.file, each.size_bytes)
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


def read(stream: BinaryIO, folder: Path) -> UnpackedArchive:
    """Check an archive and unpack it into an empty folder. Raises BadInputError if it is not valid."""
    try:
        with (
            zstandard.ZstdDecompressor().stream_reader(stream) as packed,
            tarfile.open(fileobj=packed, mode="r|") as tar,
        ):
            return _read(tar, folder)
    except _FORMAT_ERRORS as error:
        raise BadInputError(f"the file is not a valid run archive: {error}", remedy=_REMEDY) from error


def _read(tar: tarfile.TarFile, folder: Path) -> UnpackedArchive:
    members = iter(tar)
    first = next(members, None)
    if first is None or first.name != _MANIFEST:
        raise BadInputError("the file is not a valid run archive: it has no manifest", remedy=_REMEDY)
    manifest = json.loads(_content(tar, first))
    if manifest["version"] != VERSION:
        raise BadInputError(
            f"the archive has version {manifest['version']}; this version of Anubis reads {VERSION}",
            remedy="upgrade Anubis",
        )
    listed: Mapping[str, Mapping[str, Any]] = manifest["members"]
    if sum(facts["size"] for facts in listed.values()) > shutil.disk_usage(folder).free:
        raise BadInputError(
            f"not enough disk space for the record in {folder}", remedy="free space, then import it again"
        )
    archived = None
    for member in members:
        facts = listed[_checked_name(member)]
        if member.name == _ROWS:
            archived = from_plain(ArchivedRun, json.loads(_verified(tar, member, facts)))
        else:
            _check_size(member)
            _unpack(tar, member, facts, folder / member.name)
    missing = [name for name in listed if name != _ROWS and not (folder / name).is_file()]
    if archived is None or missing:
        raise BadInputError(f"the archive is not complete: {[*missing, _ROWS][0]} is missing", remedy=_REMEDY)
    run = archived.run
    if run.id != manifest["run"] or not run.status.final or run.digest != digest(run.descriptor):
        raise BadInputError("the archive has inconsistent data about its run", remedy=_REMEDY)
    files = {_file_of(name, run.id): folder / name for name in listed if name not in {_ROWS, _SCRIPT}}
    script = folder / _SCRIPT
    return UnpackedArchive(archived=archived, files=files, script=script if script.exists() else None)


def _file_of(name: str, run_id: str) -> tuple[RecordKey, str]:
    """The record file of an archive member."""
    match = _FILE.fullmatch(name)
    attempt = layout.attempt_of(match["attempt"]) if match else None
    if match is None or attempt is None:
        raise BadInputError(f"the archive contains {name!r}, which is not a file of a record", remedy=_REMEDY)
    key = RecordKey(run_id, attempt, match["role"], int(match["rank"]))
    layout.check_role(key.attempt, key.role, key.rank)
    layout.check_file(match["file"])
    return key, match["file"]


def _add(tar: tarfile.TarFile, name: str, content: _Stored | bytes) -> None:
    info = tarfile.TarInfo(name)
    info.mode = 0o644
    if isinstance(content, bytes):
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    else:
        info.size = content.size_bytes
        tar.addfile(info, reader(content.files, content.file))


def _facts(content: _Stored | bytes) -> dict[str, Any]:
    if isinstance(content, bytes):
        return {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    found, stream, left = hashlib.sha256(), reader(content.files, content.file), content.size_bytes
    while left and (piece := stream.read(min(_BUFFER, left))):
        found.update(piece)
        left -= len(piece)
    return {"sha256": found.hexdigest(), "size": content.size_bytes}


def _checked_name(member: tarfile.TarInfo) -> str:
    """The name of the member, which must be a regular file below the folder."""
    path = PurePosixPath(member.name)
    if not member.isreg() or path.is_absolute() or ".." in path.parts:
        raise BadInputError(
            f"the archive contains {member.name!r}, which is not a file of a record", remedy=_REMEDY
        )
    return member.name


def _check_size(member: tarfile.TarInfo) -> None:
    """Raise BadInputError for a file that is read into memory and is too large."""
    file = member.name.rpartition("/")[2]
    if member.size > _MAX_JSON_BYTES and file in {_MANIFEST, _ROWS, *layout.REPLACED}:
        raise BadInputError(f"{member.name} in the archive is too large", remedy=_REMEDY)


def _content(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    _check_size(member)
    file = tar.extractfile(member)
    return file.read() if file else b""


def _verified(tar: tarfile.TarFile, member: tarfile.TarInfo, facts: Mapping[str, Any]) -> bytes:
    content = _content(tar, member)
    _compare(member.name, hashlib.sha256(content).hexdigest(), len(content), facts)
    return content


def _unpack(tar: tarfile.TarFile, member: tarfile.TarInfo, facts: Mapping[str, Any], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    hasher, size = hashlib.sha256(), 0
    source = tar.extractfile(member)
    with path.open("xb") as file:
        while source and size <= facts["size"] and (piece := source.read(_BUFFER)):
            hasher.update(piece)
            size += len(piece)
            file.write(piece)
    _compare(member.name, hasher.hexdigest(), size, facts)


def _compare(name: str, digest: str, size: int, facts: Mapping[str, Any]) -> None:
    if (digest, size) != (facts["sha256"], facts["size"]):
        raise BadInputError(f"{name} in the archive is damaged: its digest does not match", remedy=_REMEDY)
