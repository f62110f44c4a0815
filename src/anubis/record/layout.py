"""Where the files of a record are."""

from __future__ import annotations

#: Written before the agent starts: its options, and the declared metrics.
OPTIONS, PATTERNS = "options.json", "patterns.json"


def role_folder(records: str, run_id: str, attempt: int, role: str, rank: int) -> str:
    """The folder of one role and rank below the folder of all records."""
    return f"{records}/{run_id}/a{attempt}/{role}/{rank}"
