"""Files of a launch on this machine, for engines whose processes share its file system."""

import errno
import os
import shutil
import tempfile
from pathlib import Path

from anubis.contracts.objects import Objects
from anubis.model.cause import Cause
from anubis.model.errors import StageError
from anubis.model.launch import Replica
from anubis.record import access
from anubis.submission.script_archive import extract


def prepare(replica: Replica) -> Path:
    """Create the record, folders and files of a replica; returns the record. Idempotent. Raises OSError."""
    record = Path(replica.on_host(replica.record))
    for folder in (record, *(Path(replica.on_host(path)) for path in replica.folders)):
        access.make_folder(str(folder))
    for path, file in replica.files.items():
        target = Path(replica.on_host(path))
        if target.exists():
            continue
        part = target.with_name(f".{target.name}.{os.urandom(8).hex()}")
        with os.fdopen(access.create(str(part), os.O_WRONLY | os.O_EXCL), "wb") as stream:
            stream.write(file.content)
        if file.mode & 0o111:
            part.chmod(part.stat().st_mode | 0o100)
        part.replace(target)
    return record


def check_disk(folder: Path, min_free_bytes: int) -> None:
    """Raises StageError if the disk of this folder has less free space than a run needs; creates the folder."""
    access.make_folder(str(folder))
    free = shutil.disk_usage(folder).free
    if free < min_free_bytes:
        raise StageError(
            f"only {free >> 20} MiB free under {folder}, {min_free_bytes >> 20} MiB are needed to place a run",
            cause=Cause.DISK_FULL,
            remedy=Cause.DISK_FULL.remedy,
        )


def extracted(key: str, folder: str, objects: Objects) -> str:
    """The folder with the content of a script archive, extracted once; complete or absent. Raises StageError."""
    scripts = Path(folder, key.removesuffix(".tar"))
    if scripts.exists():
        return str(scripts)
    try:
        access.make_folder(str(scripts.parent))
        fresh = Path(tempfile.mkdtemp(dir=scripts.parent))
        try:
            with objects.open(key) as stream:
                extract(stream, fresh)
            fresh.rename(scripts)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        if not scripts.exists():  # otherwise another reconciler extracted it first
            raise not_startable(error, scripts.parent) from error
    return str(scripts)


def not_startable(error: OSError, folder: Path) -> StageError:
    """The error for an agent that the system could not prepare or start, for example because the disk is full."""
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return StageError(
            f"the disk that holds {folder} is full", cause=Cause.DISK_FULL, remedy=Cause.DISK_FULL.remedy
        )
    if error.errno == errno.E2BIG:
        return StageError(
            "the command and the environment are longer than the system accepts",
            cause=Cause.USER_ERROR,
            remedy="put the arguments into a file",
        )
    return StageError(
        f"the agent could not be started: {error}",
        cause=Cause.INTERNAL,
        remedy="check the permissions of the home folder, and the limits on processes and open files",
    )
