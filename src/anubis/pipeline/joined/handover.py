"""What the submitter of a run hands over to the worker that measures it, in private files of the home folder.

It may contain secrets, so it is in no database, and it is deleted once the benchmark runs.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path

from anubis.model.errors import ElsewhereError, disk_error
from anubis.model.launch import Handover
from anubis.record import access

#: The folder in the home folder.
FOLDER = "joined"


def write(folder: Path, name: str, given: Handover) -> None:
    """Store what an attempt gets. Raises StoreError."""
    path = _file(folder, name)
    part = path.with_name(f".{path.name}.{os.urandom(8).hex()}")
    try:
        access.make_folder(str(folder))
        with os.fdopen(access.create(str(part), os.O_WRONLY | os.O_EXCL | os.O_CLOEXEC), "wb") as file:
            file.write(json.dumps(asdict(given)).encode())
        part.replace(path)
    except OSError as error:
        raise disk_error(f"what run {name} gets cannot be stored in {folder}", error) from error
    finally:
        part.unlink(missing_ok=True)


def read(folder: Path, name: str) -> Handover:
    """What an attempt gets. Raises ElsewhereError if another home folder has it."""
    try:
        plain = json.loads(_file(folder, name).read_bytes())
        return Handover(variables=dict(plain["variables"]), secrets=dict(plain["secrets"]))
    except (OSError, ValueError, LookupError, TypeError) as error:
        raise ElsewhereError(
            f"what attempt {name} gets from its submitter is not in this home folder",
            remedy="let the services that share a database share the home folder too",
        ) from error


def remove(folder: Path, name: str) -> None:
    """Delete what an attempt gets; no error if there is nothing."""
    _file(folder, name).unlink(missing_ok=True)


def _file(folder: Path, name: str) -> Path:
    return folder / f"{name}.json"
