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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from anubis.contracts.records import RecordKey, Records, RoleFiles
from anubis.model.errors import BadInputError
from anubis.model.plain import from_plain, to_plain
from anubis.model.points import Point
from anubis.model.run import Event, Run
from anubis.record import layout
from anubis.record.files import reader
from anubis.record.replication import MOST_REPLACED_BYTES
from anubis.submission.tar_reading import FILE, Archive, Member
from anubis.transfer.archived_rows import problems
from anubis.transfer.decompression import Decompressed

VERSION = 1
SUFFIX = ".anubis.tar.zst"
_MANIFEST, _ROWS, _SCRIPT = "manifest.json", "run.json", "script.tar"
_RECORD = "record/"
_FILE = re.compile(
    rf"{_RECORD}(?P<attempt>[^/]+)/(?P<role>[^/]+)/(?P<rank>0|[1-9][0-9]{{0,8}})/(?P<file>.+)", re.DOTALL
)
#: Maximum size of manifest and rows, which are read into memory, and of the number of values in them.
_MAX_JSON_BYTES = 32 << 20
_MAX_CONTAINERS, _MAX_VALUES = 200_000, 1_000_000
_MAX_MEMBERS = 50_000
#: An archive may unpack to this size, or to so many times its own size if that is more.
_SMALL_BYTES, _MAX_RATIO = 64 << 20, 1000
#: Longest name of a file of a record, so that its path stays within the limits of the system; bytes.
_LONGEST_NAME = 2000
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
    OverflowError,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Facts:
    """What the manifest says about a member."""

    sha256: str
    #: Bytes.
    size: int


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


def read(stream: BinaryIO, size_bytes: int, folder: Path) -> UnpackedArchive:
    """Check an archive of this size and unpack it into an empty folder. Raises BadInputError if it is not valid."""
    limit = max(_SMALL_BYTES, size_bytes * _MAX_RATIO)
    try:
        return _read(Archive(Decompressed(stream, limit)), folder)
    except _FORMAT_ERRORS as error:
        raise _refused(str(error).removeprefix("zstd decompressor error: ")) from error


def _read(archive: Archive, folder: Path) -> UnpackedArchive:
    members = iter(archive)
    first = next(members, None)
    if first is None or first.name != _MANIFEST:
        raise BadInputError("the file is not a valid run archive: it has no manifest", remedy=_REMEDY)
    run_id, listed = _listed(_json(_content(archive, first)))
    if sum(facts.size for facts in listed.values()) > shutil.disk_usage(folder).free:
        raise BadInputError(
            f"not enough disk space for the record in {folder}", remedy="free space, then import it again"
        )
    rows, paths = None, dict[str, Path]()
    for member in members:
        facts = listed.get(member.name)
        if facts is None or member.kind != FILE or member.name in paths:
            raise _refused(f"it contains {member.name!r}, which is not a file of a record")
        # The names of the archive are not used as paths.
        paths[member.name] = path = folder / str(len(paths))
        if member.name == _ROWS:
            rows = _verified(archive, member, facts)
        else:
            _unpack(archive, member, facts, path)
    missing = [name for name in listed if name not in paths]
    if rows is None or missing:
        raise BadInputError(f"the archive is not complete: {[*missing, _ROWS][0]} is missing", remedy=_REMEDY)
    archived = from_plain(ArchivedRun, _json(rows))
    files = {_file_of(name, run_id): path for name, path in paths.items() if name not in {_ROWS, _SCRIPT}}
    unpacked = UnpackedArchive(archived=archived, files=files, script=paths.get(_SCRIPT))
    _check(run_id, unpacked, listed)
    return unpacked


