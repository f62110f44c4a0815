"""One run as one file: its record, its rows and its script, to keep elsewhere or to bring to another home.

The file is a tar under zstd. ``manifest.json`` comes first and names every other member with size and SHA-256;
``run.json`` holds the rows; ``record/a<attempt>/<role>/<rank>/<file>`` is the record, and ``script.tar`` the script
archive where there is one. The same run gives the same bytes: members are sorted, without
times, owners or modes.
"""

import hashlib
import io
import json
import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO

import zstandard

from anubis.model.errors import BadInputError
from anubis.model.identity import digest
from anubis.model.plain import from_plain, to_plain
from anubis.model.points import Point
from anubis.model.run import Event, Run

VERSION = 1
SUFFIX = ".anubis.tar.zst"
_MANIFEST, _ROWS, _SCRIPT = "manifest.json", "run.json", "script.tar"
#: Manifest and rows are read into memory; a run's rows are far below this.
_MOST_JSON_BYTES = 256 << 20
_BUFFER = 1 << 20
#: What reading something else, or an archive that somebody made up, ends in.
_STRANGE = (
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
    """Everything about a run but its files."""

    run: Run
    #: The descriptor as it was submitted.
    text: str
    events: tuple[Event, ...] = ()
    points: tuple[Point, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpackedArchive:
    """An archive that was read: its rows, and where its files lie now."""

    archived: ArchivedRun
    #: Attempt -> the folder of its record.
    records: Mapping[int, Path]
    #: None when the run had no script.
    script: Path | None = None


def write(archived: ArchivedRun, records: Mapping[int, Path], script: bytes | None, out: BinaryIO) -> None:
    """Write the archive of a run; ``records`` are the folders of its attempts."""
    rows = json.dumps(to_plain(archived), sort_keys=True, ensure_ascii=False).encode()
    members: dict[str, Path | bytes] = {_ROWS: rows}
    if script is not None:
        members[_SCRIPT] = script
    for attempt, folder in sorted(records.items()):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.is_symlink():
                members[f"{_place(attempt)}/{path.relative_to(folder).as_posix()}"] = path
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
    """Check an archive and unpack it into an empty folder. Raises BadInputError for anything that is not as it should be."""
    try:
        with (
            zstandard.ZstdDecompressor().stream_reader(stream) as packed,
            tarfile.open(fileobj=packed, mode="r|") as tar,
        ):
            return _read(tar, folder)
    except _STRANGE as error:
        raise BadInputError(f"this is no archive of a run: {error}", remedy=_REMEDY) from error


def _read(tar: tarfile.TarFile, folder: Path) -> UnpackedArchive:
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
    if sum(facts["size"] for facts in listed.values()) > shutil.disk_usage(folder).free:
        raise BadInputError(f"{folder} has no room for the record", remedy="free space, then import it again")
    archived = None
    for member in members:
        facts = listed[_checked_name(member)]
        if member.name == _ROWS:
            archived = from_plain(ArchivedRun, json.loads(_verified(tar, member, facts)))
        else:
            _unpack(tar, member, facts, folder / member.name)
    missing = [name for name in listed if name != _ROWS and not (folder / name).is_file()]
    if archived is None or missing:
        raise BadInputError(f"the archive is not complete: {[*missing, _ROWS][0]} is missing", remedy=_REMEDY)
    run = archived.run
    if run.id != manifest["run"] or not run.status.final or run.digest != digest(run.descriptor):
        raise BadInputError("the archive contradicts itself about its run", remedy=_REMEDY)
    attempts = {n: folder / _place(n) for n in range(1, run.attempt + 1) if (folder / _place(n)).exists()}
    script = folder / _SCRIPT
    return UnpackedArchive(archived=archived, records=attempts, script=script if script.exists() else None)


def _place(attempt: int) -> str:
    """Where the record of an attempt is in the archive (one role, one rank so far)."""
    return f"record/a{attempt}/benchmark/0"


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
    if isinstance(content, bytes):
        return {"sha256": hashlib.sha256(content).hexdigest(), "size": len(content)}
    with content.open("rb") as file:
        return {"sha256": hashlib.file_digest(file, "sha256").hexdigest(), "size": file.tell()}


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
    found, size = hashlib.sha256(), 0
    source = tar.extractfile(member)
    with path.open("xb") as file:
        while source and size <= facts["size"] and (piece := source.read(_BUFFER)):
            found.update(piece)
            size += len(piece)
            file.write(piece)
    _compare(member.name, found.hexdigest(), size, facts)


def _compare(name: str, found: str, size: int, facts: Mapping[str, Any]) -> None:
    if (found, size) != (facts["sha256"], facts["size"]):
        raise BadInputError(f"{name} of the archive is damaged: its digest does not match", remedy=_REMEDY)
