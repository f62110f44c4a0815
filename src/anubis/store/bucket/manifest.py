"""Which bytes of the record of one attempt are in a bucket.

``records/<run id>/a<attempt>.json`` is the manifest, ``records/<run id>/a<attempt>/<SHA-256>.zst`` the parts of its files:
Zstandard frames, named after the digest of their content. A part exists before a manifest names it, and the parts of a
file are concatenated by ``cat PARTS | zstd -d``.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field

import zstandard

from anubis.contracts.records import RecordFile, RecordKey
from anubis.record import layout
from anubis.store.bucket.connection import Bucket, DamagedObjectError

#: Largest part, in bytes: what a reader holds in memory for a byte of it.
PART_BYTES = 4 << 20
RECORDS = "records/"
#: In the folder of the record of a run: the address of the bucket that has all of it.
COPIED = ".copied"
_LEVEL = 3
_VERSION = 1
_SUFFIX, _PART_SUFFIX = ".json", ".zst"


@dataclass(frozen=True, slots=True)
class Part:
    """Some bytes of a file."""

    size_bytes: int
    sha256: str


@dataclass(slots=True, kw_only=True)
class StoredFile:
    """A file of a record."""

    key: RecordKey
    file: str
    #: UTC seconds.
    modified_s: float = 0.0
    parts: list[Part] = field(default_factory=list)

    @property
    def size_bytes(self) -> int:
        return sum(part.size_bytes for part in self.parts)

    def as_record_file(self) -> RecordFile:
        return RecordFile(
            key=self.key, file=self.file, size_bytes=self.size_bytes, modified_s=self.modified_s
        )


@dataclass(slots=True, kw_only=True)
class Manifest:
    """The files of one attempt."""

    run_id: str
    attempt: int
    #: Identifier of the home folder that writes it.
    home: str = ""
    #: Whether the run is final, and every byte was read back from the bucket.
    complete: bool = False
    files: dict[tuple[str, int, str], StoredFile] = field(default_factory=dict)

    @property
    def place(self) -> str:
        """Key of the manifest."""
        return manifest_key(self.run_id, self.attempt)

    def of(self, key: RecordKey, file: str) -> StoredFile | None:
        return self.files.get((key.role, key.rank, file))

    def put(self, stored: StoredFile) -> None:
        self.files[stored.key.role, stored.key.rank, stored.file] = stored

    def listed(self) -> list[RecordFile]:
        """The files, sorted by role, rank and name."""
        return [self.files[place].as_record_file() for place in sorted(self.files)]

    def parts(self) -> Iterator[Part]:
        for stored in self.files.values():
            yield from stored.parts

    def part_key(self, part: Part) -> str:
        return f"{parts_prefix(self.run_id, self.attempt)}{part.sha256}{_PART_SUFFIX}"

    def encoded(self) -> bytes:
        rows = [
            {
                "role": each.key.role,
                "rank": each.key.rank,
                "file": each.file,
                "modified_s": each.modified_s,
                "size_bytes": each.size_bytes,
                "parts": [[part.size_bytes, part.sha256] for part in each.parts],
            }
            for _, each in sorted(self.files.items())
        ]
        plain = {"version": _VERSION, "home": self.home, "complete": self.complete, "files": rows}
        return json.dumps(plain, separators=(",", ":")).encode()


def decoded(run_id: str, attempt: int, data: bytes) -> Manifest:
    """The manifest in these bytes. Raises DamagedObjectError."""
    try:
        plain = json.loads(data)
        if plain["version"] != _VERSION:
            raise DamagedObjectError(f"the manifest of attempt {attempt} of run {run_id} has another version")
        manifest = Manifest(
            run_id=run_id, attempt=attempt, home=str(plain["home"]), complete=plain["complete"] is True
        )
        for row in plain["files"]:
            layout.check_role(attempt, row["role"], row["rank"])
            layout.check_file(row["file"])
            parts = [Part(int(size), str(sha256)) for size, sha256 in row["parts"]]
            key = RecordKey(run_id, attempt, row["role"], row["rank"])
            modified_s = float(row["modified_s"])
            manifest.put(StoredFile(key=key, file=row["file"], modified_s=modified_s, parts=parts))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedObjectError(
            f"the manifest of attempt {attempt} of run {run_id} is damaged: {error}"
        ) from error
    return manifest


def run_prefix(run_id: str) -> str:
    """Prefix of all keys of the record of a run. Raises ValueError."""
    if not layout.is_run_id(run_id):
        raise ValueError(f"{run_id!r} is not a run id")
    return f"{RECORDS}{run_id}/"


def manifest_key(run_id: str, attempt: int) -> str:
    return f"{run_prefix(run_id)}{layout.attempt_name(attempt)}{_SUFFIX}"


def parts_prefix(run_id: str, attempt: int) -> str:
    return f"{run_prefix(run_id)}{layout.attempt_name(attempt)}/"


def attempt_of(key: str) -> int | None:
    """The attempt of a manifest; None for any other key."""
    name = key.rpartition("/")[2]
    return layout.attempt_of(name.removesuffix(_SUFFIX)) if name.endswith(_SUFFIX) else None


def part_of(data: bytes) -> Part:
    return Part(len(data), hashlib.sha256(data).hexdigest())


def packed(data: bytes) -> bytes:
    """The stored form of a part."""
    return zstandard.ZstdCompressor(level=_LEVEL, write_content_size=True).compress(data)


def read_part(bucket: Bucket, manifest: Manifest, part: Part) -> bytes:
    """The content of a part, compared with its digest. Raises DamagedObjectError for another content, NotFoundError."""
    key = manifest.part_key(part)
    stored = bucket.get(key)
    try:
        size_bytes = zstandard.frame_content_size(stored)
        data = zstandard.ZstdDecompressor().decompress(stored) if size_bytes == part.size_bytes else b""
    except zstandard.ZstdError:
        data = b""
    if part_of(data) != part:
        raise DamagedObjectError(
            f"{bucket.url(key)} is damaged: its content differs from the digest in its name"
        )
    return data