def _listed(manifest: Any) -> tuple[str, Mapping[str, _Facts]]:
    """The run id and the members that a manifest lists."""
    if not isinstance(manifest, dict) or type(manifest.get("version")) is not int:
        raise _refused("its manifest has no version")
    if manifest["version"] != VERSION:
        raise BadInputError(
            f"the archive has version {manifest['version']}; this version of Anubis reads {VERSION}",
            remedy="upgrade Anubis",
        )
    run_id = manifest["run"]
    listed = {name: from_plain(_Facts, facts) for name, facts in manifest["members"].items()}
    if not isinstance(run_id, str) or len(listed) > _MAX_MEMBERS:
        raise _refused("its manifest has no run, or too many members")
    names = {_file_of(name, run_id) for name in listed if name not in {_ROWS, _SCRIPT}}
    if any((key, parent) in names for key, file in names for parent in _parents(file)):
        raise _refused("a file and a folder have the same name")
    if any(facts.size < 0 for facts in listed.values()):
        raise _refused("a size is negative")
    return run_id, listed


def _parents(file: str) -> Iterator[str]:
    """The folders that hold a file."""
    while file := file.rpartition("/")[0]:
        yield file


def _check(run_id: str, unpacked: UnpackedArchive, listed: Mapping[str, _Facts]) -> None:
    """Raise BadInputError if the rows are not valid, or do not match the files."""
    archived = unpacked.archived
    run = archived.run
    if run.id != run_id:
        raise _refused("inconsistent data about its run")
    for problem in problems(run, archived.events, archived.points):
        raise _refused(f"it contains {problem}")
    if any(key.attempt > run.attempt for key, _ in unpacked.files):
        raise _refused("it contains a record of an attempt that the run does not have")
    script = run.descriptor.ml.script
    if unpacked.script and (script is None or script.script != f"{listed[_SCRIPT].sha256}.tar"):
        raise _refused("its script is not the one of the descriptor")


def _refused(reason: str) -> BadInputError:
    return BadInputError(f"the file is not a valid run archive: {reason}", remedy=_REMEDY)


def _json(content: bytes) -> Any:
    """A JSON document whose values take bounded memory."""
    if content.count(b"{") + content.count(b"[") > _MAX_CONTAINERS or content.count(b",") > _MAX_VALUES:
        raise _refused("its data have too many values")
    value = json.loads(content, parse_constant=_refuse_constant)
    json.dumps(value, ensure_ascii=False).encode()  # text that is not valid Unicode raises UnicodeEncodeError
    return value


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is not valid in JSON")


def _file_of(name: str, run_id: str) -> tuple[RecordKey, str]:
    """The record file of an archive member."""
    match = _FILE.fullmatch(name)
    attempt = layout.attempt_of(match["attempt"]) if match else None
    if match is None or attempt is None:
        raise BadInputError(f"the archive contains {name!r}, which is not a file of a record", remedy=_REMEDY)
    if len(name.encode("utf-8", "surrogateescape")) > _LONGEST_NAME:
        raise _refused("the name of a file is too long")
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


def _content(archive: Archive, member: Member) -> bytes:
    if member.kind != FILE or member.size_bytes > _MAX_JSON_BYTES:
        raise _refused(f"{member.name} is too large or not a file")
    return b"".join(iter(archive.read, b""))


def _verified(archive: Archive, member: Member, facts: _Facts) -> bytes:
    content = _content(archive, member)
    _compare(member.name, hashlib.sha256(content).hexdigest(), len(content), facts)
    return content


def _unpack(archive: Archive, member: Member, facts: _Facts, path: Path) -> None:
    file = member.name.rpartition("/")[2]
    if file in layout.REPLACED and member.size_bytes > MOST_REPLACED_BYTES:
        raise _refused(f"{member.name} is too large")
    if member.size_bytes != facts.size:
        _compare(member.name, "", member.size_bytes, facts)
    hasher = hashlib.sha256()
    with path.open("xb") as out:
        while data := archive.read():
            hasher.update(data)
            out.write(data)
    _compare(member.name, hasher.hexdigest(), member.size_bytes, facts)


def _compare(name: str, digest: str, size: int, facts: _Facts) -> None:
    if (digest, size) != (facts.sha256, facts.size):
        raise BadInputError(f"{name} in the archive is damaged: its digest does not match", remedy=_REMEDY)
