"""New parts of daily data sets as one tar archive, for an archive on another machine."""

import io
import json
import re
import tarfile
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from anubis.contracts.objects import Objects
from anubis.contracts.world import World
from anubis.model.errors import BadInputError, NotFoundError, StoreError
from anubis.submission.tar_reading import FILE
from anubis.submission.tar_reading import Archive as TarMembers
from anubis.transfer.daily.archive import INDEX, MANIFEST, Archive, Index

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
#: Larger files are not read into memory, bytes.
_SPOOLED = 16 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What an archive has already."""

    index: Index
    #: Day -> the number of its last event.
    through: Mapping[str, int]


def known_of(objects: Objects) -> Known:
    """What the archive in these objects has."""
    archive = Archive(objects)
    index = archive.index()
    return Known(index=index, through={day: int(archive.manifest(day)["through_seq"]) for day in index.days})


def write(world: World, known: Known, out: BinaryIO, objects: Objects, folder: Path, *, today: bool) -> None:
    """Write a tar archive with what is new for an archive, its index last. ``objects`` are those of an empty folder."""
    if wrong := [day for day in (*known.through, *known.index.open_days) if not _DAY.fullmatch(day)]:
        raise BadInputError(f"{wrong[0][:50]!r} is not a day", remedy="write it as YYYY-MM-DD")
    _put(objects, INDEX, {name: getattr(known.index, name) for name in Index.__slots__})
    for day, seq in known.through.items():
        _put(objects, f"{day}/{MANIFEST}", {"through_seq": seq, "files": []})
    written = Archive(objects).write(world, today=today)
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name in [*_names(written), INDEX]:
            info = tarfile.TarInfo(name)
            info.size = (folder / name).stat().st_size
            with objects.open(name) as stream:
                tar.addfile(info, stream)


def _names(manifests: Iterable[Mapping[str, Any]]) -> Iterable[str]:
    for manifest in manifests:
        yield from (file["path"] for file in manifest["files"])
        yield f"{manifest['day']}/{MANIFEST}"


def store(tar: BinaryIO, objects: Objects) -> Sequence[Mapping[str, Any]]:
    """Add what ``write`` wrote to an archive: parts, then the manifest of their day, then the index. The manifests.

    Raises StoreError for a tar archive that is damaged or not complete: then nothing is added.
    """
    try:
        names = [member.name for member in TarMembers(tar, foreign=True) if member.kind == FILE]
        if names[-1:] != [INDEX]:
            raise ValueError("the index is missing")
        tar.seek(0)
        return list(_stored(TarMembers(tar, foreign=True), objects))
    except (ValueError, KeyError, TypeError, tarfile.TarError) as error:
        raise StoreError(f"the answer of the service is damaged: {error}", remedy="try again") from error


def _stored(members: TarMembers, objects: Objects) -> Iterator[Mapping[str, Any]]:
    for member in members:
        with tempfile.SpooledTemporaryFile(_SPOOLED) as content:
            while piece := members.read():
                content.write(piece)
            content.seek(0)
            if member.name.endswith(f"/{MANIFEST}"):
                yield _merged(objects, member.name, json.load(content))
            else:
                objects.put(member.name, content)  # type: ignore[arg-type]  # a binary file


def _merged(objects: Objects, name: str, new: dict[str, Any]) -> Mapping[str, Any]:
    """Store the manifest of a day with the files that it had, and those that are new."""
    try:
        with objects.open(name) as stream:
            before = json.load(stream)["files"]
    except NotFoundError:
        before = []
    paths = {each["path"] for each in before}
    new["files"] = [*before, *(each for each in new["files"] if each["path"] not in paths)]
    _put(objects, name, new)
    return new


def _put(objects: Objects, name: str, plain: Mapping[str, Any]) -> None:
    objects.put(name, io.BytesIO(json.dumps(plain, indent=1).encode()))
