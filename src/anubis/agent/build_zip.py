"""Builds ``anubis-agent.zip``: the agent and the emit library in one file that runs under Python 3.8 and later.

``python3 -I -S anubis-agent.zip exec --record DIR -- COMMAND`` measures a command. The file contains every module as
source and compiled for the Python that built the file; any other Python compiles them at each start (30 ms).
"""

from __future__ import annotations

import os
import py_compile
import sys
import tempfile
import zipfile

_MAIN = b"from anubis.agent.entry import main\n\nmain()\n"
#: A fixed date, so that equal content makes an equal file.
_DATE = (1980, 1, 1, 0, 0, 0)


def build(path: str) -> None:
    """Write the zip file to this path, atomically."""
    part = f"{path}.{os.getpid()}"
    with zipfile.ZipFile(
        part, "w", zipfile.ZIP_STORED
    ) as bundle:  # zlib would cost every start a millisecond
        bundle.writestr(zipfile.ZipInfo("__main__.py", _DATE), _MAIN)
        for name, file in sorted(_modules().items()):
            with open(file, "rb") as source:
                bundle.writestr(zipfile.ZipInfo(name, _DATE), source.read())
            bundle.writestr(zipfile.ZipInfo(name + "c", _DATE), _compiled(file, name))
    os.replace(part, path)


def _modules() -> dict[str, str]:
    """Name in the zip file -> source file."""
    packages = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    names = ["anubis/__init__.py", "benchmarkai/__init__.py"]
    for package in ("anubis/agent", "anubis/record"):
        for folder, _, files in os.walk(os.path.join(packages, package)):
            inside = os.path.relpath(folder, packages)
            names += [f"{inside}/{name}" for name in files if name.endswith(".py")]
    return {name: os.path.join(packages, name) for name in names}


def _compiled(file: str, name: str) -> bytes:
    """The compiled module; Python loads it without comparing it with its source."""
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "module.pyc")
        py_compile.compile(
            file,
            made,
            dfile=name,
            doraise=True,
            invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        )
        with open(made, "rb") as compiled:
            return compiled.read()


if __name__ == "__main__":
    build(sys.argv[1] if len(sys.argv) > 1 else "anubis-agent.zip")
