"""Copies of records and objects of a bucket, for a backup."""

import os
import shutil
from dataclasses import dataclass
from typing import Self

from anubis.record import access, layout
from anubis.settings import Settings
from anubis.store.backups.copying import OBJECTS, Copied
from anubis.store.bucket.connection import Bucket
from anubis.store.bucket.objects import OBJECTS as PREFIX
from anubis.store.bucket.objects import BucketObjects
from anubis.store.bucket.records import BucketRecords


@dataclass(frozen=True, slots=True)
class BucketCopies:
    """What a bucket has, and the home folder has not."""

    bucket: Bucket
    records: BucketRecords

    @classmethod
    def of(cls, settings: Settings) -> Self | None:
        """Those of an installation; None if it has no bucket."""
        if not settings.bucket:
            return None
        bucket = Bucket(settings.bucket, settings.bucket_endpoint)
        return cls(bucket, BucketRecords(bucket))

    def copy_record(self, copied: Copied, run_id: str) -> bool:
        """Copy the attempts that are not in the backup, if they are complete in the bucket; whether there is one.

        Raises StoreError for a damaged one.
        """
        found = False
        for attempt in self.records.attempts(run_id):
            name = f"{layout.RECORDS}/{run_id}/{layout.attempt_name(attempt)}"
            manifest = self.records.manifest(run_id, attempt, fresh=True)
            if manifest is None or not manifest.complete or copied.has(name):
                continue
            folder = copied.path(name)
            access.make_folder(str(folder.parent))
            self.records.copy_to(folder, run_id, attempt)
            for stored in manifest.files.values():
                copied.note(f"{name}/{stored.key.role}/{stored.key.rank}/{stored.file}")
            found = True
        return found

    def copy_objects(self, copied: Copied) -> None:
        """Copy the objects that are not in the backup."""
        objects = BucketObjects(self.bucket)
        for each in self.bucket.list(PREFIX):
            key = each.key.removeprefix(PREFIX)
            name = f"{OBJECTS}/{key}"
            path = copied.path(name)
            if path.exists():
                continue
            access.make_folder(str(path.parent))
            with objects.open(key) as stream, os.fdopen(access.create(str(path), os.O_WRONLY), "wb") as file:
                shutil.copyfileobj(stream, file)
            copied.note(name)
