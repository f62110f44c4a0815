"""Copies the record of one attempt to a bucket: while it grows, and to the last byte when its run is final."""

import logging
from enum import Enum

from anubis.contracts.records import RecordFile, RecordKey, RoleFiles
from anubis.model.errors import NotFoundError, StoreError
from anubis.record import layout
from anubis.record.replication import Ends
from anubis.record.validation import DamagedError
from anubis.store.bucket import manifest as manifests
from anubis.store.bucket.connection import Bucket, DamagedObjectError
from anubis.store.bucket.manifest import PART_BYTES, Manifest, Part, StoredFile
from anubis.store.folder_records import FolderRecords

log = logging.getLogger(__name__)

#: The last part of a file that grows is replaced by a larger one until it has this size, bytes.
_SMALL_BYTES = 256 << 10


class Outcome(Enum):
    """What the bucket has after a copy."""

    #: Every byte, read back and compared.
    COMPLETE = "complete"
    #: More than this folder, and every byte of it.
    MORE = "more"
    #: What was settled.
    PARTIAL = "partial"
    #: Other bytes, of another home folder; or a file of this record cannot be read.
    LEFT = "left"


class AttemptCopy:
    """The copy of one attempt by one process. Only one process copies from a home folder at a time."""

    def __init__(self, bucket: Bucket, here: FolderRecords, run_id: str, attempt: int, home: str) -> None:
        """``home`` identifies the home folder."""
        self._bucket = bucket
        self._here = here
        self._run_id = run_id
        self._attempt = attempt
        self._home = home
        self._ends: dict[RecordKey, Ends] = {}
        self._manifest: Manifest | None = None
        self._written = b""

    def copy(self, *, final: bool) -> Outcome:
        """Copy what is settled, or all of it when the run is final. Raises StoreError; then it is called again."""
        if self._manifest is None:
            outcome = self._begin()
            if self._manifest is None:
                return outcome
        listed = self._here.list(self._run_id, self._attempt)
        if not final:
            for key in sorted({each.key for each in listed}):
                self._copy_settled(key)
            self._write()
            return Outcome.PARTIAL
        unreadable = [each.file for each in listed if not self._copy_whole(each)]
        self._verify()
        self._manifest.complete = not unreadable
        self._write()
        self._delete_replaced()
        if unreadable:
            log.warning("run %s: not copied, because unreadable: %s", self._run_id, ", ".join(unreadable))
            return Outcome.LEFT
        return Outcome.COMPLETE

    def _begin(self) -> Outcome:
        """Read the manifest of an earlier process, and compare it with the folder."""
        try:
            data = self._bucket.get(manifests.manifest_key(self._run_id, self._attempt))
            found = manifests.decoded(self._run_id, self._attempt, data)
        except NotFoundError:
            found = Manifest(run_id=self._run_id, attempt=self._attempt)
        except DamagedObjectError as error:
            log.warning("%s; it is written again", error)
            found = Manifest(run_id=self._run_id, attempt=self._attempt)
        differing = [stored for stored in found.files.values() if not self._begins_with(stored)]
        if differing and found.home not in ("", self._home):
            return self._compared(found, differing)
        for stored in differing:
            stored.parts.clear()
        found.complete, found.home = False, self._home
        self._manifest = found
        return Outcome.PARTIAL

    def _compared(self, found: Manifest, differing: list[StoredFile]) -> Outcome:
        """The outcome for a record that another home folder copies, and that is longer there, or different."""
        if found.complete and all(self._is_shorter(stored) for stored in differing):
            return Outcome.MORE
        log.error(
            "the bucket has another record of attempt %d of run %s, from another home folder; it differs in %s",
            self._attempt,
            self._run_id,
            ", ".join(stored.file for stored in differing),
        )
        return Outcome.LEFT

    def _begins_with(self, stored: StoredFile) -> bool:
        """Whether the file here begins with the bytes that the manifest names; one that is replaced is always sent."""
        if stored.file in layout.REPLACED:
            state = self._here.state(stored.key, stored.file)
            return state is not None or not stored.parts
        at = 0
        for part in stored.parts:
            if manifests.part_of(self._here.read(stored.key, stored.file, at, part.size_bytes)) != part:
                return False
            at += part.size_bytes
        return True

    def _is_shorter(self, stored: StoredFile) -> bool:
        """Whether the file here is a beginning of the stored one."""
        state = self._here.state(stored.key, stored.file)
        left = state.size_bytes if state else 0
        if left >= stored.size_bytes:
            return False
        at = 0
        for part in stored.parts:
            length = min(part.size_bytes, left - at)
            if length <= 0:
                return True
            data = self._here.read(stored.key, stored.file, at, length)
            if length == part.size_bytes and manifests.part_of(data) != part:
                return False
            if length < part.size_bytes:
                whole = manifests.read_part(self._bucket, self._of_others(stored), part)
                return whole.startswith(data)
            at += length
        return True

    @staticmethod
    def _of_others(stored: StoredFile) -> Manifest:
        return Manifest(run_id=stored.key.run_id, attempt=stored.key.attempt)

    def _copy_settled(self, key: RecordKey) -> None:
        """Copy the files of one role in such an order that no file refers to bytes that are not copied."""
        files = RoleFiles(self._here, key)
        over = files.state(layout.EXIT) is not None
        ends = self._ends.setdefault(key, Ends(files)).all(over)
        for file in layout.GROWING:
            if (end := ends[file]) is not None:
                self._extend(key, file, end)
        for file in layout.REPLACED_IN_ORDER:
            if file != layout.EXIT or over:
                self._replace(key, file)

    def _copy_whole(self, each: RecordFile) -> bool:
        """Copy one file of a final record; False if it cannot be read."""
        try:
            if each.file in layout.REPLACED:
                self._replace(each.key, each.file)
            else:
                self._extend(each.key, each.file, each.size_bytes)
        except DamagedError:
            return False
        stored = self._stored(each.key, each.file)
        stored.modified_s = each.modified_s
        return stored.size_bytes == each.size_bytes

    def _extend(self, key: RecordKey, file: str, end: int) -> None:
        stored = self._stored(key, file)
        at = stored.size_bytes
        if at > end:  # the writer removed a damaged end
            stored.parts.clear()
            at = 0
        if at < end and stored.parts and stored.parts[-1].size_bytes < _SMALL_BYTES:
            at -= stored.parts.pop().size_bytes
        while at < end:
            data = self._here.read(key, file, at, min(PART_BYTES, end - at))
            if not data:
                return
            stored.parts.append(self._put(data))
            at += len(data)
        if state := self._here.state(key, file):
            stored.modified_s = state.modified_s

    def _replace(self, key: RecordKey, file: str) -> None:
        state = self._here.state(key, file)
        if state is None:
            return
        stored, parts, at = self._stored(key, file), [], 0
        while data := self._here.read(key, file, at, PART_BYTES):
            part = manifests.part_of(data)
            parts.append(part if part in stored.parts else self._put(data))
            at += len(data)
        stored.parts, stored.modified_s = parts, state.modified_s

    def _put(self, data: bytes) -> Part:
        assert self._manifest is not None
        part = manifests.part_of(data)
        self._bucket.put(self._manifest.part_key(part), manifests.packed(data))
        return part

    def _stored(self, key: RecordKey, file: str) -> StoredFile:
        assert self._manifest is not None
        found = self._manifest.of(key, file)
        if found is None:
            found = StoredFile(key=key, file=file)
            self._manifest.put(found)
        return found

    def _verify(self) -> None:
        """Read every part back; one that is missing or damaged is sent again. Raises StoreError if that does not help."""
        assert self._manifest is not None
        for stored in self._manifest.files.values():
            at = 0
            for part in stored.parts:
                if not self._is_intact(part):
                    key = self._bucket.url(self._manifest.part_key(part))
                    log.warning("%s is missing or damaged; it is sent again", key)
                    self._put(self._here.read(stored.key, stored.file, at, part.size_bytes))
                    if not self._is_intact(part):
                        raise StoreError(
                            f"{key} differs from what was sent",
                            remedy="check the service of the bucket; the copy in the home folder is kept",
                        )
                at += part.size_bytes

    def _is_intact(self, part: Part) -> bool:
        assert self._manifest is not None
        try:
            manifests.read_part(self._bucket, self._manifest, part)
        except (DamagedObjectError, NotFoundError):
            return False
        return True

    def _write(self) -> None:
        assert self._manifest is not None
        data = self._manifest.encoded()
        if data != self._written:
            self._bucket.put(self._manifest.place, data)
            self._written = data

    def _delete_replaced(self) -> None:
        """Delete the parts that larger ones have replaced, and those of a copy that was killed."""
        assert self._manifest is not None
        named = {self._manifest.part_key(part) for part in self._manifest.parts()}
        for each in self._bucket.list(manifests.parts_prefix(self._run_id, self._attempt)):
            if each.key not in named:
                self._bucket.delete(each.key)


def is_whole(bucket: Bucket, here: FolderRecords, run_id: str) -> bool:
    """Whether the bucket has a complete manifest of each attempt here, with all parts, and files of the same sizes."""
    stored = {each.key for each in bucket.list(manifests.run_prefix(run_id))}
    for attempt in here.attempts(run_id):
        try:
            data = bucket.get(manifests.manifest_key(run_id, attempt))
            found = manifests.decoded(run_id, attempt, data)
        except (NotFoundError, DamagedObjectError):
            return False
        if not found.complete or any(found.part_key(part) not in stored for part in found.parts()):
            return False
        sizes = {(each.key, each.file): each.size_bytes for each in found.listed()}
        listed = here.list(run_id, attempt)
        if any(sizes.get((each.key, each.file), -1) < each.size_bytes for each in listed):
            return False
    return True
