"""Objects in memory; records in a folder of the test's own."""

import io
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from anubis.model.errors import NotFoundError


class FakeObjects:
    """``Objects`` in memory."""

    def __init__(self) -> None:
        self.bytes_by_key: dict[str, bytes] = {}

    def put(self, key: str, stream: BinaryIO) -> int:
        data = stream.read()
        self.bytes_by_key[key] = data
        return len(data)

    def open(self, key: str) -> BinaryIO:
        try:
            return io.BytesIO(self.bytes_by_key[key])
        except KeyError:
            raise NotFoundError(f"there is no object {key}", remedy="put it first") from None

    def url(self, key: str) -> str:
        return f"memory:{key}"


class FakeRecords:
    """``Records`` below a folder: agents and tests need real files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, run_id: str, attempt: int, role: str = "benchmark", rank: int = 0) -> Path:
        return self._folder / run_id / f"a{attempt}" / role / str(rank)

    def attempts(self, run_id: str) -> Sequence[int]:
        names = [path.name for path in (self._folder / run_id).glob("a*")]
        return sorted(int(name[1:]) for name in names if re.fullmatch(r"a\d+", name))

    def pack(self, run_id: str) -> int:  # noqa: ARG002  nothing is gained, and nothing is lost
        return 0

    def remove(self, run_id: str) -> None:
        shutil.rmtree(self._folder / run_id, ignore_errors=True)
