"""Script archives of old clients, which name them by SHA-1; they are stored under their SHA-256."""

import io

from anubis.contracts.objects import Objects
from anubis.model.errors import NotFoundError
from anubis.web.descriptors import ARCHIVE
from anubis.web.legacy.submit_event import SCRIPT, ScriptFile

#: Objects that contain the key of an archive, by its SHA-1.
_FOLDER = "legacy-scripts"
_KEY_BYTES = 68


def stored(objects: Objects, name: str) -> str | None:
    """The key of the archive with this name (``<sha1>.tar``); None if it is not stored."""
    if not SCRIPT.fullmatch(name):
        return None
    try:
        with objects.open(f"{_FOLDER}/{name}") as alias:
            key = alias.read(_KEY_BYTES).decode("ascii", "replace")
        if not ARCHIVE.fullmatch(key):
            return None
        objects.open(key).close()
    except NotFoundError:
        return None
    return key


def store(objects: Objects, script: ScriptFile) -> None:
    """Store an archive, then its name."""
    objects.put(script.key, script.file)
    objects.put(f"{_FOLDER}/{script.sha1}.tar", io.BytesIO(script.key.encode()))
