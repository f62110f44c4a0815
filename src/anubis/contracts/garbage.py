"""Files that garbage collection finds."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Garbage:
    """A file or folder that garbage collection may delete or compress."""

    #: One of: record, packing, import, environment, upload, script, script copy.
    kind: str
    path: Path
    size_bytes: int
