"""The agent for containers on this machine: one zip file, and the Python interpreter that runs Anubis.

An image may have no Python, or one that is too old. The agent therefore has its own interpreter in every container: the
program of this process, its dynamic loader and its shared libraries are copied into a folder once; the standard library is
mounted as it is. All of it needs only the kernel, and nothing of the image.
"""

import ast
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from functools import cached_property
from pathlib import Path

from anubis.agent import build_zip
from anubis.model.cause import Cause
from anubis.model.errors import StageError
from anubis.model.launch import Mount
from anubis.record import access

#: CPython 3.11 raises SystemError if two threads parse at the same time.
_PARSING = threading.Lock()
#: Where a container finds the agent.
INSIDE = "/anubis/agent"
_LOADER, _PROGRAM, _LIBRARIES, _ZIP = "loader", "bin/python", "libraries", "agent.zip"
#: Starts the interpreter in a container.
PYTHON = (f"{INSIDE}/{_LOADER}", "--library-path", f"{INSIDE}/{_LIBRARIES}", f"{INSIDE}/{_PROGRAM}")
#: The file with the agent's modules in a container.
PACKAGES = f"{INSIDE}/{_ZIP}"
#: The package on this machine.
_PACKAGE = Path(build_zip.__file__).parents[1]
#: Lists the files that a Python with these modules maps. A module that this Python does not have is not needed.
_LIST = """
import importlib, json, sys
for name in sys.argv[1:]:
    try:
        importlib.import_module(name)
    except ImportError:
        pass
print(json.dumps([line.split(None, 5)[5] for line in open("/proc/self/maps").read().splitlines() if "/" in line]))
"""


class ContainerAgent:
    """The files of the agent below a folder of this machine, built at the first use."""

    def __init__(self, folder: Path) -> None:
        self._parent = folder

    @cached_property
    def folder(self) -> Path:
        """The folder of this version of the agent and of the interpreter."""
        states = [file.stat() for file in (*_sources(), Path(sys.executable))]
        about = [sys.version, sys.executable, *((state.st_mtime_ns, state.st_size) for state in states)]
        return self._parent / f"agent-{hashlib.sha256(repr(about).encode()).hexdigest()[:16]}"

    @property
    def mounts(self) -> tuple[Mount, ...]:
        """What appears in each container."""
        library = sysconfig.get_path("stdlib")
        return (
            Mount(target=INSIDE, source=str(self.folder)),
            Mount(target=f"{INSIDE}/{_library_name()}", source=library),
        )

    def build(self) -> None:
        """Build the files unless they exist. Raises StageError if this interpreter cannot run in a container."""
        if self.folder.exists():
            return
        access.make_folder(str(self._parent))
        fresh = Path(tempfile.mkdtemp(dir=self._parent))
        try:
            self._fill(fresh)
            fresh.chmod(0o755)  # the records are private, the agent is not
            fresh.rename(self.folder)
        except OSError:
            if not self.folder.exists():  # otherwise another process built it first
                raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _fill(self, folder: Path) -> None:
        (folder / _LIBRARIES).mkdir()
        (folder / _PROGRAM).parent.mkdir()
        (folder / _library_name()).mkdir(parents=True)
        shutil.copy(os.path.realpath(sys.executable), folder / _PROGRAM)
        for library in _libraries():
            if library.name.startswith("ld-"):
                shutil.copy(library, folder / _LOADER)
            shutil.copy(library, folder / _LIBRARIES)
            for link in _links(library):
                (folder / _LIBRARIES / link).symlink_to(library.name)
        if not (folder / _LOADER).exists():
            raise StageError(
                f"{sys.executable} has no dynamic loader that can be started by itself",
                cause=Cause.INTERNAL,
                remedy="run Anubis with the Python of a Linux distribution",
            )
        build_zip.build(str(folder / _ZIP))


def _sources() -> list[Path]:
    """The modules of the agent on this machine."""
    return sorted(file for name in ("agent", "record") for file in (_PACKAGE / name).rglob("*.py"))


def _imported() -> set[str]:
    """The modules of the standard library that the agent imports, also those that it imports late."""
    names = set()
    for file in _sources():
        with _PARSING:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                names |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                names.add(node.module)
    return {name for name in names if name.partition(".")[0] in sys.stdlib_module_names}


def _library_name() -> str:
    """Where Python looks for the standard library below its prefix."""
    return f"{sys.platlibdir}/{Path(sysconfig.get_path('stdlib')).name}"


def _libraries() -> list[Path]:
    """The shared libraries that an agent maps, without the modules of the standard library."""
    words = [sys.executable, "-I", "-S", "-c", _LIST, *sorted(_imported())]
    try:
        listed = subprocess.run(words, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise StageError(
            f"the libraries of {sys.executable} cannot be listed: {getattr(error, 'stderr', None) or error}",
            cause=Cause.INTERNAL,
            remedy="containers need Linux with /proc",
        ) from error
    library = os.path.realpath(sysconfig.get_path("stdlib"))
    files = {Path(name) for name in json.loads(listed.stdout)}
    return sorted(
        file
        for file in files
        if ".so" in file.name and not file.is_relative_to(library) and "deleted" not in file.name
    )


def _links(library: Path) -> list[str]:
    """The links to a library: programs name one of them rather than the file."""
    links = (path for path in library.parent.iterdir() if path.is_symlink() and ".so" in path.name)
    return [link.name for link in links if link.resolve() == library and link.name != library.name]
