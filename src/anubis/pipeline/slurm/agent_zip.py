"""The agent as one file below a folder that all nodes share, for any Python there."""

import hashlib
import threading
from functools import cached_property
from pathlib import Path

from anubis.agent import build_zip
from anubis.record import access

_PACKAGE = Path(build_zip.__file__).parents[1]


class AgentZip:
    """The file, built at the first use."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._building = threading.Lock()

    @cached_property
    def path(self) -> Path:
        """The file of this version of the agent."""
        sources = sorted(file for name in ("agent", "record") for file in (_PACKAGE / name).rglob("*.py"))
        states = [(str(file), (about := file.stat()).st_mtime_ns, about.st_size) for file in sources]
        return self._folder / f"agent-{hashlib.sha256(repr(states).encode()).hexdigest()[:16]}.zip"

    def build(self) -> None:
        """Build the file unless it exists. Raises OSError."""
        with self._building:  # the name of the incomplete file contains only the id of the process
            if not self.path.exists():
                access.make_folder(str(self._folder))
                build_zip.build(str(self.path))
