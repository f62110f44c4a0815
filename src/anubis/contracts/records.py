"""The records of runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Records(Protocol):
    """The records of runs, as folders."""

    def folder(self, run_id: str, attempt: int, role: str = "benchmark", rank: int = 0) -> Path:
        """The folder of one role and rank (not necessarily there yet); a packed record is unpacked for it."""
        ...

    def attempts(self, run_id: str) -> Sequence[int]:
        """The attempts that left a record, in order."""
        ...

    def pack(self, run_id: str) -> int:
        """Keep the record of a final run in less space; the bytes freed. ``folder`` brings it back."""
        ...

    def remove(self, run_id: str) -> None:
        """Delete every attempt's record."""
        ...
