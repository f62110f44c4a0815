"""What an engine reads and reserves in the record of an agent that shares this machine's file system."""

import json
import os
from pathlib import Path

from anubis.model.cause import Cause
from anubis.model.run import Observation, Seen

#: A file that reserves disk space for writing down how the run ended.
BALLAST, BALLAST_BYTES = "ballast", 2 << 20


def take_ballast(record: Path) -> None:
    """Reserve space that is free again when the run has ended, so that the store can record the end on a full disk."""
    if hasattr(os, "posix_fallocate"):  # macOS has none
        with (record / BALLAST).open("wb") as file:
            os.posix_fallocate(file.fileno(), 0, BALLAST_BYTES)


def drop_ballast(record: Path) -> None:
    """Free the reserved space."""
    (record / BALLAST).unlink(missing_ok=True)


def ended(record: Path) -> Observation | None:
    """How the run ended, as the agent wrote it; None while it has not. Frees the reserved space."""
    try:
        last = json.loads((record / "exit.json").read_bytes())
    except FileNotFoundError:
        return None
    drop_ballast(record)
    cause = last.get("cause")
    return Observation(
        seen=Seen.ENDED,
        exit_code=last.get("code"),
        reason=last.get("reason", ""),
        cause=Cause(cause) if cause else None,
    )
